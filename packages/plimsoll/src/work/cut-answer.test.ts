/** Cut answers: the partial holds exactly what arrived, and the share says where it comes from. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tries } from "../../test/harness/effort.ts";
import { completionOf } from "./completion.ts";
import { type CutAnswer, incompleteName, partialOf } from "./cut-answer.ts";

const cut = (change: Partial<CutAnswer>): CutAnswer => ({
  end: "full_length",
  tokens: 100,
  text: "",
  ...change,
});

describe("the part of a file that a call was writing", () => {
  const content = fc.string({ unit: "binary", maxLength: 80 });
  test("is the beginning of the content, wherever the arguments were cut", () => {
    fc.assert(
      fc.property(content, fc.nat(), fc.boolean(), (whole, at, isEscaped) => {
        const json = JSON.stringify({
          file_path: "src/LoginForm.tsx",
          mode: { content: "no" },
          content: whole,
        });
        const sent = isEscaped
          ? json.replaceAll(
              /[^ -~]/g,
              (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
            )
          : json;
        const input = sent.slice(0, at % (sent.length + 1));
        const partial = partialOf(cut({ call: { name: "Write", input } }));
        if (partial === undefined || partial.kind !== "file") return;
        expect(partial.name).toBe("LoginForm.incomplete.tsx");
        expect(whole.startsWith(partial.content)).toBe(true);
      }),
      tries({ runs: 300, seed: 24 }),
    );
  });

  test("is all that arrived but the escape sequence in which it was cut", () => {
    const input = String.raw`{"path":"a/Makefile","content":"all:\n\tcc \"x\" \u00`;
    expect(partialOf(cut({ call: { name: "write_file", input } }))).toEqual({
      kind: "file",
      target: "a/Makefile",
      name: "Makefile.incomplete",
      content: 'all:\n\tcc "x" ',
    });
  });
});

test("without a file, the code block that is still open is kept, under its language", () => {
  const text =
    "Here it is:\n```ts\nconst done = 1;\n```\nAnd then:\n```python\ndef crane():\n    re";
  expect(partialOf(cut({ text }))).toMatchObject({
    kind: "code",
    name: "answer.incomplete.py",
    content: "def crane():\n    re",
  });
});

test("without either, the words are kept, and of nothing there is no partial", () => {
  expect(partialOf(cut({ text: "The crane is" }))).toMatchObject({
    kind: "text",
    name: "answer.incomplete.md",
    content: "The crane is",
  });
  expect(partialOf(cut({ text: " \n" }))).toBeUndefined();
});

test("a name of a language that is no extension does not become one", () => {
  expect(partialOf(cut({ text: "```../../etc\nx" }))?.name).toBe("answer.incomplete.txt");
});

test.each([
  ["LoginForm.tsx", "LoginForm.incomplete.tsx"],
  ["Makefile", "Makefile.incomplete"],
  [".env", ".env.incomplete"],
  ["archive.tar.gz", "archive.tar.incomplete.gz"],
])("%s becomes %s", (name, incomplete) => {
  expect(incompleteName(name)).toBe(incomplete);
});

describe("the share that arrived", () => {
  const written = { name: "Write", input: '{"path":"a.ts","content":"12345"' };
  const text = "I will write these four files:\n1. a.ts\n2. b.ts\n3. c.t";
  test.each([
    [
      "the caller's estimate",
      cut({ tokens: 2400 }),
      { estimate: 4000 },
      0.6,
      "about 60 %, from the estimate of 4000 tokens",
    ],
    [
      "the length of the file before",
      cut({ call: written }),
      { fileLength: () => 10 },
      0.5,
      "about 50 %, from the length that the file had before",
    ],
    ["a list that was announced", cut({ text }), {}, 0.75, "about 75 %, 3 of 4 announced items"],
    [
      "earlier answers of the kind",
      cut({ text: "It is", tokens: 60 }),
      { earlier: { text: [90, 100, 400, 100] } },
      0.6,
      "about 60 %, from four earlier answers",
    ],
    [
      "an estimate that was too low",
      cut({ tokens: 9000 }),
      { estimate: 4000 },
      0.95,
      "about 95 %, from the estimate of 4000 tokens",
    ],
  ] as const)("follows from %s", (...[, answer, known, share, basis]) => {
    expect(completionOf(answer, known)).toEqual({ share, basis });
  });

  test("is unknown where nothing tells it", () => {
    expect(completionOf(cut({ text: "It" }), {})).toEqual({
      basis: expect.stringContaining("unknown share"),
    });
  });
});
