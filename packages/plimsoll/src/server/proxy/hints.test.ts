/**
 * Names that clients give their conversations: the headers of each client, and that no client finds another's session by a name.
 */

import { afterEach, describe, expect, test } from "vitest";
import { type Engine, openEngine } from "../../engine.ts";
import type { ReceivedTurn } from "../../session/turn/turn.ts";
import { wires } from "../../wire/wires.ts";
import { readHints } from "./hints.ts";

type Headers = Readonly<Record<string, string>>;

describe("what headers say", () => {
  test.each<readonly [string, Headers, object]>([
    ["nothing", {}, {}],
    ["opencode", { "x-session-id": "ses_a" }, { client: "opencode", clientKey: "opencode:ses_a" }],
    [
      "a sub-agent of opencode",
      { "x-session-id": "ses_b", "x-parent-session-id": "ses_a" },
      { client: "opencode", clientKey: "opencode:ses_a", agent: "ses_b" },
    ],
    [
      "Goose",
      { "agent-session-id": "20261115_1" },
      { client: "Goose", clientKey: "goose:20261115_1" },
    ],
    ["Codex before", { session_id: "one" }, { client: "Codex", clientKey: "codex:one" }],
    [
      "Codex",
      { "session-id": "one", "thread-id": "one" },
      { client: "Codex", clientKey: "codex:one" },
    ],
    [
      "a side job in the main thread of Codex",
      { "session-id": "one", "thread-id": "one", "x-openai-subagent": "compact" },
      { client: "Codex", clientKey: "codex:one", agent: "compact" },
    ],
    [
      "a sub-agent of Codex",
      {
        "session-id": "one",
        "thread-id": "two",
        "x-codex-parent-thread-id": "one",
        "x-openai-subagent": "collab_spawn",
      },
      { client: "Codex", clientKey: "codex:one", agent: "collab_spawn:two" },
    ],
    [
      "another thread of Codex",
      { "session-id": "one", "thread-id": "two" },
      { client: "Codex", clientKey: "codex:one", agent: "thread:two" },
    ],
    [
      "a sub-agent that names its parent alone",
      { "thread-id": "two", "x-codex-parent-thread-id": "one" },
      { client: "Codex", clientKey: "codex:one", agent: "thread:two" },
    ],
    [
      "the name of the program",
      { "user-agent": "claude-cli/2.1.325 (external, sdk-cli)" },
      { client: "Claude Code" },
    ],
    [
      "our own names, before all others",
      { "x-plimsoll-session": "mine", "x-plimsoll-agent": "coder", "x-session-id": "ses_a" },
      { clientKey: "plimsoll:mine", agent: "coder" },
    ],
    ["a task", { "x-plimsoll-task": " TK-42 " }, { task: "TK-42" }],
    [
      "the beginning of a long task",
      { "x-plimsoll-task": "x".repeat(999) },
      { task: "x".repeat(200) },
    ],
    ["no task", { "x-plimsoll-task": "" }, {}],
  ])("%s", (_client, headers, hints) => {
    expect(readHints(headers)).toEqual({ isCompacted: false, ...hints });
  });
});

const open: Engine[] = [];
afterEach(async () => {
  for (const engine of open.splice(0)) await engine.close();
});

interface Asking {
  readonly headers: Headers;
  readonly words: readonly string[];
  readonly tenant?: string;
}

/** Sends the messages turn by turn and answers the last one. */
async function ask(
  engine: Engine,
  { headers, words, tenant = "one" }: Asking,
): Promise<ReceivedTurn> {
  const input = words.map((text, index) => ({
    type: "message",
    role: index % 2 === 0 ? "user" : "assistant",
    content: [{ type: index % 2 === 0 ? "input_text" : "output_text", text }],
  }));
  const body = new TextEncoder().encode(JSON.stringify({ model: "gpt-5.1", input }));
  const wire = wires["openai-responses"];
  const hints = readHints(headers);
  const turn = await engine.receive({ tenant, provider: "openai", wire, body, hints });
  const content = [{ type: "output_text", text: `Answer to ${words.at(-1)}` }];
  const answer = [{ type: "message", role: "assistant", content }];
  await turn.end({ status: "complete", answer: { outcome: "message", choices: [answer] } });
  return turn;
}

async function fresh(): Promise<Engine> {
  const engine = await openEngine({ store: "memory" });
  open.push(engine);
  return engine;
}

const root = { "session-id": "one", "thread-id": "one" };
const child = (thread: string): Headers => ({
  "session-id": "one",
  "thread-id": thread,
  "x-codex-parent-thread-id": "one",
  "x-openai-subagent": "collab_spawn",
});

describe("who is who", () => {
  test("sub-agents of Codex that inherit a history are branches of its session, each its own", async () => {
    const engine = await fresh();
    const main = await ask(engine, { headers: root, words: ["go"] });
    const inherited = ["go", "Answer to go"];
    const turns = [
      await ask(engine, { headers: child("two"), words: [...inherited, "your task"] }),
      await ask(engine, { headers: child("three"), words: [...inherited, "your task"] }),
      await ask(engine, { headers: root, words: [...inherited, "and then"] }),
    ];
    expect(turns.map(({ session }) => session)).toEqual([1, 2, 3].map(() => main.session));
    const snapshot = await engine.store.snapshot(main.session);
    expect(snapshot?.branches.map(({ agent }) => agent)).toEqual([
      undefined,
      "collab_spawn:two",
      "collab_spawn:three",
    ]);
    expect(turns.map(({ branch }) => branch).at(-1)).toBe(main.branch);
  });

  test("a sub-agent of opencode is in its parent's session", async () => {
    const engine = await fresh();
    const parent = { "x-session-id": "ses_a" };
    const sub = { "x-session-id": "ses_b", "x-parent-session-id": "ses_a" };
    const main = await ask(engine, { headers: parent, words: ["go"] });
    const task = await ask(engine, { headers: sub, words: ["look at the log"] });
    expect(task.session).toBe(main.session);
    expect(task.branch).not.toBe(main.branch);
  });

  test.each<Headers>([root, { "x-session-id": "ses_a" }, { "agent-session-id": "a" }])(
    "a name finds nothing of another tenant: %j",
    async (headers) => {
      const engine = await fresh();
      const mine = await ask(engine, { headers, words: ["go"] });
      const theirs = await ask(engine, { headers, words: ["go"], tenant: "two" });
      const again = await ask(engine, { headers, words: ["go", "Answer to go", "on"] });
      expect(theirs.session).not.toBe(mine.session);
      expect(again.session).toBe(mine.session);
    },
  );
});
