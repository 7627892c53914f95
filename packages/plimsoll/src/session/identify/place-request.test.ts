/** Which conversation does a request continue? The recorded pairs of test/wire-fixtures/prefix, and the cases they leave open. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Engine, openEngine } from "../../engine.ts";
import type { JsonObject } from "../../message/json.ts";
import { readHints } from "../../server/proxy/hints.ts";
import type { WireName } from "../../wire/format/wire.ts";
import { wires } from "../../wire/wires.ts";
import type { Turn } from "../turn/turn.ts";

interface Sent {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
}
interface Pair {
  readonly id: string;
  readonly wire: string;
  readonly name: string;
  readonly sameSession: boolean;
  readonly commonMessages: number;
  readonly relation: string;
  readonly first: Sent;
  readonly second: Sent;
}

const pairs = readFileSync(
  join(import.meta.dirname, "../../../test/wire-fixtures/prefix/pairs.ndjson"),
  "utf8",
)
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Pair)
  .filter(({ wire }) => wire in wires);

async function send(
  plimsoll: Engine,
  wire: WireName,
  { headers, body }: Sent,
): Promise<Turn & { newMessages: number }> {
  let newMessages = -1;
  const unsubscribe = plimsoll.on("turn-start", (event) => {
    newMessages = event.newMessages;
  });
  const turn = await plimsoll.receive({
    tenant: "t",
    provider: wire === "anthropic" ? "anthropic" : "openai",
    wire: wires[wire],
    body: new TextEncoder().encode(JSON.stringify(body)),
    hints: readHints(headers),
  });
  unsubscribe();
  return Object.assign(turn, { newMessages });
}

const answerOf = (message: JsonObject) => ({ outcome: "message", choices: [[message]] }) as const;

/** px-26: the date in a system prompt is not part of the conversation, which goes on below it. */
const otherwise: ReadonlyMap<string, { relation: string; common: number }> = new Map([
  ["px-26", { relation: "extends", common: 2 }],
]);
const relationOf = ({ id, relation }: Pair): string => otherwise.get(id)?.relation ?? relation;
const commonOf = ({ id, commonMessages }: Pair): number =>
  otherwise.get(id)?.common ?? commonMessages;

test("every wire has pairs", () => {
  expect(pairs.filter(({ wire }) => wire === "anthropic")).toHaveLength(21);
  expect(pairs.filter(({ wire }) => wire === "openai-chat")).toHaveLength(5);
  expect(pairs.filter(({ wire }) => wire === "openai-responses")).toHaveLength(6);
});

test.each(pairs)("$id $name is $relation", async (pair) => {
  const plimsoll = await openEngine({ store: "memory" });
  const wire = pair.wire as WireName;
  const first = await send(plimsoll, wire, pair.first);
  const sent = pair.second.body[wires[wire].fields.messages];
  const before = pair.first.body[wires[wire].fields.messages];
  // The second request proves that it continues the first one by containing its answer.
  const answer = Array.isArray(sent) && Array.isArray(before) ? sent[before.length] : undefined;
  const isNamed = Object.keys(pair.first.headers).length > 0;
  await first.end(
    isNamed || answer === undefined
      ? { status: "failed" }
      : { status: "complete", answer: answerOf(answer as JsonObject) },
  );
  const second = await send(plimsoll, wire, pair.second);
  const total = Array.isArray(sent) ? sent.length : 1;
  const relation = relationOf(pair);
  if (relation === "unrelated") {
    expect(second.session).not.toBe(first.session);
    expect(second.relation).toBe("new");
  } else {
    expect(second.session).toBe(first.session);
    expect(second.relation).toBe(relation);
    // The answer to the first request is known, too.
    const answered = isNamed || relation !== "extends" || answer === undefined ? 0 : 1;
    expect(second.newMessages).toBe(total - commonOf(pair) - answered);
    const isNewBranch = relation === "fork" || relation === "rewind";
    expect(second.branch === first.branch).toBe(!isNewBranch);
  }
  await second.end({ status: "failed" });
  await plimsoll.close();
});

const user = (content: string): JsonObject => ({ role: "user", content });
const assistant = (content: string): JsonObject => ({ role: "assistant", content });
const body = (...messages: JsonObject[]): Sent => ({
  headers: {},
  body: { model: "claude-x", max_tokens: 10, messages },
});
const named = (session: string, agent: string | undefined, ...messages: JsonObject[]): Sent => ({
  headers: {
    "x-claude-code-session-id": session,
    ...(agent === undefined ? {} : { "x-claude-code-agent-id": agent }),
  },
  body: { model: "claude-x", max_tokens: 10, messages },
});

test("the same first question, asked again after an answer, is another conversation", async () => {
  const plimsoll = await openEngine({ store: "memory" });
  const first = await send(plimsoll, "anthropic", body(user("hi")));
  await first.end({ status: "complete", answer: answerOf(assistant("Hello!")) });
  const second = await send(plimsoll, "anthropic", body(user("hi")));
  await second.end({ status: "complete", answer: answerOf(assistant("Good day!")) });
  expect(second.session).not.toBe(first.session);
  const goesOn = await send(
    plimsoll,
    "anthropic",
    body(user("hi"), assistant("Hello!"), user("go on")),
  );
  expect(goesOn.session).toBe(first.session);
  expect(goesOn.newMessages).toBe(1);
});

test("an answer that the client changed goes on in the same branch", async () => {
  const plimsoll = await openEngine({ store: "memory" });
  const first = await send(plimsoll, "anthropic", named("s", undefined, user("a")));
  await first.end({ status: "complete", answer: answerOf(assistant("b, at length")) });
  const second = await send(
    plimsoll,
    "anthropic",
    named("s", undefined, user("a"), assistant("b"), user("c")),
  );
  expect([second.relation, second.branch]).toEqual(["edited", first.branch]);
});

test("agents under one name never share a branch, even when they say the same", async () => {
  const plimsoll = await openEngine({ store: "memory" });
  const turns: Turn[] = [];
  for (const agent of [undefined, "a1", "a2", "a1"]) {
    const turn = await send(plimsoll, "anthropic", named("s", agent, user("same task")));
    await turn.end({ status: "complete", answer: answerOf(assistant(`by ${agent}`)) });
    turns.push(turn);
  }
  expect(new Set(turns.map(({ session }) => session)).size).toBe(1);
  expect(new Set(turns.map(({ branch }) => branch)).size).toBe(3);
  expect(turns[3]?.branch).toBe(turns[1]?.branch);
});

test("two requests at once on top of the same message become siblings", async () => {
  const plimsoll = await openEngine({ store: "memory" });
  const first = await send(plimsoll, "anthropic", named("s", undefined, user("a")));
  await first.end({ status: "complete", answer: answerOf(assistant("b")) });
  const left = await send(
    plimsoll,
    "anthropic",
    named("s", undefined, user("a"), assistant("b"), user("left")),
  );
  const right = await send(
    plimsoll,
    "anthropic",
    named("s", undefined, user("a"), assistant("b"), user("right")),
  );
  expect(right.branch).not.toBe(left.branch);
  expect([left.newMessages, right.newMessages]).toEqual([1, 1]);
  await left.end({ status: "complete", answer: answerOf(assistant("L")) });
  await right.end({ status: "complete", answer: answerOf(assistant("R")) });
  const goesOn = await send(
    plimsoll,
    "anthropic",
    named("s", undefined, user("a"), assistant("b"), user("right"), assistant("R"), user("more")),
  );
  expect(goesOn.branch).toBe(right.branch);
});

test("a second request on top of one that still runs does not pass for its continuation", async () => {
  const plimsoll = await openEngine({ store: "memory" });
  const running = await send(plimsoll, "anthropic", named("s", undefined, user("a")));
  const hasty = await send(
    plimsoll,
    "anthropic",
    named("s", undefined, user("a"), user("and also")),
  );
  expect([hasty.relation, hasty.branch === running.branch]).toEqual(["fork", false]);
  const answered = await send(
    plimsoll,
    "anthropic",
    named("s", undefined, user("a"), assistant("b"), user("c")),
  );
  expect([answered.relation, answered.branch]).toEqual(["extends", running.branch]);
});

test("a complete answer that says no more than the half before it is complete", async () => {
  const plimsoll = await openEngine({ store: "memory" });
  const first = await send(plimsoll, "anthropic", named("s", undefined, user("a")));
  await first.end({
    status: "incomplete",
    answer: { outcome: "cut", choices: [[assistant("b")]] },
  });
  const again = await send(plimsoll, "anthropic", named("s", undefined, user("a")));
  await again.end({ status: "complete", answer: answerOf(assistant("b")) });
  const records = await plimsoll.store.messages(first.session, { limit: 9 });
  expect(records.map(({ source, isComplete }) => [source, isComplete])).toEqual([
    ["request", true],
    ["answer", false],
    ["answer", true],
  ]);
});

test("an answer that cannot be recorded does not take its request with it", async () => {
  const plimsoll = await openEngine({ store: "memory" });
  const turn = await send(plimsoll, "anthropic", named("s", undefined, user("keep me")));
  const loop: Record<string, unknown> = {};
  loop["self"] = loop;
  const answer = { outcome: "message", choices: [[loop as JsonObject]] } as const;
  expect(await turn.end({ status: "complete", answer })).toBe("stored");
  expect(await plimsoll.store.messages(turn.session, { limit: 9 })).toHaveLength(1);
  expect(await plimsoll.store.turns(turn.session, 1)).toMatchObject([
    { status: "incomplete", error: expect.stringContaining("could not be recorded") },
  ]);
});

const call = (input: string): Uint8Array => Buffer.from(bodyAround(callMessage(input)));
const callMessage = (input: string): string =>
  `{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":${input}}]}`;
const bodyAround = (message: string): string =>
  `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"go"},${message}]}`;
const invalid = (byte: number): Uint8Array =>
  Buffer.from(bodyAround('{"role":"user","content":"~"}')).map((one) =>
    one === 0x7e ? byte : one,
  );

test.each([
  ["ids beyond 2^53", call('{"id":12345678901234567890}'), call('{"id":12345678901234567891}')],
  ["an argument that is null and one that is absent", call('{"b":null}'), call("{}")],
  ["decimals of 17 digits", call('{"x":0.12345678901234561}'), call('{"x":0.12345678901234562}')],
  ["numbers that are too large", call('{"x":1e400}'), call('{"x":1e500}')],
  ["keys that come twice", call('{"a":1,"a":3}'), call('{"a":2,"a":3}')],
  ["bytes that are no UTF-8", invalid(0xfe), invalid(0xff)],
])("%s are two messages, and the bytes of both are kept", async (_name, one, other) => {
  const plimsoll = await openEngine({ store: "memory" });
  for (const bytes of [one, other, one]) {
    const hints = readHints({ "x-claude-code-session-id": "s" });
    const turn = await plimsoll.receive({
      tenant: "t",
      provider: "anthropic",
      wire: wires.anthropic,
      body: bytes,
      hints,
    });
    await turn.end({ status: "failed" });
  }
  const [session] = await plimsoll.store.sessions({ limit: 1 });
  const kept = await plimsoll.store.messages(session?.id ?? "", { limit: 9 });
  expect(kept).toHaveLength(3);
  for (const bytes of [one, other])
    expect(kept.some(({ body }) => Buffer.from(bytes).includes(Buffer.from(body)))).toBe(true);
});

test("an answer that was cut off may be left out of the next request", async () => {
  const plimsoll = await openEngine({ store: "memory" });
  const first = await send(plimsoll, "anthropic", named("s", undefined, user("a")));
  await first.end({
    status: "incomplete",
    answer: { outcome: "cut", choices: [[assistant("half an ans")]] },
  });
  const second = await send(plimsoll, "anthropic", named("s", undefined, user("a"), user("and?")));
  expect([second.relation, second.branch]).toEqual(["extends", first.branch]);
});

test("a session name of another tenant opens nothing", async () => {
  const plimsoll = await openEngine({ store: "memory" });
  const first = await send(
    plimsoll,
    "anthropic",
    body(user("secret plan"), assistant("ok"), user("go")),
  );
  await first.end({ status: "complete", answer: answerOf(assistant("gone")) });
  const stranger = await plimsoll.receive({
    tenant: "other",
    provider: "anthropic",
    wire: wires.anthropic,
    body: new TextEncoder().encode(
      JSON.stringify(body(user("secret plan"), assistant("ok"), user("go")).body),
    ),
    hints: readHints({ "x-plimsoll-session": first.session }),
  });
  expect(stranger.session).not.toBe(first.session);
  expect(stranger.relation).toBe("new");
});
