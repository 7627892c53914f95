/**
 * A population: fifty people under one key, with conversations that begin alike, are answered alike, are rewound, forked,
 * retried and handed to sub-agents, on every wire. Their models call our tools with each other's words, numbers and
 * handles. No byte of one conversation is in a request, an answer or a search of another, and every message that was ever
 * sent is in the log.
 */

import { expect, test } from "vitest";
import { seedOr } from "../../test/harness/effort.ts";
import { type Engine, openEngine } from "../engine.ts";
import type { JsonObject } from "../message/json.ts";
import type { Message } from "../message/message.ts";
import { mcpTools } from "../server/mcp/tools.ts";
import { sha256 } from "../store/body.ts";
import type { WireName } from "../wire/format/wire.ts";
import { wires } from "../wire/wires.ts";
import { encodeMessage } from "./draft/encode.ts";
import { lastScope } from "./lookup/scope.ts";
import type { ReceivedTurn } from "./turn/turn.ts";

const seed = seedOr(1);
const turnsPerWire = 1700;
const people = 50;
const tenant = "one-key";
const settings = {
  contextWindow: 4000,
  maxOutputTokens: 300,
  contextWindowBufferTokens: 100,
  tokenizer: "tiktoken:o200k_base",
};
const config = {
  own_tools: "first-request",
  providers: { anthropic: settings, openai: settings },
} as const;

/** xorshift32: the same population for the same seed. */
function dice(start: number): (sides: number) => number {
  let state = Math.imul(start, 2_654_435_761) | 1;
  return (sides) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % sides;
  };
}

/** What is said in the same words by everybody. */
const openings: readonly (readonly string[])[] = [
  ["hi"],
  ["hi", "What can you do?"],
  ["Good morning", "What can you do?", "Which rules do you follow?"],
  [],
];
const fewShots: readonly Message[] = [
  { role: "user", parts: [{ kind: "text", text: "Classify: I love it" }] },
  { role: "assistant", parts: [{ kind: "text", text: "positive" }] },
];

interface Conversation {
  readonly id: string;
  readonly clientKey?: string;
  readonly agent?: string;
  /** In the words of the wire, as its client sends them. */
  messages: JsonObject[];
  canned: string[];
  turns: number;
  session: string;
  handles: string[];
}

const text = (role: "user" | "assistant", said: string): Message => ({
  role,
  parts: [{ kind: "text", text: said }],
});

/** Names of conversations in a text: each word of theirs has one in it. */
function namesIn(said: string): ReadonlySet<string> {
  return new Set([...said.matchAll(/secret-(\w+?)-/g)].map(([, name = ""]) => name));
}

class World {
  readonly roll = dice(seed);
  readonly conversations: Conversation[] = [];
  readonly sent = new Set<string>();
  readonly wire: (typeof wires)[WireName];
  readonly plimsoll: Engine;

  constructor(wire: WireName, plimsoll: Engine) {
    this.wire = wires[wire];
    this.plimsoll = plimsoll;
  }

  begin(): Conversation {
    const { roll, conversations } = this;
    const person = roll(people);
    const id = `p${person}c${conversations.length}`;
    const isNamed = roll(5) === 0;
    const hasShots = roll(4) === 0;
    const conversation: Conversation = {
      id,
      ...(isNamed ? { clientKey: `client:${person}` } : {}),
      // Under one name several conversations are agents of one client: each by itself, all the same.
      ...(isNamed ? { agent: id } : {}),
      messages: hasShots ? [...this.wire.messages.encode(fewShots)] : [],
      canned: [...(openings[roll(openings.length)] ?? [])],
      turns: 0,
      session: "",
      handles: [],
    };
    conversations.push(conversation);
    return conversation;
  }

  bodyOf(messages: readonly JsonObject[]): Uint8Array {
    const tools = [
      { name: "run", description: "Runs it.", parameters: { type: "object", properties: {} } },
    ];
    return encodeMessage(
      this.wire.body.compose({ model: "claude-sonnet-4-6", messages, tools, maxOutputTokens: 300 }),
    );
  }

  check(conversation: Conversation, said: string): void {
    const strangers = [...namesIn(said)].filter((name) => name !== conversation.id);
    if (strangers.length > 0)
      expect.fail(
        `${conversation.id} was shown words of ${strangers.join(", ")}: ${said.slice(0, 2000)}`,
      );
  }

  async receive(
    conversation: Conversation,
    messages: readonly JsonObject[],
  ): Promise<ReceivedTurn> {
    const { clientKey, agent } = conversation;
    for (const message of messages) this.sent.add(sha256(encodeMessage(message)));
    const body = this.bodyOf(messages);
    const turn = await this.plimsoll.receive({
      tenant,
      provider: this.wire.name === "anthropic" ? "anthropic" : "openai",
      wire: this.wire,
      body,
      hints: {
        isCompacted: false,
        ...(clientKey === undefined ? {} : { clientKey }),
        ...(agent === undefined ? {} : { agent }),
      },
    });
    const bytes = new TextDecoder().decode(turn.body ?? body);
    this.check(conversation, bytes);
    conversation.session = turn.session;
    conversation.handles.push(...(bytes.match(/pl_[0-9A-Za-z]{22}/g) ?? []));
    return turn;
  }

  /** What the client says next, and on top of what. */
  next(conversation: Conversation): readonly JsonObject[] {
    const { roll } = this;
    const { messages, id } = conversation;
    const canned = conversation.canned.shift();
    const words = `secret-${id}-${conversation.turns} is what I say now. ${"The wind is fair. ".repeat(roll(30))}`;
    const said = this.wire.messages.encode([text("user", canned ?? words)]);
    const behaviour = canned === undefined ? roll(12) : 11;
    if (behaviour === 0 && messages.length > 2) {
      // The client goes back to some answer, and says something else.
      const ends = messages.flatMap((message, index) =>
        this.wire.messages.decode(message).role === "assistant" ? [index + 1] : [],
      );
      return [...messages.slice(0, ends[roll(ends.length)] ?? 0), ...said];
    }
    return [...messages, ...said];
  }

  /** The model may look something up before it answers: words, numbers and handles of anybody. */
  async lookUp(conversation: Conversation, turn: ReceivedTurn): Promise<void> {
    const { rounds } = turn;
    if (rounds === undefined) return;
    const other = this.conversations[this.roll(this.conversations.length)] ?? conversation;
    const asked = [
      ["recall", { query: `secret-${other.id} what I say now` }],
      ["read_result", { ref_id: `#${1 + this.roll(60)}` }],
      ["read_result", { ref_id: other.handles[this.roll(other.handles.length || 1)] ?? "#1" }],
      ["recall", { query: "is what I say now" }],
    ] as const;
    const calls = asked.map(
      ([name, input], index) =>
        ({
          kind: "tool-call",
          id: `call_${conversation.id}_${conversation.turns}_${index}`,
          name,
          // Our own words are free of names: whoever asks for another's may say so.
          input: JSON.stringify(input),
        }) as const,
    );
    const choices = [this.wire.messages.encode([{ role: "assistant", parts: calls }])];
    await rounds.answered({ outcome: "message", choices, stopReason: "tool_use" });
    const heard = rounds.elements
      .map((bytes) => new TextDecoder().decode(bytes))
      .map((bytes) => bytes.replaceAll(`secret-${other.id} what I say now`, ""));
    for (const said of heard) this.check(conversation, said);
  }

  /** The same from outside: a search, and MCP, of the conversation's own session. */
  async search(conversation: Conversation): Promise<void> {
    const { plimsoll, roll } = this;
    const { session } = conversation;
    const other = this.conversations[roll(this.conversations.length)] ?? conversation;
    const scope = await lastScope(plimsoll.store, session);
    const found = await plimsoll.own.search(tenant, session, "what I say now", {
      budgetTokens: 2000,
      scope,
    });
    this.check(conversation, JSON.stringify(found));
    const { steering, store, own } = plimsoll;
    const home = { store, own, compact: (id: string) => steering.compact(id, {}) };
    for (const input of [
      { query: "what I say now", session },
      { ref_id: other.handles.at(-1) ?? "#2", query: "say", session },
    ])
      for (const { name, answer } of mcpTools.slice(0, 2)) {
        const given = await answer({ home, tenant, input });
        this.check(conversation, `${name} ${JSON.stringify(given)}`);
      }
  }

  async turn(): Promise<void> {
    const { roll, conversations } = this;
    const isNew = conversations.length < 12 || roll(9) === 0;
    const conversation = isNew
      ? this.begin()
      : (conversations[
          conversations.length - 1 - roll(Math.min(40, conversations.length))
        ] as Conversation);
    conversation.turns++;
    const isCanned = conversation.canned.length > 0;
    const messages = this.next(conversation);
    const turn = await this.receive(conversation, messages);
    // Now and then the answer never comes, and the same request is sent once more.
    if (roll(15) === 0) {
      await turn.end({ status: "failed" });
      conversation.messages = [...messages.slice(0, -1)];
      return;
    }
    if (roll(3) === 0) await this.lookUp(conversation, turn);
    const own =
      roll(2) === 0 ? "Noted." : `Noted: secret-${conversation.id}-${conversation.turns}.`;
    const answer = this.wire.messages.encode([
      text("assistant", isCanned ? "I can help with many things." : own),
    ]);
    await turn.end({ status: "complete", answer: { outcome: "message", choices: [answer] } });
    conversation.messages = [...messages, ...answer];
    if (roll(10) === 0 && !isCanned) await this.search(conversation);
  }
}

test.each(["anthropic", "openai-chat", "openai-responses"] as const)(
  "on %s nobody reads another's words, and everything that was said is kept",
  async (wire) => {
    const plimsoll = await openEngine({ store: "memory", config });
    const world = new World(wire, plimsoll);
    for (let turn = 0; turn < turnsPerWire; turn++) await world.turn();
    const kept = new Set<string>();
    const sessions = await plimsoll.store.sessions({ limit: 10_000 });
    for (const { id } of sessions)
      for (const { hash } of (await plimsoll.store.snapshot(id))?.nodes ?? []) kept.add(hash);
    expect([...world.sent].filter((hash) => !kept.has(hash))).toEqual([]);
    // The population did what it is there for.
    expect(world.conversations.length).toBeGreaterThan(100);
    const edits = await Promise.all(sessions.map(({ id }) => plimsoll.store.edits(id)));
    expect(edits.flat().length).toBeGreaterThan(20);
    await plimsoll.close();
  },
  300_000,
);
