/** Kinds of text that are cut by lines or sentences, and kinds that are replaced by a description. */

import { describe, expect, test } from "vitest";
import { type CutOptions, compressContent } from "./content.ts";

const count = (text: string): number => Math.ceil(text.length / 4);

function compress(text: string, options: Partial<CutOptions> = {}): string {
  return compressContent(text, { ratio: 0.4, count, ...options })?.text ?? text;
}

function repeat(times: number, line: (index: number) => string): string {
  return Array.from({ length: times }, (_, index) => line(index)).join("");
}

describe("logs", () => {
  const tick = (index: number): string =>
    `2026-01-02T10:00:${10 + (index % 50)}Z INFO [${index}] took ${index * 3} ms\n`;

  test("lines of one form are folded, whatever room there is", () => {
    const shorter = compress(repeat(100, tick), { ratio: 0.9 });
    expect(shorter.split("\n").length).toBeLessThan(8);
    expect(shorter).toContain("more like this …");
    expect(shorter.startsWith(tick(0))).toBe(true);
    expect(shorter.endsWith(tick(99))).toBe(true);
  });

  test("an error and its neighbours stay", () => {
    const text = repeat(100, (index) =>
      index === 60 ? "2026-01-02T10:00:59Z ERROR no route to 10.0.0.7\n" : tick(index),
    );
    expect(compress(text)).toContain(
      `${tick(59)}2026-01-02T10:00:59Z ERROR no route to 10.0.0.7\n${tick(61)}`,
    );
  });

  test("the same error a thousand times does not take all the room", () => {
    const text = repeat(1_000, (index) =>
      index === 500
        ? "2026-01-02T10:00:00Z INFO leader changed to node-b\n"
        : `2026-01-02T10:00:00Z ERROR time-out ${index}\n`,
    );
    const shorter = compress(text, { ratio: 0.1 });
    expect(shorter).toContain("leader changed to node-b");
    expect(shorter.split("\n").length).toBeLessThan(20);
  });

  test("a mark says when nothing is hidden that has no like", () => {
    const text = repeat(80, (index) =>
      index % 2 === 0 ? tick(index) : `2026-01-02T10:00:00Z DEBUG gc ${index}\n`,
    );
    expect(compress(text)).toContain("lines like others here …");
  });

  test("ids and hashes are no forms of their own", () => {
    const text = repeat(
      60,
      (index) =>
        `2026-01-02 INFO commit ${(index * 7_919_777).toString(16).padStart(12, "a")} by "user ${index}"\n`,
    );
    expect(compress(text, { ratio: 0.9 }).split("\n").length).toBeLessThan(8);
  });
});

describe("test output", () => {
  const pytest = `============================= test session starts =============================
collected 62 items

${repeat(60, (index) => `tests/test_a.py::test_${index} PASSED [ ${index}%]\n`)}tests/test_b.py::test_sum FAILED [100%]

=================================== FAILURES ===================================
___________________________________ test_sum ___________________________________

    def test_sum():
>       assert add(1, 2) == 4
E       assert 3 == 4

tests/test_b.py:12: AssertionError
=========================== short test summary info ===========================
FAILED tests/test_b.py::test_sum - assert 3 == 4
======================== 1 failed, 61 passed in 0.12s =========================
`;

  test("pytest: the failure and the summary stay, passes are counted", () => {
    const shorter = compress(pytest, { ratio: 0.5 });
    for (const line of [
      "… 60 passed …",
      ">       assert add(1, 2) == 4",
      "E       assert 3 == 4",
      "1 failed, 61 passed in 0.12s",
    ])
      expect(shorter).toContain(line);
  });

  test.each([
    [
      "cargo",
      `running 40 tests\n${repeat(39, (index) => `test a::t${index} ... ok\n`)}test a::bad ... FAILED\n\nfailures:\n\n---- a::bad stdout ----\nthread 'a::bad' panicked at src/lib.rs:9:5:\nassertion failed\n\ntest result: FAILED. 39 passed; 1 failed; finished in 0.01s\n`,
      [
        "test a::bad ... FAILED",
        "panicked at src/lib.rs:9:5",
        "test result: FAILED. 39 passed; 1 failed",
      ],
    ],
    [
      "go",
      `${repeat(40, (index) => `=== RUN   Test${index}\n--- PASS: Test${index} (0.00s)\n`)}=== RUN   TestBad\n    a_test.go:9: got 3, want 4\n--- FAIL: TestBad (0.00s)\nFAIL\nFAIL\texample.org/a\t0.01s\n`,
      ["--- FAIL: TestBad", "got 3, want 4"],
    ],
    [
      "vitest",
      ` RUN  v5.0.0 /work\n\n${repeat(40, (index) => ` ✓ src/a${index}.test.ts (3 tests) 5ms\n`)} ❯ src/bad.test.ts (1 test | 1 failed)\n   × adds 3ms\n     → expected 3 to be 4\n\n Test Files  1 failed | 40 passed (41)\n      Tests  1 failed | 120 passed (121)\n`,
      ["× adds", "expected 3 to be 4", "Tests  1 failed | 120 passed (121)"],
    ],
    [
      "TAP",
      `TAP version 13\n${repeat(40, (index) => `ok ${index + 1} - works ${index}\n`)}not ok 41 - adds\n  ---\n  operator: equal\n  ...\n# tests 41\n# pass 40\n# fail 1\n`,
      ["not ok 41 - adds", "# fail 1"],
    ],
    [
      "unittest",
      `${repeat(40, (index) => `test_${index} (a.T) ... ok\n`)}test_bad (a.T) ... FAIL\n\n======================================================================\nFAIL: test_bad (a.T)\n----------------------------------------------------------------------\nAssertionError: 3 != 4\n\n----------------------------------------------------------------------\nRan 41 tests in 0.010s\n\nFAILED (failures=1)\n`,
      ["AssertionError: 3 != 4", "Ran 41 tests in 0.010s", "FAILED (failures=1)"],
    ],
  ] as const)("%s", (_, text, wanted) => {
    const shorter = compress(text, { ratio: 0.5 });
    for (const line of wanted) expect(shorter).toContain(line);
    expect(shorter).toContain("passed …");
  });
});

describe("diffs", () => {
  const diff = `diff --git a/a.ts b/a.ts
index 123..456 100644
--- a/a.ts
+++ b/a.ts
@@ -1,40 +1,40 @@ function f()
${repeat(20, (index) => ` before ${index} of the change\n`)}-const old = 1;
+const renewed = 2;
${repeat(20, (index) => ` after ${index} of the change\n`)}@@ -90,20 +90,21 @@ function g()
${repeat(20, (index) => ` more ${index} of the context\n`)}+const added = 3;
`;

  test("headers and changes stay, context goes", () => {
    const shorter = compress(diff, { ratio: 0.35 });
    for (const line of [
      "--- a/a.ts",
      "+++ b/a.ts",
      "@@ -1,40 +1,40 @@ function f()",
      "-const old = 1;\n+const renewed = 2;",
      "@@ -90,20 +90,21 @@",
      "+const added = 3;",
    ])
      expect(shorter).toContain(line);
    expect(shorter).toContain("lines …");
  });

  test("of a long addition the beginning tells most", () => {
    const text = `diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1,80 @@\n${repeat(80, (index) => `+line number ${index}\n`)}`;
    const shorter = compress(text, { ratio: 0.3 });
    expect(shorter).toContain("+line number 0\n+line number 1\n");
    expect(shorter).not.toContain("+line number 60\n");
  });
});

describe("search results", () => {
  test("every file keeps its first hit", () => {
    const text = repeat(
      60,
      (index) => `src/part${Math.floor(index / 10)}.ts:${index}:  use(thing${index});\n`,
    );
    const shorter = compress(text, { ratio: 0.5 });
    for (let part = 0; part < 6; part++)
      expect(shorter).toContain(`src/part${part}.ts:${part * 10}:`);
    expect(shorter).toMatch(/… \d+ more in src\/part\d\.ts …/);
  });

  test("hits below the name of their file", () => {
    const text = repeat(
      6,
      (file) =>
        `src/part${file}.ts\n${repeat(8, (index) => `${index * 3}:  use(thing${index});\n`)}\n`,
    );
    const shorter = compress(text, { ratio: 0.5 });
    for (let part = 0; part < 6; part++) expect(shorter).toContain(`src/part${part}.ts\n`);
  });

  test("more files than there is room for are counted", () => {
    const text = repeat(200, (index) => `src/part${index}.ts:1:use(thing)\n`);
    expect(compress(text, { ratio: 0.1 })).toMatch(/… \d+ more in \d+ files …/);
  });

  test("lists of files keep every folder", () => {
    const text = repeat(60, (index) => `./src/part${Math.floor(index / 10)}/file${index}.ts\n`);
    const shorter = compress(text, { ratio: 0.4 });
    for (let part = 0; part < 6; part++) expect(shorter).toContain(`./src/part${part}/`);
  });
});

describe("traces", () => {
  test("the message and the frames of the project, not of libraries", () => {
    const text = `Error: boom\n    at inner (/app/src/inner.ts:3:1)\n${repeat(30, (index) => `    at lib${index} (/app/node_modules/x/y.js:${index}:1)\n`)}    at outer (/app/src/outer.ts:9:1)\n${repeat(10, (index) => `    at run${index} (node:internal/run:${index}:1)\n`)}`;
    const shorter = compress(text, { ratio: 0.25 });
    for (const line of ["Error: boom", "/app/src/inner.ts:3:1", "/app/src/outer.ts:9:1"])
      expect(shorter).toContain(line);
    expect(shorter).toContain("lines of frames …");
  });

  test.each([
    [
      "Python",
      `Traceback (most recent call last):\n  File "main.py", line 3, in <module>\n    run()\n${repeat(20, (index) => `  File "/usr/lib/python3.12/site-packages/x/a.py", line ${index}, in f${index}\n    call(${index})\n`)}  File "app/work.py", line 9, in work\n    raise ValueError("bad")\nValueError: bad\n`,
      ['File "main.py", line 3', 'File "app/work.py", line 9', "ValueError: bad"],
    ],
    [
      "Java",
      `Exception in thread "main" java.lang.IllegalStateException: bad\n\tat com.acme.Work.go(Work.java:12)\n${repeat(20, (index) => `\tat org.springframework.x.F${index}.call(F.java:${index})\n`)}Caused by: java.io.IOException: disk\n\tat com.acme.Disk.read(Disk.java:7)\n\t... 20 more\n`,
      ["IllegalStateException: bad", "com.acme.Work.go", "Caused by: java.io.IOException: disk"],
    ],
    [
      "Go",
      `panic: bad\n\ngoroutine 1 [running]:\nmain.work(0x1)\n\t/app/main.go:9 +0x1d\n${repeat(15, (index) => `net/http.f${index}(0x2)\n\t/usr/local/go/src/net/http/server.go:${index} +0x2f\n`)}main.main()\n\t/app/main.go:3 +0x1d\n`,
      ["panic: bad", "goroutine 1 [running]:"],
    ],
  ] as const)("%s", (_, text, wanted) => {
    const shorter = compress(text, { ratio: 0.4 });
    for (const line of wanted) expect(shorter).toContain(line);
  });
});

describe("tables", () => {
  test.each([
    ["commas", ",", ""],
    ["tabs", "\t", ""],
    ["bars", " | ", "--- | --- | ---\n"],
  ])("%s: the header, the ends and what is unlike the others", (_, separator, ruler) => {
    const row = (...cells: readonly (string | number)[]): string => `${cells.join(separator)}\n`;
    const text = `${row("name", "amount", "state")}${ruler}${repeat(80, (index) => row(`item${index}`, index === 33 ? 9_000_000 : 100 + (index % 5), index === 51 ? "lost" : "fine"))}`;
    const shorter = compress(text, { ratio: 0.3 });
    expect(shorter.startsWith(row("name", "amount", "state") + ruler)).toBe(true);
    expect(shorter).toContain("9000000");
    expect(shorter).toContain("lost");
    expect(shorter.endsWith(row("item79", 104, "fine"))).toBe(true);
    expect(shorter).toContain("rows …");
  });
});

describe("prose", () => {
  const paragraph = (index: number): string =>
    `Paragraph ${index} opens like this. Its second sentence adds some colour to it. The third one could be left out by anyone. A fourth one ends it.\n\n`;

  test("the lead of each paragraph stays", () => {
    const shorter = compress(repeat(6, paragraph), { ratio: 0.6 });
    for (let index = 0; index < 6; index++)
      expect(shorter).toContain(`Paragraph ${index} opens like this.`);
    expect(shorter).toMatch(/… \d sentences? …/);
  });

  test("a sentence that matters stays", () => {
    const text = `${repeat(5, paragraph)}This one is about other things. The password rotates on Tuesdays at noon. It goes on.\n\n${repeat(5, paragraph)}`;
    const weigh = (line: string): number => (line.includes("Tuesdays") ? 1 : 0);
    expect(compress(text, { ratio: 0.3, weigh })).toContain(
      "The password rotates on Tuesdays at noon.",
    );
  });

  test("headings stay, code in fences is compressed as code", () => {
    const code = repeat(
      10,
      (index) => `def f${index}(x):\n    y = x + ${index}\n    z = y * 2\n    return z\n\n`,
    );
    const text = `# The title of it\n\n${paragraph(1)}## How it is used\n\n\`\`\`python\n${code}\`\`\`\n\n${paragraph(2)}`;
    const shorter = compress(text, { ratio: 0.6, path: "README.md" });
    expect(shorter).toContain("# The title of it");
    expect(shorter).toMatch(/```python\ndef f0[\s\S]*# … \d+ lines …[\s\S]*```/);
  });

  test("sentences of scripts without spaces", () => {
    const text = repeat(
      10,
      (index) => `第${index}段的第一句话在这里开始。第二句话补充了一些内容！第三句话可以省略。\n\n`,
    );
    const shorter = compress(text, { ratio: 0.5 });
    expect(shorter).toContain("第0段的第一句话在这里开始。");
    expect(count(shorter)).toBeLessThanOrEqual(count(text) * 0.5);
  });

  test("several languages in one text", () => {
    const text = repeat(
      12,
      (index) =>
        `${
          [
            "Das ist ein Satz auf Deutsch. Hier steht noch einer.",
            "Ceci est une phrase. En voici une autre.",
            "Это предложение по-русски. И ещё одно здесь.",
          ][index % 3]
        }\n\n`,
    );
    expect(count(compress(text, { ratio: 0.5 }))).toBeLessThanOrEqual(count(text) * 0.5);
  });
});

describe("pages", () => {
  const page = `<!DOCTYPE html>
<html><head><title>Load lines &amp; ships</title><style>p { color: red }</style>
<script>if (a < b) { document.write("<p>not this</p>") }</script></head>
<body><nav><ul><li><a href="/home">Home</a></li><li><a href="/x">X</a></li></ul></nav>
<h1>Load lines</h1><p>The mark shows how deep a <b>ship</b> may go.</p>
<h2>History</h2><p>See <a href="https://example.org/act">the Act</a> of 1876.</p>
<table><tr><th>Mark</th><th>Meaning</th></tr><tr><td>TF</td><td>Tropical fresh</td></tr></table>
<ul><li>one</li><li>two</li></ul><img src="a.png" alt="a hull"><!-- not this either -->
<svg><path d="M0 0L10 10"/></svg></body></html>`;

  test("text and structure stay, scripts, styles and comments go", () => {
    const shorter = compress(page, { ratio: 0.6 });
    for (const line of [
      "Title: Load lines & ships",
      "# Load lines",
      "The mark shows how deep a ship may go.",
      "## History",
      "[the Act](https://example.org/act)",
      "Mark | Meaning",
      "- one",
      "[image: a hull]",
    ])
      expect(shorter).toContain(line);
    expect(shorter).not.toMatch(/not this|color: red|M0 0L/);
  });

  test("a page longer than wished keeps its headings", () => {
    const text = page.replace(
      "</body>",
      `${repeat(60, (index) => `<p>Filler text of no use, number ${index}.</p>`)}</body>`,
    );
    const shorter = compress(text, { ratio: 0.15 });
    expect(count(shorter)).toBeLessThanOrEqual(count(text) * 0.15);
    expect(shorter).toContain("# Load lines");
  });

  test("a tag that has a sign for its end in an attribute", () => {
    const text = `<html><body>${"<div class='much markup'></div>".repeat(40)}<p title="a > b">one <a href='/x?a>b'>two</a></p><p class="unclosed>three</p></body></html>`;
    expect(compress(text)).toBe("one [two](/x?a>b)\nthree");
  });

  test("entities of any kind", () => {
    const text = `<html><body>${"<div class='much markup'></div>".repeat(40)}<p>a &lt; b &#38; c &#x26; d &nope; &#99999999;</p></body></html>`;
    expect(compress(text)).toBe("a < b & c & d &nope; &#99999999;");
  });
});

describe("bytes", () => {
  test.each([
    ["PNG", "\x89PNG\r\n\x1a\n", "PNG image"],
    ["JPEG", "\xff\xd8\xff\xe0", "JPEG image"],
    ["PDF", "%PDF-1.7", "PDF"],
    ["ZIP", "PK\x03\x04", "ZIP archive"],
  ])("%s in base64 is described", (_, beginning, name) => {
    const text = btoa(
      beginning + repeat(300, (index) => String.fromCharCode((index * 7919) % 256)),
    );
    const shorter = compress(text);
    expect(shorter).toContain(name);
    expect(shorter).toContain(`${text.length} characters`);
    expect(shorter.length).toBeLessThan(100);
  });

  test("a data URI says its type", () => {
    const text = `data:image/webp;base64,${btoa(repeat(400, (index) => String.fromCharCode((index * 31) % 256)))}`;
    expect(compress(text)).toContain("image/webp");
  });

  test("bytes read as text", () => {
    expect(compress("\u0000\u0001\u0002ELF\u0003\ufffd".repeat(200))).toBe(
      "[binary data, 1,600 characters]",
    );
  });
});
