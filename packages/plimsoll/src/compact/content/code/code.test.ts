import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tries } from "../../../../test/harness/effort.ts";
import { type CutOptions, compressContent } from "../content.ts";
import { stripNumbers } from "./numbered-lines.ts";
import { cleannessOf, parseCode } from "./parse.ts";

const count = (text: string): number => Math.ceil(text.length / 4);

function compressCode(text: string, path: string, options: Partial<CutOptions> = {}): string {
  return compressContent(text, { ratio: 0.5, count, path, ...options })?.text ?? text;
}

function isClean(grammar: string, text: string): boolean {
  const root = parseCode(grammar, text);
  return root !== undefined && cleannessOf(root) === "clean";
}

function repeat(times: number, line: (index: number) => string): string {
  return Array.from({ length: times }, (_, index) => line(index)).join("");
}

const typescript = `/**
 * Reads things.
 * There is more to say of it, over several lines,
 * none of which is needed to know what it does.
 * Here is one more, and then it ends.
 * @internal
 */
import { open } from "../open.ts";
import type { Thing } from "../thing.ts";

export interface Options {
  readonly path: string;
  readonly limit: number;
}

export class Reader {
  #open = 0;

  constructor(private readonly options: Options) {
    this.#open = options.limit;
    this.check();
    this.check();
  }

  async read(name: string): Promise<Thing> {
    const file = await open(name);
    if (file === undefined) {
      this.#open--;
      throw new Error(\`no \${name}\`);
    }
    for (const line of file) {
      if (line === "needle") {
        this.#open++;
      }
      this.check();
    }
    return file.thing;
  }

  check(): boolean { return this.#open > 0; }
}

export const table = [
${repeat(20, (index) => `  { id: ${index}, name: "entry ${index}" },\n`)}];
`;

const python = `"""Reads things.

There is more to say of it, over several lines,
none of which is needed.
One more.
"""
import os
from typing import Any


class Reader:
    """Reads one thing."""

    limit = 3

    def __init__(self, path: str) -> None:
        self.path = path
        self.lines = []
        self.count = 0

    @property
    def size(self):
        # how many there are
        total = 0
        for line in self.lines:
            if line == "needle":
                total += 1
            total += len(line)
        return total


def main(arguments: list[str]) -> Any:
    """Starts it.

    With more words that say how,
    and over some lines,
    and still more.
    """
    reader = Reader(arguments[0])
    try:
        print(reader.size)
    except OSError as error:
        print(error)
    return reader


if __name__ == "__main__":
    main(os.sys.argv)
`;

const programs: readonly (readonly [string, string, string])[] = [
  ["TypeScript", "a.ts", typescript],
  [
    "Tsx",
    "a.tsx",
    `import React from "react";\n\nexport function App({ name }: { name: string }) {\n  const text = name.trim();\n  const other = text.length;\n  return (\n    <div className="a">\n      <b>{text}</b>\n      <i>{other}</i>\n    </div>\n  );\n}\n`,
  ],
  [
    "JavaScript",
    "a.js",
    `"use strict";\nconst fs = require("fs");\n\nmodule.exports = {\n  read(path) {\n    const text = fs.readFileSync(path, "utf8");\n    const lines = text.split("\\n");\n    return lines.filter((line) => {\n      const trimmed = line.trim();\n      return trimmed !== "" && !trimmed.startsWith("#");\n    });\n  },\n};\n`,
  ],
  ["python", "a.py", python],
  [
    "go",
    "a.go",
    `package main\n\nimport (\n\t"fmt"\n\t"os"\n)\n\n// Reader reads.\ntype Reader struct {\n\tPath string\n\tSize int\n}\n\nfunc (r *Reader) Read(name string) (string, error) {\n\tdata, err := os.ReadFile(name)\n\tif err != nil {\n\t\treturn "", err\n\t}\n\tr.Size += len(data)\n\treturn string(data), nil\n}\n\nfunc main() {\n\tr := &Reader{Path: "x"}\n\tfmt.Println(r.Read("a"))\n\tfmt.Println(r.Size)\n}\n`,
  ],
  [
    "rust",
    "a.rs",
    `use std::fs;\n\n/// Reads.\n#[derive(Debug)]\npub struct Reader {\n    path: String,\n    size: usize,\n}\n\nimpl Reader {\n    pub fn read(&mut self, name: &str) -> Result<String, std::io::Error> {\n        let text = fs::read_to_string(name)?;\n        self.size += text.len();\n        match text.len() {\n            0 => println!("empty"),\n            _ => println!("full"),\n        }\n        Ok(text)\n    }\n}\n\n#[test]\nfn reads() {\n    let mut reader = Reader { path: "x".into(), size: 0 };\n    assert!(reader.read("a").is_err());\n    assert_eq!(reader.size, 0);\n}\n`,
  ],
  [
    "java",
    "A.java",
    `package a.b;\n\nimport java.util.List;\n\n/** Reads. */\npublic class A {\n  private final List<String> lines;\n\n  public A(List<String> lines) {\n    this.lines = lines;\n    this.lines.clear();\n    this.lines.add("x");\n  }\n\n  @Override\n  public String toString() {\n    StringBuilder text = new StringBuilder();\n    for (String line : lines) {\n      text.append(line);\n    }\n    return text.toString();\n  }\n}\n`,
  ],
  [
    "c",
    "a.c",
    `#include <stdio.h>\n\nstruct reader {\n  int size;\n  char *path;\n};\n\nstatic int read_it(struct reader *r, int n) {\n  int total = 0;\n  for (int i = 0; i < n; i++) {\n    total += i;\n  }\n  r->size = total;\n  return total;\n}\n\nint main(void) {\n  struct reader r = {0};\n  printf("%d\\n", read_it(&r, 3));\n  printf("done\\n");\n  return 0;\n}\n`,
  ],
  [
    "cpp",
    "a.cpp",
    `#include <vector>\n\nnamespace a {\nclass Reader {\n public:\n  explicit Reader(int n) : n_(n) {}\n  int sum(const std::vector<int>& all) {\n    int total = 0;\n    for (auto one : all) {\n      total += one;\n    }\n    n_ += total;\n    return total;\n  }\n\n private:\n  int n_;\n};\n}  // namespace a\n`,
  ],
];

describe("every language", () => {
  test.each(programs)("%s parses before and after, at any severity", (grammar, path, text) => {
    expect(isClean(grammar, text)).toBe(true);
    for (const ratio of [0.9, 0.7, 0.5, 0.3, 0.1]) {
      const shorter = compressCode(text, path, { ratio });
      expect([ratio, isClean(grammar, shorter)]).toEqual([ratio, true]);
      expect(shorter.length).toBeLessThan(text.length);
    }
  });

  test.each(programs)(
    "%s keeps lines as they were and in order, and counts the others",
    (_, path, text) => {
      const before = text.split("\n");
      let place = 0;
      for (const line of compressCode(text, path, { ratio: 0.6 }).split("\n")) {
        const missing = /… ([\d,]+) lines? …$/.exec(line)?.[1];
        if (missing !== undefined) place += Number(missing);
        else expect(before[place++]).toBe(line);
      }
      expect(place).toBe(before.length);
    },
  );

  test.each(programs)("%s is found without a name", (_, _path, text) => {
    expect(compressContent(text.repeat(2), { ratio: 0.5, count })?.kind).toBe("code");
  });

  test.each(programs)("%s compressed again is still clean and no longer", (grammar, path, text) => {
    const once = compressCode(text, path);
    const twice = compressCode(once, path);
    expect(twice.length).toBeLessThanOrEqual(once.length);
    expect(isClean(grammar, twice)).toBe(true);
  });
});

describe("a skeleton", () => {
  const shorter = compressCode(typescript, "a.ts");

  test("imports, headers and signatures stay", () => {
    for (const line of [
      'import { open } from "../open.ts";',
      "export interface Options {",
      "export class Reader {",
      "async read(name: string): Promise<Thing> {",
    ])
      expect(shorter).toContain(line);
  });

  test("the first line of a comment stays", () => {
    const text = compressCode(typescript, "a.ts", { ratio: 0.4 });
    expect(text).toMatch(/^\/\*\*\n \* Reads things\.\n(?: \* \w.*\n)? \* … \d lines …\n \*\/\n/);
  });

  test("long lists keep their beginning", () => {
    expect(shorter).toContain('{ id: 0, name: "entry 0" },\n');
    expect(shorter).toContain("\n  // … ");
  });

  test("what the language needs stands where a body was", () => {
    const text = compressCode(python, "a.py", { ratio: 0.45 });
    expect(text).toMatch(/\n {8}\.\.\. {2}# … \d+ lines …\n/);
    expect(isClean("python", text)).toBe(true);
  });

  test("the first line of a docstring stays", () => {
    expect(compressCode(python, "a.py", { ratio: 0.5 })).toContain(
      '"""Reads things.\n… 4 lines …\n"""',
    );
  });

  test("a line that matters stays, with what is around it", () => {
    const weigh = (line: string): number => (line.includes("needle") ? 1 : 0);
    for (const [path, text, opening] of [
      ["a.ts", typescript, "    for (const line of file) {\n"],
      ["a.py", python, "        for line in self.lines:\n"],
    ] as const) {
      const kept = compressCode(text, path, { ratio: 0.4, weigh });
      expect(kept).toContain("needle");
      expect(kept).toContain(opening);
    }
  });

  test("if everything matters, what matters most stays", () => {
    const weigh = (line: string): number => (line.includes("needle") ? 10 : 1);
    const kept = compressCode(typescript, "a.ts", { ratio: 0.4, weigh });
    expect(kept).toContain("needle");
    expect(count(kept)).toBeLessThanOrEqual(count(typescript) * 0.4);
  });

  test("of a text too long for the wish only the end goes", () => {
    const text = `export function f(): void {\n${repeat(60, (index) => `  call(${index});\n`)}}\n`;
    const kept = compressCode(text, "a.ts", { ratio: 0.5 });
    expect(kept).toContain("  call(0);\n");
    expect(count(kept)).toBeGreaterThan(count(text) * 0.35);
  });

  test("code on one line is cut inside", () => {
    const text = `!function(){${repeat(200, (index) => `function f${index}(a){return a+${index}}`)}}();`;
    const kept = compressCode(text, "a.min.js", { ratio: 0.3 });
    expect(kept).toMatch(/\/\* … [\d,]+ characters … \*\//);
    expect(isClean("JavaScript", kept)).toBe(true);
  });

  test("names in strings are no comments", () => {
    const text = repeat(
      20,
      (index) => `export const url${index} = "https://example.org/a/${index}"; // see\n`,
    );
    const kept = compressCode(text, "a.ts", { ratio: 0.5 });
    for (const line of kept.split("\n").filter((line) => line.startsWith("export")))
      expect(text).toContain(`${line}\n`);
  });

  test("a program with errors may be cut, and is never longer", () => {
    const broken = `${typescript}\n}}} const = ;\n`;
    const kept = compressCode(broken, "a.ts", { ratio: 0.5 });
    expect(count(kept)).toBeLessThanOrEqual(count(broken) * 0.5);
  });

  test("line ends of Windows stay", () => {
    const kept = compressCode(python.replaceAll("\n", "\r\n"), "a.py");
    expect(kept.replaceAll("\r\n", "")).not.toContain("\n");
    expect(isClean("python", kept)).toBe(true);
  });

  test("nesting without end does no harm", () => {
    const deep = `function f(){if(a){`.repeat(5_000) + "}}".repeat(5_000);
    expect(isClean("JavaScript", compressCode(deep, "a.js"))).toBe(true);
  });
});

describe("numbers before lines", () => {
  const forms = [
    ["cat -n", (line: string, number: number) => `${String(number).padStart(6)}\t${line}`],
    ["an arrow", (line: string, number: number) => `${String(number).padStart(6)}→${line}`],
    ["a colon", (line: string, number: number) => `${number}: ${line}`],
  ] as const;

  test.each(forms)("%s: kept with their lines, and the rest still parses", (_, form) => {
    const text = python
      .trimEnd()
      .split("\n")
      .map((line, index) => form(line, index + 1))
      .join("\n");
    const kept = compressCode(text, "a.py", { ratio: 0.5 });
    const lines = new Set(text.split("\n"));
    const bare: string[] = [];
    for (const line of kept.split("\n")) {
      if (/… \d+ lines? …/.test(line)) bare.push(line.replace(/^ {0,7}(?= *\S)/, ""));
      else expect(lines.has(line)).toBe(true);
    }
    expect(bare.length).toBeGreaterThan(0);
    expect(count(kept)).toBeLessThanOrEqual(count(text) * 0.5);
  });

  test("what stands around them is kept", () => {
    const numbered = python
      .split("\n")
      .map((line, index) => `${String(index + 1).padStart(6)}\t${line}`)
      .join("\n");
    const text = `Here's the result of running \`cat -n\` on /work/a.py:\n${numbered}\n\n<note>that was all</note>\n`;
    const kept = compressContent(text, { ratio: 0.5, count })?.text ?? "";
    expect(kept).toMatch(/^Here's the result of running `cat -n` on \/work\/a\.py:\n/);
    expect(kept).toContain("<note>that was all</note>");
    expect(kept).toContain("\tdef main(arguments: list[str]) -> Any:\n");
  });

  test("numbers that do not count up are none", () => {
    expect(stripNumbers("5\ta\n3\tb\n9\tc\n1\td\n2\te\n7\tf\n")).toBeUndefined();
    expect(stripNumbers("12\ta\n13\tb\n14\tc\n15\td\n16\te\n")?.code).toBe("a\nb\nc\nd\ne\n");
  });
});

test("programs put together at random still parse, whatever is wished and whatever matters", () => {
  const statement = fc.constantFrom(
    "const a = 1;",
    "if (a) {\n  b();\n} else {\n  c();\n}",
    "for (const x of y) {\n  if (x) continue;\n  z(x);\n}",
    "try {\n  risky();\n} catch {\n  // nothing\n}",
    "switch (a) {\n  case 1:\n    b();\n    break;\n  default:\n    c();\n}",
    "const text = `line\nline\nline\nline\nline\nline`;",
    "const list = [\n  1,\n  2,\n  3,\n  4,\n  5,\n  6,\n];",
    "const map = { a: 1, b: () => {\n  return 2;\n} };",
    "// one\n// two\n// three\n// four",
    "/*\n * a\n * b\n * c\n * d\n */",
    "label: while (true) { break label; }",
    "class A {\n  x = 1;\n  m() {\n    return this.x;\n  }\n}",
    "export type T = { a: string;\n  b: number };",
  );
  const program = fc
    .array(fc.tuple(fc.array(statement, { minLength: 1, maxLength: 8 }), fc.boolean()), {
      minLength: 1,
      maxLength: 8,
    })
    .map((parts) =>
      parts
        .map(([body, isFunction], index) => {
          const text = body.filter((part) => !isFunction || !part.startsWith("export")).join("\n");
          return isFunction ? `function f${index}() {\n${text}\n}\n` : `${text}\n`;
        })
        .join("\n"),
    );
  fc.assert(
    fc.property(
      program,
      fc.double({ min: 0.1, max: 0.9, noNaN: true }),
      fc.constantFrom("", "b()", "x", "line"),
      (text, ratio, wanted) => {
        fc.pre(isClean("TypeScript", text));
        const weigh = (line: string): number => (wanted !== "" && line.includes(wanted) ? 1 : 0);
        const kept = compressCode(text, "a.ts", { ratio, weigh });
        expect(isClean("TypeScript", kept)).toBe(true);
        expect(kept.length).toBeLessThanOrEqual(text.length);
      },
    ),
    tries({ runs: 200, seed: 31 }),
  );
});
