import headless from "@xterm/headless";
import { assert, asyncProperty, constantFrom, integer, oneof, string } from "fast-check";
import { describe, expect, test } from "vitest";
import { tries } from "../../../test/harness/effort.ts";
import { cellsOf, clipped, cut, leftIn, rightIn, sober, wrapped } from "./cells.ts";

/** Position of a real terminal's cursor after the text, with its line. */
async function cursorAfter(text: string): Promise<{ readonly x: number; readonly y: number }> {
  const terminal = new headless.Terminal({ cols: 200, rows: 5, allowProposedApi: true });
  await new Promise<void>((done) => terminal.write(text, done));
  const { cursorX: x, cursorY: y } = terminal.buffer.active;
  terminal.dispose();
  return { x, y };
}

const hostile = [
  "\u001b[2J\u001b[1;1H",
  "\u009b31m",
  "\u001b]0;title\u0007",
  "\r\n",
  "\t",
  "\u202e",
  "\u2066",
  "\u200b\u200d\ufe0f",
  "\u{e0041}",
  "\ud800",
  "👩‍👩‍👧",
  "🇩🇪",
  "⌚",
  "e\u0301",
  `z${"\u0335\u0336\u0337".repeat(20)}`,
  "\u0301\u0302",
  "日本語",
  "한국어",
  "\u1100\u1161\u11a8",
  "ﾊﾞ",
  "مرحبا",
  "नमस्ते",
  "\ue000",
  "\u{10ffff}",
  "\u3000",
];

describe("whatever somebody wrote", () => {
  test("takes no more cells of a terminal than were counted, on one line, and no more than were given", async () => {
    const texts = oneof(string({ unit: "binary" }), string({ unit: constantFrom(...hostile) }));
    await assert(
      asyncProperty(texts, integer({ min: 0, max: 60 }), async (text, cells) => {
        const shown = clipped(text, cells);
        expect(cellsOf(shown)).toBeLessThanOrEqual(cells);
        const { x, y } = await cursorAfter(shown);
        expect(x).toBeLessThanOrEqual(cellsOf(shown));
        expect(y).toBe(0);
      }),
      tries({ runs: 300, seed: 20261116 }),
    );
  });

  test("is made of characters of which none takes more cells than it counts", async () => {
    const rows = 1024;
    const terminal = new headless.Terminal({ cols: 20, rows: rows + 1, allowProposedApi: true });
    const wider: string[] = [];
    for (let from = 0; from < 0x11000; from += rows) {
      const shown = Array.from({ length: rows }, (_, at) =>
        sober(`a${String.fromCodePoint(from + at)}z`),
      );
      await new Promise<void>((done) => terminal.write(`\u001b[H${shown.join("\r\n")}`, done));
      for (const [row, text] of shown.entries()) {
        const line = terminal.buffer.active.getLine(row);
        const cells = Array.from({ length: 20 }, (_, x) => line?.getCell(x)?.getChars() ?? "");
        const isWider = cells.indexOf("z") + 1 > cellsOf(text);
        if (isWider && !text.startsWith("a\\")) wider.push((from + row).toString(16));
      }
    }
    terminal.dispose();
    expect(wider).toEqual([]);
  });

  test("shows escape sequences and reordering as text", () => {
    expect(sober("\u001b[31mred\u202e")).toBe("\\x1b[31mred\\u{202e}");
  });

  test("keeps letters with their marks, and leaves out what would pile up or cannot be measured", () => {
    expect(sober("e\u0301tude 日本 𝐀 👩‍👩‍👧")).toBe("étude 日本 □ □□□");
    expect(sober(`a${"\u0323".repeat(30)}b`)).toBe("ạ\u0323\u0323b");
  });

  test("is looked at only as far as a line could show it", () => {
    expect(sober("x".repeat(10_000_000)).length).toBe(2000);
  });
});

describe("a text in a column", () => {
  test("ends in an ellipsis where it is too long, and never with half of a wide letter", () => {
    expect(cut("日本語", 5)).toBe("日本…");
    expect(cut("日本語", 4)).toBe("日…");
    expect(cut("日本語", 6)).toBe("日本語");
    expect(cut("abc", 0)).toBe("");
  });

  test("takes exactly the cells of the column", () => {
    expect(leftIn("日", 4)).toBe("日  ");
    expect(rightIn("12", 4)).toBe("  12");
    expect(rightIn("12345", 4)).toBe("123…");
  });

  test("goes on in the next lines at the ends of words, as far as there are lines", () => {
    expect(wrapped("one two three", 7, 3)).toEqual(["one two", "three"]);
    expect(wrapped("one two three four", 8, 2)).toEqual(["one two", "three f…"]);
    expect(wrapped("abcdefghij", 4, 3)).toEqual(["abcd", "efgh", "ij"]);
  });
});
