/** What the agent did, what came of it, and how a run of messages that left is told in one sentence. */

import { describe, expect, test } from "vitest";
import { assistant, exchange, read, shell, user } from "../../../test/generate/said.ts";
import { seenFrom } from "../../../test/generate/seen.ts";
import type { Message } from "../../message/message.ts";
import { type Act, happeningIn, hasFailed, readActs } from "./acts.ts";

function actsOf(messages: readonly Message[], from = 0): readonly Act[] {
  return readActs(seenFrom(messages).messages, from);
}

function told(messages: readonly Message[]): string {
  return happeningIn(actsOf(messages));
}

/** The result of the exchange is an error. */
function failing([asked, answered]: readonly Message[]): readonly Message[] {
  if (asked === undefined || answered === undefined) return [];
  const parts = answered.parts.map((part) =>
    part.kind === "tool-result" ? { ...part, isError: true } : part,
  );
  return [asked, { ...answered, parts }];
}

describe("what came of a call", () => {
  test.each([
    ["an exit code of 0", shell("npm test", "exit code 0\nError: no, this is a message"), "ok"],
    ["another exit code", shell("npm test", "<returncode>2</returncode>"), "exit 2"],
    ["a report of an error", shell("npm test", "Error: it broke"), "failed"],
    ["a result that is an error", failing(shell("npm test", "so")), "failed"],
    ["an error in a file that a command shows", shell("cat log.txt", "Error: it broke"), "ok"],
    [
      "an error in a file that a tool reads",
      read("log.txt", ["Error: it broke", "exit code 3"]),
      "ok",
    ],
    ["a file that cannot be read", failing(read("log.txt", ["no such file"])), "failed"],
    [
      "a command that the user refused",
      shell("git commit -m fix", "No (tell Claude what to do differently)"),
      "failed",
    ],
    [
      "an edit that the user refused",
      exchange("edit_file", { path: "a.ts" }, "The user doesn't want to proceed with this."),
      "failed",
    ],
    [
      "a hook whose check passed",
      shell("pre-commit run", "Error: trim whitespace....Passed"),
      "ok",
    ],
    ["no result yet", shell("npm test", "x").slice(0, 1), undefined],
  ])("%s", (_, messages, outcome) => {
    const [act] = actsOf(messages);
    expect(act?.outcome).toBe(outcome);
    expect(act && hasFailed(act)).toBe(outcome !== "ok" && outcome !== undefined);
  });

  test("a failure has the report of its error, and a success has none", () => {
    const acts = actsOf([
      ...shell("npm test", "exit code 1\nlooking\nTypeError: x is undefined\nbye"),
      ...shell("npm test", "exit code 0\nTypeError: x was undefined"),
    ]);
    expect(acts.map(({ error }) => error)).toEqual(["TypeError: x is undefined", undefined]);
  });

  test("results belong to their calls, also if ids are used again", () => {
    const again = (output: string): readonly Message[] =>
      shell("npm test", output).map((message) => ({
        ...message,
        parts: message.parts.map((part) => {
          if (part.kind === "tool-call") return { ...part, id: "same" };
          return part.kind === "tool-result" ? { ...part, callId: "same" } : part;
        }),
      }));
    const acts = actsOf([...again("exit code 1"), ...again("exit code 0")]);
    expect(acts.map(({ outcome }) => outcome)).toEqual(["exit 1", "ok"]);
  });
});

test("what the user refused is told as refused, and a change before what only looked", () => {
  const messages = [
    ...shell("git log", "fix"),
    ...shell("git commit -m fix", "No (tell Claude what to do differently)"),
  ];
  expect(told(messages)).toBe("ran `git commit -m fix` (the user refused it), `git log`");
});

describe("the acts of a conversation", () => {
  test("are the calls of the agent in order, with the numbers of their messages", () => {
    const acts = actsOf([user("go"), ...read("a.ts", ["x"]), assistant("so"), ...shell("ls", "a")]);
    expect(acts.map(({ message, number, deed }) => [message, number, deed.verb])).toEqual([
      [1, 1, "read"],
      [4, 4, "ran"],
    ]);
  });

  test("begin at the message that is asked for, and leave out the agent's own notes", () => {
    const messages = [...shell("ls", "a"), ...exchange("TodoWrite", { todos: [] }, "ok")];
    expect(actsOf([...messages, ...shell("pwd", "/")], 2).map(({ number }) => number)).toEqual([4]);
  });

  test("read a shortened message as it is in the log", () => {
    const { messages } = seenFrom(shell("npm test", `${"x\n".repeat(50)}exit code 1`));
    const shortened = messages.map((seen) => ({
      ...seen,
      message: { ...seen.message, parts: [] },
      original: { message: seen.message, tokens: 9 },
    }));
    expect(readActs(shortened, 0).map(({ outcome }) => outcome)).toEqual(["exit 1"]);
  });
});

describe("a run of messages in one sentence", () => {
  test("has each verb once, with its objects in order", () => {
    const messages = [
      ...read("a.ts", ["x"]),
      ...shell("npm test", "exit code 1"),
      ...read("b.ts", ["x"]),
      ...exchange("Edit", { file_path: "a.ts" }, "ok"),
    ];
    expect(told(messages)).toBe("edited a.ts; read a.ts, b.ts; ran `npm test` (failed)");
  });

  test("says the same thing once, and a failure and a success apart", () => {
    const messages = ["exit code 1", "exit code 1", "exit code 0"].flatMap((output) =>
      shell("npm test", output),
    );
    expect(told(messages)).toBe("ran `npm test` (failed), `npm test`");
  });

  test("counts the calls for which it has no room, and stays one sentence", () => {
    const messages = Array.from({ length: 60 }, (_, at) => read(`src/file_${at}.ts`, ["x"])).flat();
    const sentence = told(messages);
    const named = sentence.match(/file_\d+/g)?.length ?? 0;
    expect(named).toBeGreaterThan(5);
    expect(sentence).toMatch(new RegExp(`; ${60 - named} more calls$`));
    expect(sentence.length).toBeLessThan(260);
    expect(sentence).not.toContain("\n");
  });

  test("is empty if there was no call", () => {
    expect(told([user("so"), assistant("it is")])).toBe("");
  });
});

test.each([
  ["Updated fees.ts with 3 additions\n+ throw new Error('no fee')", true],
  ["The file fees.ts has been updated. Here's a snippet:\n 12\tError: raise it", true],
  ["User rejected update to fees.ts\n 1 +  const fee = 1;", false],
  ["Error: File has not been read yet. Read it first before writing to it.", false],
  ["The user doesn't want to proceed with this tool use. The tool use was rejected.", false],
])("an edit that answered %j was made: %j", (text, isMade) => {
  const [act] = actsOf(exchange("Edit", { file_path: "fees.ts" }, text));
  expect(act !== undefined && !hasFailed(act)).toBe(isMade);
});
