import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type LineMatches, longLineBytes, type MatchLines } from "./read-matches.ts";
import { type PageRequest, readPage } from "./read-result.ts";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const plenty = { tokens: 1_000_000, count: (text: string) => text.length };

/** Matches like the real implementation, for texts without long lines. */
const matchLines: MatchLines = async (bytes, pattern, { from, most }) => {
  const lines = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes).split("\n");
  let start = 0;
  const found = lines.flatMap((text, line) => {
    const end = start + bytesOf(text).length;
    const match = { line, start, end, from: start + Math.max(0, text.indexOf(pattern)) };
    start = end + 1;
    return text.includes(pattern) && match.from >= from ? [match] : [];
  });
  const matches = found.slice(0, most);
  return { kind: "matched", matches, total: found.length, isMore: false, isLiteral: false };
};

const always =
  (answer: LineMatches): MatchLines =>
  () =>
    Promise.resolve(answer);

async function read(text: string, request: PageRequest, room = plenty, match = matchLines) {
  return readPage(
    { name: "pl_x", what: "result of ls", bytes: bytesOf(text) },
    request,
    room,
    match,
  );
}

function split(text: string): readonly [head: string, content: string] {
  const feed = text.indexOf("\n");
  return feed < 0 ? [text, ""] : [text.slice(0, feed), text.slice(feed + 1)];
}

const anyText = fc.string({ unit: "grapheme", maxLength: 400 });

describe("pages", () => {
  test("a short content is one page", async () => {
    expect(await read("ab\nc", {})).toEqual({
      kind: "page",
      text: "[pl_x, result of ls: all 4 bytes]\nab\nc",
    });
    expect(await read("", {})).toEqual({ kind: "page", text: "[pl_x, result of ls: empty]" });
  });

  test("the header says which bytes these are, and where the next ones are", async () => {
    const text = "0123456789".repeat(5000);
    const page = await read(text, { offset: 4096, limit: 100 });
    expect(page.text).toBe(
      `[pl_x, result of ls: bytes 4,096–4,196 of 50,000; next offset 4196]\n${text.slice(4096, 4196)}`,
    );
    const last = await read(text, { offset: 49_990 });
    expect(last.text).toBe(
      "[pl_x, result of ls: bytes 49,990–50,000 of 50,000; the end]\n0123456789",
    );
  });

  test("an offset past the end is said, with the size", async () => {
    expect(await read("abc", { offset: 3 })).toEqual({
      kind: "refused",
      text: "[pl_x, result of ls: offset 3 is past the end, there are 3 bytes]",
    });
    expect((await read("", { offset: 1 })).kind).toBe("refused");
  });

  test("put together, they are the content byte for byte, in any room", async () => {
    const room = fc.record({ tokens: fc.integer({ min: 90, max: 300 }), perByte: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(
        anyText,
        fc.integer({ min: 1, max: 50 }),
        room,
        async (text, limit, small) => {
          const count = (page: string): number =>
            small.perByte ? bytesOf(page).length : Math.ceil(page.length / 3);
          const pages: string[] = [];
          let offset = 0;
          for (let turn = 0; turn < 2000; turn++) {
            const page = await read(text, { offset, limit }, { tokens: small.tokens, count });
            expect(page.kind).toBe("page");
            expect(count(page.text)).toBeLessThanOrEqual(small.tokens);
            const [head, content] = split(page.text);
            pages.push(content);
            const next = /next offset (\d+)/.exec(head)?.[1];
            if (next === undefined) break;
            expect(Number(next)).toBeGreaterThan(offset);
            offset = Number(next);
          }
          expect(bytesOf(pages.join(""))).toEqual(bytesOf(text));
        },
      ),
    );
  });

  test("an offset inside a character begins with that character", async () => {
    expect((await read("a😀b", { offset: 3, limit: 1 })).text).toBe(
      "[pl_x, result of ls: bytes 1–5 of 6; next offset 5]\n😀",
    );
  });

  test("a mark of byte order is content too", async () => {
    expect((await read("\ufeffa", {})).text).toBe("[pl_x, result of ls: all 4 bytes]\n\ufeffa");
  });

  test("where not even a character fits, it is said", async () => {
    const page = await read("abc", {}, { tokens: 10, count: (text) => text.length });
    expect(page).toEqual({ kind: "refused", text: expect.stringContaining("no room") });
  });

  test("50 MB are paged without being read as a whole", async () => {
    const bytes = new Uint8Array(50_000_000).fill(0x61);
    let counted = 0;
    const count = (text: string): number => {
      counted += text.length;
      return text.length / 4;
    };
    const content = { name: "pl_x", bytes };
    const page = await readPage(
      content,
      { offset: 49_000_000 },
      { tokens: 5000, count },
      matchLines,
    );
    expect(split(page.text)[1]).toBe("a".repeat(16_384));
    expect(counted).toBeLessThan(100_000);
  });
});

describe("lines", () => {
  const text = "one\ntwo\nthree\n\nfive\n";

  test.each([
    [{ first: 2, last: 3 }, "lines 2–3 of 5: all 9 bytes]\ntwo\nthree"],
    [{ first: 1, last: 1 }, "line 1 of 5: all 3 bytes]\none"],
    [{ first: 4, last: 4 }, "line 4 of 5: empty]"],
    [{ first: 4, last: 900 }, "lines 4–5 of 5: all 5 bytes]\n\nfive"],
  ])("%j", async (lines, expected) => {
    expect((await read(text, { lines })).text).toBe(`[pl_x, result of ls, ${expected}`);
  });

  test("past the end are refused, with how many there are", async () => {
    expect(await read(text, { lines: { first: 6, last: 7 } })).toEqual({
      kind: "refused",
      text: "[pl_x, result of ls: line 6 is past the end, there are 5 lines]",
    });
  });

  test("are paged by their own bytes", async () => {
    const page = await read(text, { lines: { first: 2, last: 3 }, offset: 4, limit: 2 });
    expect(page.text).toBe(
      "[pl_x, result of ls, lines 2–3 of 5: bytes 4–6 of 9; next offset 6]\nth",
    );
  });

  test("are those that splitting gives", async () => {
    const linesText = fc.array(fc.constantFrom("a", "é", ""), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(linesText, fc.nat(7), fc.nat(7), async (parts, from, more) => {
        const first = Math.min(from, parts.length - 1) + 1;
        const whole = `${parts.join("\n")}\n`;
        const { text: page } = await read(whole, { lines: { first, last: first + more } });
        expect(split(page)[1]).toBe(parts.slice(first - 1, first + more).join("\n"));
      }),
    );
  });
});

describe("values of JSON", () => {
  const text = JSON.stringify({ log: "one\ntwo\n", list: [{ a: 1 }, { a: [2, 3] }] });

  test("are given as they stand, strings as their text", async () => {
    expect((await read(text, { json: "list[1]" })).text).toBe(
      '[pl_x, result of ls, list[1]: all 11 bytes]\n{"a":[2,3]}',
    );
    expect((await read(text, { json: "/log" })).text).toBe(
      "[pl_x, result of ls, /log: all 8 bytes]\none\ntwo\n",
    );
    expect((await read(text, { json: "log", lines: { first: 2, last: 2 } })).text).toBe(
      "[pl_x, result of ls, log, line 2 of 2: all 3 bytes]\ntwo",
    );
  });

  test("half a character stays escaped", async () => {
    expect(split((await read('["\\ud800"]', { json: "[0]" })).text)[1]).toBe('"\\ud800"');
  });

  test("that are not there are refused, with what is", async () => {
    const page = await read(text, { json: "list[2]" });
    expect(page).toEqual({
      kind: "refused",
      text: "[pl_x, result of ls: `list` is an array: its elements are [0] to [1].]",
    });
  });
});

describe("lines that match", () => {
  const text = Array.from({ length: 20 }, (_, i) => (i % 10 === 4 ? `hit ${i}` : `line ${i}`)).join(
    "\n",
  );

  test("come with their numbers and two lines around", async () => {
    expect((await read(text, { grep: "hit" })).text.split("\n")).toEqual([
      "[pl_x, result of ls: 2 matches of /hit/]",
      ...["3-line 2", "4-line 3", "5:hit 4", "6-line 5", "7-line 6", "--"],
      ...["13-line 12", "14-line 13", "15:hit 14", "16-line 15", "17-line 16"],
    ]);
  });

  test("beside each other are told once", async () => {
    expect(
      (await read("a\nhit\nb\nhit\nc\nd\ne", { grep: "hit" })).text.split("\n").slice(1),
    ).toEqual(["1-a", "2:hit", "3-b", "4:hit", "5-c", "6-d"]);
  });

  test("keep the numbers that they have in the whole", async () => {
    const page = await read(text, { grep: "hit", lines: { first: 14, last: 16 } });
    expect(page.text.split("\n").slice(1)).toEqual(["14-line 13", "15:hit 14", "16-line 15"]);
  });

  test("are none", async () => {
    expect(await read(text, { grep: "miss" })).toEqual({
      kind: "page",
      text: "[pl_x, result of ls: nothing matches /miss/]",
    });
  });

  test("are shown page by page, each of them once, in any room", async () => {
    const many = Array.from({ length: 300 }, (_, i) => (i % 3 === 0 ? `hit ${i} é` : "-")).join(
      "\n",
    );
    for (const tokens of [120, 400, 3000]) {
      const seen: string[] = [];
      let offset = 0;
      for (let turn = 0; turn < 200; turn++) {
        const room = { tokens, count: (page: string) => page.length };
        const page = await read(many, { grep: "hit", offset }, room);
        expect(page.kind).toBe("page");
        expect(page.text.length).toBeLessThanOrEqual(tokens);
        const [head, rows] = split(page.text);
        seen.push(...(rows.match(/^\d+:.*/gm) ?? []));
        const next = /next offset (\d+)/.exec(head)?.[1];
        if (next === undefined) break;
        offset = Number(next);
      }
      expect(seen).toEqual(Array.from({ length: 100 }, (_, i) => `${i * 3 + 1}:hit ${i * 3} é`));
    }
  });

  test("in a line without end are shown with what stands around, and where", async () => {
    const line = `${"é".repeat(2000)}needle${"x".repeat(5000)}`;
    const at = { line: 0, start: 0, end: bytesOf(line).length, from: 4000 };
    const found = {
      kind: "matched",
      matches: [at],
      total: 1,
      isMore: false,
      isLiteral: false,
    } as const;
    const page = await read(line, { grep: "needle" }, plenty, always(found));
    const [, row] = split(page.text);
    expect(row).toMatch(/^1@4000:…é+needlex+…$/);
    expect(bytesOf(row).length).toBeLessThan(longLineBytes);
  });

  test("a pattern that is none is said to be taken literally, one that takes too long to be too much", async () => {
    const literal = {
      kind: "matched",
      matches: [],
      total: 0,
      isMore: false,
      isLiteral: true,
    } as const;
    expect((await read(text, { grep: "(" }, plenty, always(literal))).text).toBe(
      "[pl_x, result of ls: nothing matches /(/ (searched literally: it is not a valid regular expression)]",
    );
    expect(await read(text, { grep: "(a+)+$" }, plenty, always({ kind: "too-slow" }))).toEqual({
      kind: "refused",
      text: "[pl_x, result of ls: the pattern /(a+)+$/ took too long, use a simpler one]",
    });
    expect((await read(text, { grep: "x" }, plenty, always({ kind: "failed" }))).kind).toBe(
      "refused",
    );
  });
});
