/** Files that appear in a conversation more than once: what is removed, what replaces it, and what stays. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  assistant,
  exchange,
  linesOf,
  prose,
  read,
  shell,
  shown,
  system,
  user,
} from "../../../test/generate/said.ts";
import {
  applyProposals,
  count,
  HANDLE,
  type Seeing,
  seenFrom,
} from "../../../test/generate/seen.ts";
import { AREAS, talks } from "../../../test/generate/talks.ts";
import { tries } from "../../../test/harness/effort.ts";
import type { Message } from "../../message/message.ts";
import type { Goal, Proposal, VisibleConversation } from "../../message/strategy.ts";
import { duplicateReads } from "./duplicate-reads.ts";

const tight: Goal = { limitTokens: 10, tokens: 5, floorTokens: 0 };
/** For texts that would be far over any smaller goal. */
const large: Goal = { ...tight, tokens: 100_000 };
const strategy = duplicateReads({ count });

function proposalsFor(conversation: VisibleConversation, goal = tight): readonly Proposal[] {
  return strategy.propose(conversation, goal) as readonly Proposal[];
}

/** The new text of each message that changed. */
function changes(
  messages: readonly Message[],
  seeing: Seeing = {},
  goal = tight,
): Readonly<Record<number, string>> {
  const before = seenFrom(messages, seeing);
  const { conversation } = applyProposals(before, proposalsFor(before, goal), seeing);
  const was = shown(before);
  return Object.fromEntries([...shown(conversation)].filter(([at, text]) => was.get(at) !== text));
}

const FILE = linesOf("alpha", 40);
const end = [user("go on"), ...shell("true", "done")];

/** 0 is the user, 1–2 the first read, 3–4 the second read, and the end begins at 5. */
const twice = (one: readonly Message[], other: readonly Message[]): readonly Message[] => [
  user("do it"),
  ...one,
  ...other,
  ...end,
];

describe("the same file twice", () => {
  test("all but the last copy say which file it was, and where the newest copy is", () => {
    expect(changes(twice(read("src/a.py", FILE), read("src/a.py", FILE)))).toEqual({
      2: "[src/a.py: 40 lines as in #4]",
    });
  });

  test("three times: both older ones point to the newest", () => {
    const all = [
      user("do it"),
      ...read("a.py", FILE),
      ...read("a.py", FILE),
      ...read("a.py", FILE),
    ];
    expect(changes([...all, ...end])).toEqual({
      2: "[a.py: 40 lines as in #6]",
      4: "[a.py: 40 lines as in #6]",
    });
  });

  test("a server that numbers its calls gives each of them the same id: each result is of the call before it", () => {
    const numbered = ({ role, parts }: Message): Message => ({
      role,
      parts: parts.map((part) => {
        if (part.kind === "tool-call") return { ...part, id: "call_0" };
        return part.kind === "tool-result" ? { ...part, callId: "call_0" } : part;
      }),
    });
    const messages = twice(read("src/a.py", FILE), read("src/a.py", FILE)).map(numbered);
    expect(changes(messages)).toEqual({ 2: "[src/a.py: 40 lines as in #4]" });
  });

  test("lines that differ stay where they were", () => {
    const older = [...FILE.slice(0, 10), "was_different = 1", ...FILE.slice(11)];
    const changed = changes(twice(read("a.py", older), read("a.py", FILE)));
    expect(changed).toEqual({
      2: "… 10 lines as in #4\nwas_different = 1\n… 29 lines as in #4",
    });
  });

  test("a newer read of a part takes only that part out of the older one", () => {
    const changed = changes(twice(read("a.py", FILE), read("a.py", FILE.slice(5, 25))));
    expect(changed).toEqual({
      2: [...FILE.slice(0, 5), "… 20 lines as in #4", ...FILE.slice(25)].join("\n"),
    });
  });

  test("two newer reads of parts: each mark points to its own", () => {
    const messages = [
      user("do it"),
      ...read("a.py", FILE),
      ...read("a.py", FILE.slice(0, 20)),
      ...read("a.py", FILE.slice(20)),
      ...end,
    ];
    expect(changes(messages)).toEqual({ 2: "… 20 lines as in #4\n… 20 lines as in #6" });
  });

  test("a copy that is shortened itself is no copy to point to", () => {
    const messages = [
      user("do it"),
      ...read("a.py", FILE),
      ...read("a.py", FILE.slice(0, 30)),
      ...read("a.py", FILE.slice(0, 20)),
      ...end,
    ];
    const changed = changes(messages);
    expect(changed[4]).toContain("… 20 lines as in #6");
    expect(changed[2]).toContain("… 20 lines as in #6");
    expect(changed[2]).toContain("… 10 lines as in #4");
  });

  test("one very long line counts as much as many", () => {
    const line = [`const table = [${"12,".repeat(200)}];`];
    expect(changes(twice(read("t.js", line), read("t.js", line)))[2]).toBe(
      "[t.js: 1 line as in #4]",
    );
  });

  test("runs of one or two short lines are not worth a mark", () => {
    const older = FILE.map((line, at) => (at % 3 === 2 ? `changed ${at}` : line));
    const short = older.map((line) => line.slice(0, 24));
    const newer = FILE.map((line) => line.slice(0, 24));
    expect(changes(twice(read("a.py", short), read("a.py", newer)))).toEqual({});
  });

  test("line numbers that moved do not matter", () => {
    const numbered = (from: number, lines: readonly string[]): readonly string[] =>
      lines.map((line, at) => `${String(from + at).padStart(6)}\t${line}`);
    const older = numbered(1, FILE);
    const newer = numbered(1, ["new_line = 0", ...FILE]);
    expect(changes(twice(read("a.py", older), read("a.py", newer)))[2]).toBe(
      "[a.py: 40 lines as in #4]",
    );
  });

  test("numbers that belong to the file do matter", () => {
    const table = (shift: number): readonly string[] =>
      Array.from({ length: 30 }, (_, row) => `${row + shift}\trow of the table`);
    expect(changes(twice(read("t.tsv", table(0)), read("t.tsv", table(100))))).toEqual({});
  });

  test("with no more tokens than the goal allows, nothing is touched", () => {
    const before = seenFrom(twice(read("a.py", FILE), read("a.py", FILE)));
    const goal = { ...tight, tokens: before.tokens };
    expect(strategy.propose(before, goal)).toEqual([]);
  });
});

describe("how one file is spelled", () => {
  test.each([
    ["./a.py", "a.py"],
    ["src/../a.py", "a.py"],
    ["/root/a.py", "a.py"],
    ["file:///root/a.py", "./a.py"],
    ["/root/./a.py", "/root//a.py"],
  ])("%s is %s, where the working directory is /root", (one, other) => {
    const messages = [
      user("Working directory: /root\ndo it"),
      // Two different files with too few lines in common.
      ...read(one, [...FILE.slice(0, 5), ...linesOf("one", 9)]),
      ...read(other, [...FILE.slice(0, 5), ...linesOf("other", 9)]),
      ...end,
    ];
    expect(changes(messages)[2]).toContain("… 5 lines as in #4");
  });

  test("another file with the same name is another file", () => {
    const messages = twice(
      read("one/a.py", [...FILE.slice(0, 5), ...linesOf("one", 9)]),
      read("other/a.py", [...FILE.slice(0, 5), ...linesOf("other", 9)]),
    );
    expect(changes(messages)).toEqual({});
  });
});

describe("ways to read a file", () => {
  const part = FILE.slice(0, 6);
  const rest = linesOf("rest", 12);
  test.each([
    ["cat a.py"],
    ["cd /srv && cat a.py"],
    ["sed -n '1,40p' /srv/a.py"],
    ["head -n 40 ./a.py"],
    ["nl -ba a.py | sed -n '1,40p'"],
    ["cat b.py a.py"],
  ])("in a shell: %s", (command) => {
    const messages = [
      user("cwd: /srv"),
      ...shell(command, [...part, ...linesOf("one", 8)].join("\n")),
      ...read("a.py", [...part, ...rest]),
      ...end,
    ];
    expect(changes(messages)[2]).toContain("… 6 lines as in #4");
  });

  test.each([
    ["Read", { file_path: "a.py" }],
    ["str_replace_editor", { command: "view", path: "a.py" }],
    ["view_file", { filename: "a.py" }],
    ["open", { file: "a.py" }],
    ["read_many_files", { paths: ["b.py", "a.py"] }],
    ["readFiles", { files: [{ path: "a.py" }] }],
  ])("a tool called %s", (name, input) => {
    const messages = [
      user("do it"),
      ...exchange(name, input, [...part, ...linesOf("one", 8)].join("\n")),
      ...read("a.py", [...part, ...rest]),
      ...end,
    ];
    expect(changes(messages)[2]).toContain("… 6 lines as in #4");
  });

  test("a command that writes a file has not read it", () => {
    const messages = [
      user("do it"),
      ...shell("cat > a.py <<EOF", [...part, ...linesOf("one", 8)].join("\n")),
      ...read("a.py", [...part, ...rest]),
      ...end,
    ];
    expect(changes(messages)).toEqual({});
  });

  test("mentions of files in the user's words: the file goes, the words stay", () => {
    const mention = `Look at this:\n<file_content path="a.py">\n${FILE.join("\n")}\n</file_content>\nand mend it.`;
    const messages = [
      user("hello"),
      assistant("yes"),
      user(mention),
      ...read("a.py", FILE),
      ...end,
    ];
    expect(changes(messages)).toEqual({
      2: 'Look at this:\n<file_content path="a.py">\n… 40 lines as in #4\n</file_content>\nand mend it.',
    });
  });

  test("several files in one message", () => {
    const beta = linesOf("beta", 30);
    const both = `<file_content path="a.py">\n${FILE.join("\n")}\n</file_content>\n<file_content path="b.py">\n${beta.join("\n")}\n</file_content>`;
    const messages = [
      user("hi"),
      assistant("yes"),
      user(both),
      ...read("b.py", beta),
      ...read("a.py", FILE),
      ...end,
    ];
    const text = changes(messages)[2];
    expect(text).toContain("… 40 lines as in #6");
    expect(text).toContain("… 30 lines as in #4");
  });

  test("an old call that wrote the file says less once the file was read again", () => {
    const write = exchange("write_file", { path: "a.py", content: FILE.join("\n") }, "ok");
    const others = Array.from({ length: 11 }, (_, at) => shell(`echo ${at}`, `${at}`)).flat();
    const messages = [user("do it"), ...write, ...others, ...read("a.py", FILE), ...end];
    const before = seenFrom(messages);
    const { conversation } = applyProposals(before, proposalsFor(before));
    const part = conversation.messages[1]?.message.parts[0];
    expect(part?.kind === "tool-call" ? JSON.parse(part.input) : {}).toEqual({
      path: "a.py",
      content: "[a.py: 40 lines as in #26]",
    });
  });

  test("a recent call keeps its arguments", () => {
    const write = exchange("write_file", { path: "a.py", content: FILE.join("\n") }, "ok");
    expect(changes([user("do it"), ...write, ...read("a.py", FILE), ...end])).toEqual({});
  });

  test("an older read points to the arguments of a newer call that wrote the same", () => {
    const write = exchange("write_file", { path: "a.py", content: FILE.join("\n") }, "ok");
    expect(changes(twice(read("a.py", FILE), write))[2]).toBe("[a.py: 40 lines as in #3]");
  });

  test("places are named as they are", () => {
    const mention = `<file_content path="a.py">\n${FILE.join("\n")}\n</file_content>`;
    const write = exchange("write_file", { path: "a.py", content: FILE.join("\n") }, "ok");
    const others = Array.from({ length: 11 }, (_, at) => shell(`echo ${at}`, `${at}`)).flat();
    const messages = [
      user("hi"),
      assistant("yes"),
      user(mention),
      ...read("a.py", FILE),
      ...write,
      ...others,
      ...read("a.py", FILE),
      ...end,
    ];
    const places = proposalsFor(seenFrom(messages)).flatMap((one) =>
      one.kind === "replace" ? [one.place] : [],
    );
    expect(places).toEqual(["file-mention", "read-tool", "alter-tool"]);
  });
});

describe("blocks in any result", () => {
  test("eight lines and more that come again go, whatever they are", () => {
    const log = linesOf("worker", 12);
    const messages = twice(
      shell("make one", ["first", ...log, "last"].join("\n")),
      shell("make two", ["other", ...log, "end"].join("\n")),
    );
    expect(changes(messages)).toEqual({ 2: "first\n… 12 lines as in #4\nlast" });
  });

  test("seven do not", () => {
    const log = linesOf("worker", 7);
    const messages = twice(shell("make one", log.join("\n")), shell("make two", log.join("\n")));
    expect(changes(messages)).toEqual({});
  });

  test("nor do eight lines that say next to nothing", () => {
    const signs = Array.from({ length: 9 }, (_, at) => `} // end of ${at}`);
    const messages = twice(
      shell("make one", [...signs, ...linesOf("one", 9)].join("\n")),
      shell("make two", [...signs, ...linesOf("two", 9)].join("\n")),
    );
    const more = linesOf("more", 12);
    const noted = [...shell("a", more.join("\n")), ...shell("b", more.join("\n"))];
    const changed = changes([...messages.slice(0, 5), ...noted, ...end]);
    expect(Object.keys(changed)).toEqual(["6"]);
  });

  test("what the user or the agent said is not a result", () => {
    const said = linesOf("said", 30).join("\n");
    const messages = [user("hi"), assistant(said), user(said), ...shell("x", said), ...end];
    expect(changes(messages)).toEqual({});
  });
});

describe("what stays", () => {
  test("the head, the newest unit, pins and what has priority 1", () => {
    const mention = `<file_content path="a.py">\n${FILE.join("\n")}\n</file_content>`;
    const messages = [
      user(mention),
      ...read("a.py", FILE),
      ...exchange("read_file", { path: "a.py" }, FILE.join("\n"), "To Do List"),
      ...read("a.py", FILE),
      user("now"),
      ...read("a.py", FILE),
    ];
    const changed = changes(messages, { pinned: [1, 2], areas: AREAS });
    expect(Object.keys(changed)).toEqual(["6"]);
  });

  test("instructions in mid-conversation", () => {
    const rules = `<file_content path="a.py">\n${FILE.join("\n")}\n</file_content>`;
    const messages = [user("do it"), system(rules), assistant("ok"), ...read("a.py", FILE), ...end];
    expect(changes(messages)).toEqual({});
  });

  test("arguments with numbers that JavaScript cannot hold", () => {
    const input = `{"path":"a.py","id":12345678901234567890,"content":${JSON.stringify(FILE.join("\n"))}}`;
    const others = Array.from({ length: 11 }, (_, at) => shell(`echo ${at}`, `${at}`)).flat();
    const messages = [
      user("do it"),
      ...exchange("write_file", input, "ok"),
      ...others,
      ...read("a.py", FILE),
      ...end,
    ];
    expect(changes(messages)).toEqual({});
  });

  test("too little to be worth a notice", () => {
    const few = FILE.slice(0, 3);
    expect(changes(twice(read("a.py", few), read("a.py", few)))).toEqual({});
  });
});

const marked = /^(?:… |\[[^\n]*: )(\d+) lines? as in #(\d+)/;

/** Every line is the old one, or a mark for lines that are in the message it names. */
function checkLines(text: string, old: string, after: ReadonlyMap<number, string>): void {
  const was = old.split("\n");
  let at = 0;
  for (const line of text.split("\n")) {
    const [, missing, number] = marked.exec(line) ?? [];
    const gone = was.slice(at, at + Number(missing ?? 1)).join("\n");
    at += Number(missing ?? 1);
    const there = missing === undefined ? line : (after.get(Number(number)) ?? "");
    // In the arguments of a call the text is written as JSON.
    const written = JSON.stringify(gone).slice(1, -1);
    expect(there.includes(gone) || there.includes(written)).toBe(true);
  }
  expect(at).toBe(was.length);
}

function resultText(
  message: Message | undefined,
  { part, inner }: { readonly part: number; readonly inner?: number },
): string {
  const result = message?.parts[part];
  const content = result?.kind === "tool-result" ? result.content[inner ?? -1] : undefined;
  return content?.kind === "text" ? content.text : "";
}

describe("again", () => {
  test("a file that is read once more: marks move to the newest copy", () => {
    const messages = twice(read("a.py", FILE), read("a.py", FILE));
    const first = seenFrom(messages);
    const { conversation } = applyProposals(first, proposalsFor(first));
    const grown = [...messages, ...read("a.py", FILE), user("and now"), ...shell("true", "ok")];
    const whole = seenFrom(grown);
    const again = {
      ...whole,
      messages: whole.messages.map((seen, at) => conversation.messages[at] ?? seen),
      summary: `[Plimsoll: kept under ${HANDLE}.]`,
    };
    const { conversation: after } = applyProposals(again, proposalsFor(again));
    const texts = shown(after);
    expect(texts.get(2)).toBe("[a.py: 40 lines as in #9]");
    expect(texts.get(4)).toBe("[a.py: 40 lines as in #9]");
    expect(texts.get(9)).toBe(FILE.join("\n"));
  });

  test("an earlier summary keeps its words and gets the new handle", () => {
    const before = seenFrom(twice(read("a.py", FILE), read("a.py", FILE)));
    const summary =
      "[Plimsoll: see pl_ABCDEFGHIJKLMNOPQRSTUV.]\n## Rules\n- #3 Never touch the tests.";
    const { texts } = applyProposals({ ...before, summary }, proposalsFor({ ...before, summary }));
    expect(texts.find(({ kind }) => kind === "summary")?.text).toBe(
      `[Plimsoll: see ${HANDLE}.]\n## Rules\n- #3 Never touch the tests.`,
    );
  });

  test("everything that goes stands verbatim further down, in a place that is shown", () => {
    fc.assert(
      fc.property(talks, (talk) => {
        const before = seenFrom(talk.messages, { ...talk, areas: AREAS });
        const proposals = proposalsFor(before);
        const { conversation } = applyProposals(before, proposals, { areas: AREAS });
        for (const proposal of proposals) {
          if (proposal.kind !== "replace" || proposal.inner === undefined) continue;
          const text = proposal.textFor({ handle: HANDLE, messages: 1, tokens: 0 });
          const { message } = before.messages[proposal.message] ?? {};
          checkLines(text, resultText(message, proposal), shown(conversation));
        }
      }),
      tries({ runs: 60, seed: 20261115 }),
    );
  });

  test("a hundred thousand lines take a moment, not a minute", () => {
    const lines = Array.from({ length: 20_000 }, (_, at) => `} // ${at % 50} ${prose("x", 2)}`);
    const messages = [
      user("do it"),
      ...[1, 2, 3, 4, 5].flatMap(() => read("big.c", lines)),
      ...end,
    ];
    expect(Object.keys(changes(messages, {}, large))).toEqual(["2", "4", "6", "8"]);
  }, 20_000);

  test("a history that is far too long is not searched, because copies are not what fills it", () => {
    const lines = Array.from({ length: 20_000 }, (_, at) => `line ${at} ${prose("x", 20)}`);
    const messages = [user("do it"), ...[1, 2].flatMap(() => read("big.c", lines)), ...end];
    expect(changes(messages)).toEqual({});
    expect(Object.keys(changes(messages, {}, large))).toEqual(["2"]);
  }, 20_000);
});
