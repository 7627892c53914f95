/** Nobody reads another's words: conversations that begin alike under one key, and what each of them may look up. */

import { expect, test } from "vitest";
import { type Engine, openEngine } from "../engine.ts";
import type { JsonObject } from "../message/json.ts";
import { createMemoryStore } from "../store/memory.ts";
import { wires } from "../wire/wires.ts";
import type { Draft } from "./draft/draft.ts";
import { emptyLog, startBranch } from "./log/log.ts";
import { lastScope } from "./lookup/scope.ts";
import { scopeOf } from "./turn/inner-rounds.ts";
import type { ReceivedTurn } from "./turn/turn.ts";

const user = (content: string): JsonObject => ({ role: "user", content });
const assistant = (content: string): JsonObject => ({ role: "assistant", content });

interface Asked {
  readonly system?: string;
  readonly clientKey?: string;
  readonly agent?: string;
  readonly wire?: "anthropic" | "openai-chat";
}

/** Sends a request; the model answers with `answer`, or the turn fails. */
async function say(
  plimsoll: Engine,
  messages: readonly JsonObject[],
  answer: string | undefined,
  { system, clientKey, agent, wire = "anthropic" }: Asked = {},
): Promise<ReceivedTurn> {
  const lead = system === undefined ? [] : [{ role: "system", content: system }];
  const body = { model: "m", max_tokens: 9, messages: [...lead, ...messages] };
  const turn = await plimsoll.receive({
    tenant: "shared-key",
    provider: wire === "anthropic" ? "anthropic" : "openai",
    wire: wires[wire],
    body: new TextEncoder().encode(JSON.stringify(body)),
    hints: {
      isCompacted: false,
      ...(clientKey === undefined ? {} : { clientKey }),
      ...(agent === undefined ? {} : { agent }),
    },
  });
  await turn.end(
    answer === undefined
      ? { status: "failed" }
      : {
          status: "complete",
          answer: { outcome: "message", choices: [[assistant(answer)]] },
        },
  );
  return turn;
}

/** What the model of a session finds, by words and by number. */
async function lookups(plimsoll: Engine, session: string, query: string): Promise<string> {
  const scope = await lastScope(plimsoll.store, session);
  const asker = { tenant: "shared-key", session, scope, roomTokens: 20_000 };
  const texts = [await plimsoll.own.answer(asker, { kind: "recall", query })];
  for (let number = 1; number <= 12; number++)
    texts.push(await plimsoll.own.answer(asker, { kind: "read_result", refId: `#${number}` }));
  return texts.map(({ text }) => text).join("\n");
}

const fewShots = [
  user("Classify: I love it"),
  assistant("positive"),
  user("Classify: I hate it"),
  assistant("negative"),
];

test("conversations that begin with the same examples are sessions of their own", async () => {
  const plimsoll = await openEngine({ store: "memory" });
  const a = await say(plimsoll, [...fewShots, user("Classify: A salary of 91,000")], "neutral");
  const b = await say(plimsoll, [...fewShots, user("Classify: B salary of 47,000")], "neutral");
  expect(b.session).not.toBe(a.session);
  expect(await lookups(plimsoll, b.session, "salary")).not.toContain("91,000");
  expect(await lookups(plimsoll, a.session, "salary")).toContain("91,000");
  await plimsoll.close();
});

test("nine thousand classifications are as many sessions, and each looks at no more of them than the first", async () => {
  const plimsoll = await openEngine({ store: "memory" });
  const asked: number[] = [];
  const { answers } = plimsoll.store;
  Object.assign(plimsoll.store, {
    answers: async (query: Parameters<typeof answers>[0]) => {
      const found = await answers(query);
      asked.push(found.length);
      return found;
    },
  });
  const sessions = new Set<string>();
  for (let number = 0; number < 900; number++) {
    const turn = await say(plimsoll, [...fewShots, user(`Classify: text ${number}`)], "neutral");
    sessions.add(turn.session);
  }
  expect(sessions.size).toBe(900);
  expect(Math.max(0, ...asked)).toBe(0);
  await plimsoll.close();
});

test("a greeting that everybody is given proves nothing, and each goes on alone", async () => {
  const plimsoll = await openEngine({ store: "memory" });
  const greeted = [user("hi"), assistant("Hello! How can I help?")];
  for (let person = 0; person < 3; person++)
    await say(plimsoll, [user("hi")], "Hello! How can I help?");
  const sessions: string[] = [];
  for (const secret of ["alpha", "beta", "gamma", "delta"]) {
    const said = [...greeted, user(`my secret is ${secret}`)];
    sessions.push((await say(plimsoll, said, `${secret} noted`)).session);
  }
  expect(new Set(sessions).size).toBe(4);
  // One of them goes back to the greeting: nobody can know which.
  const again = await say(plimsoll, [...greeted, user("what is my secret?")], "no idea");
  expect(sessions).not.toContain(again.session);
  const found = await lookups(plimsoll, again.session, "secret");
  for (const secret of ["alpha", "beta", "gamma", "delta"]) expect(found).not.toContain(secret);
  await plimsoll.close();
});

test("whoever goes back in a conversation with answers of its own finds what it left behind", async () => {
  const plimsoll = await openEngine({ store: "memory" });
  const talk: JsonObject[] = [];
  let session = "";
  for (const [question, answer] of [
    ["what is the port?", "It is 4711, as far as I can see."],
    ["and the host?", "The host is called petrel."],
    ["remember the word albatross", "I will remember it."],
  ] as const) {
    talk.push(user(question));
    const turn = await say(plimsoll, talk, answer);
    session ||= turn.session;
    expect(turn.session).toBe(session);
    talk.push(assistant(answer));
  }
  const rewound = await say(plimsoll, [...talk.slice(0, 4), user("something else")], "fine");
  expect([rewound.session, rewound.relation]).toEqual([session, "rewind"]);
  expect(await lookups(plimsoll, session, "which word to remember")).toContain("albatross");
  await plimsoll.close();
});

test("sub-agents under one name do not read the main agent's words, nor each other's", async () => {
  const plimsoll = await openEngine({ store: "memory" });
  const named = { clientKey: "claude-code:1" };
  const main = await say(plimsoll, [user("the main secret is walrus")], "ok", named);
  const one = await say(plimsoll, [user("first task: otter")], "ok", { ...named, agent: "one" });
  const two = await say(plimsoll, [user("second task: beaver")], "ok", { ...named, agent: "two" });
  expect(new Set([main.session, one.session, two.session]).size).toBe(1);
  const found = await lookups(plimsoll, two.session, "secret task");
  expect(found).toContain("beaver");
  for (const word of ["walrus", "otter"]) expect(found).not.toContain(word);
  await plimsoll.close();
});

test("lookups see their own conversation, unless the configuration gives them the whole session", () => {
  const log = emptyLog({ id: "s", tenant: "t", wire: "w", createdAt: 1, updatedAt: 1 });
  const branch = startBranch(log, { id: "br", relation: "fork", forkSeq: null, at: 1 });
  const draft = { log, branch } as Draft;
  expect(scopeOf({}, draft)).toMatchObject({ branch: "br" });
  expect(scopeOf({ agent: { lookup_scope: "session" } }, draft)).toBeUndefined();
});

test("a system prompt that changes with every turn is still the same conversation, stored once", async () => {
  const plimsoll = await openEngine({ store: "memory" });
  const talk: JsonObject[] = [];
  const sessions = new Set<string>();
  for (let turn = 0; turn < 12; turn++) {
    talk.push(user(`question ${turn}`));
    const system = `You are helpful. git status: ${"ab".repeat(turn)} files changed.`;
    sessions.add(
      (await say(plimsoll, talk, `answer ${turn}`, { system, wire: "openai-chat" })).session,
    );
    talk.push(assistant(`answer ${turn}`));
  }
  expect(sessions.size).toBe(1);
  const [summary] = await plimsoll.store.sessions({ limit: 1 });
  expect(summary).toMatchObject({ branches: 1, messages: 1 + 24 });
  const [last] = await plimsoll.store.turns(summary?.id ?? "", 1);
  const head = await plimsoll.store.head(summary?.id ?? "", last?.head ?? "");
  expect(new TextDecoder().decode(head)).toContain(`git status: ${"ab".repeat(11)} files`);
  const view = await plimsoll.steering.view(summary?.id ?? "");
  expect(JSON.stringify(view.messages)).toContain(`git status: ${"ab".repeat(11)} files`);
  await plimsoll.close();
});

test("two people whose system prompts differ do not see each other's", async () => {
  const plimsoll = await openEngine({ store: "memory" });
  const wire = "openai-chat";
  await say(plimsoll, [user("hi")], "Hello!", {
    system: "The customer is Ada, balance 311.",
    wire,
  });
  const other = await say(
    plimsoll,
    [user("hi"), assistant("Hello!"), user("who am I?")],
    "You are Bob.",
    { system: "The customer is Bob, balance 17.", wire },
  );
  expect(await lookups(plimsoll, other.session, "customer balance")).not.toMatch(/Ada|311/);
  await plimsoll.close();
});

test("a first request that comes again proves nothing, whatever became of it", async () => {
  const plimsoll = await openEngine({ store: "memory" });
  const failed = await say(plimsoll, [user("hi")], undefined);
  const again = await say(plimsoll, [user("hi")], "Hello!");
  expect(again.session).not.toBe(failed.session);
  await plimsoll.close();
});

test("nobody is put into a session whose id another client holds", async () => {
  const plimsoll = await openEngine({ store: "memory" });
  const ada = await say(plimsoll, [user("hi")], "Hello!");
  const bob = await say(plimsoll, [user("hi")], "Hello!");
  const greeted = [user("hi"), assistant("Hello!")];
  const goesOn = await say(plimsoll, [...greeted, user("my secret is BISON")], "Noted.");
  expect([ada.session, bob.session]).not.toContain(goesOn.session);
  expect(await lookups(plimsoll, ada.session, "secret")).not.toContain("BISON");
  await plimsoll.close();
});

test("an opening that two people were given leads nobody to the other, also when one of them is put aside or was cut off", async () => {
  const opening = [user("hi"), assistant("Hello!"), user("what can you do?"), assistant("Much.")];
  for (const isCut of [false, true]) {
    const plimsoll = await openEngine({ store: "memory" });
    const walk = async (last: string | undefined): Promise<ReceivedTurn> => {
      await say(plimsoll, opening.slice(0, 1), "Hello!");
      return say(plimsoll, opening.slice(0, 3), last);
    };
    await walk("Much.");
    const talk = [...opening, user("my secret is ALBATROSS")];
    const ada = await say(plimsoll, talk, "Noted.");
    const bob = await walk(isCut ? undefined : "Much.");
    if (!isCut) await plimsoll.store.putAside(bob.session);
    const next = await say(plimsoll, [...opening, user("go on"), assistant("So?"), user("?")], "!");
    expect(next.session).not.toBe(ada.session);
    expect(await lookups(plimsoll, next.session, "secret")).not.toContain("ALBATROSS");
    await plimsoll.close();
  }
});

test("one answer is too little to be shown what else a branch has, such as another choice", async () => {
  const plimsoll = await openEngine({ store: "memory" });
  const turn = await plimsoll.receive({
    tenant: "shared-key",
    provider: "openai",
    wire: wires["openai-chat"],
    body: new TextEncoder().encode(JSON.stringify({ model: "m", n: 2, messages: [user("hi")] })),
    hints: { isCompacted: false },
  });
  const choices = [[assistant("Hello!")], [assistant("The second choice is OTTER")]];
  await turn.end({ status: "complete", answer: { outcome: "message", choices } });
  const wire = "openai-chat";
  const other = await say(plimsoll, [user("hi"), assistant("Hello!"), user("q")], "a", { wire });
  expect(await lookups(plimsoll, other.session, "second choice")).not.toContain("OTTER");
  await plimsoll.close();
});

const thinking = (text: string): JsonObject => ({
  role: "assistant",
  content: [
    { type: "thinking", thinking: "hm", signature: "c2ln" },
    { type: "text", text },
  ],
});

test("a client that drops the reasoning, or trims what was said, is still recognised", async () => {
  for (const isTrimmed of [false, true]) {
    const plimsoll = await openEngine({ store: "memory" });
    const talk: JsonObject[] = [];
    const sessions = new Set<string>();
    for (let number = 0; number < 6; number++) {
      talk.push(user(`question ${number}`));
      const body = { model: "m", max_tokens: 9, messages: talk };
      const turn = await plimsoll.receive({
        tenant: "shared-key",
        provider: "anthropic",
        wire: wires.anthropic,
        body: new TextEncoder().encode(JSON.stringify(body)),
        hints: { isCompacted: false },
      });
      sessions.add(turn.session);
      const said = isTrimmed ? assistant(`answer ${number}\n`) : thinking(`answer ${number}`);
      const answer = { outcome: "message", choices: [[said]] } as const;
      await turn.end({ status: "complete", answer });
      talk.push(assistant(`answer ${number}`));
    }
    expect(sessions.size).toBe(1);
    await plimsoll.close();
  }
});

test("a session is found by its own answers after a restart, however many began with the same greeting", async () => {
  const store = createMemoryStore();
  const open = (): Promise<Engine> => openEngine({ parts: { store }, store: "memory" });
  const first = await open();
  const ada = await say(first, [user("hi")], "Hello!");
  const talk = [user("hi"), assistant("Hello!"), user("the port?")];
  const asked = await say(first, talk, "4711");
  for (let number = 0; number < 40; number++) await say(first, [user("hi")], "Hello!");
  const second = await open();
  const goesOn = await say(second, [...talk, assistant("4711"), user("sure?")], "yes");
  expect(goesOn.session).toBe(asked.session);
  expect([ada.session, asked.session]).toContain(goesOn.session);
});
