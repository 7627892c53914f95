/**
 * Long conversations from a seed, with all that happens to one on its way: compactions, lookups, tools that are held back, a
 * provider that says "too long" with figures and without, answers that are cut off, undo, restore, pins, milestones, a client that
 * goes back to an earlier question and asks something else.
 * The same seed gives the same conversation, so that everything that is sent can be compared byte by byte.
 */

import { between, type Dice, diceOf, pick } from "../../demo/dice.ts";
import type { Engine, EngineOptions } from "../../src/engine.ts";
import type { Overflow } from "../../src/wire/overflow.ts";
import type { JsonObject, Wire } from "../harness/json.ts";
import { handlesIn } from "../harness/kept.ts";
import { prose } from "../harness/words.ts";
import { answered, called, inWordsOf, result } from "./bodies.ts";

export interface Journey {
  readonly wire: Wire;
  readonly seed: number;
  readonly turns: number;
  /** The texts are so long that a window is full after some twenty turns. */
  readonly windowTokens: number;
  /** The provider's tokens for four characters. */
  readonly factor: number;
  /** So many tools of MCP servers beside the agent's own. */
  readonly mcpCount: number;
  /** Whether the client sometimes goes back to an earlier question. Only in the proxy. */
  readonly goesBack?: boolean;
}

/** Sends one turn, and gives everything that went to the provider. */
export type Traveller = (engine: Engine, turn: number) => Promise<readonly string[]>;

/** Before every turn: the product to go on with. */
export type Pause = (engine: Engine, turn: number) => Promise<Engine>;

/** Everything that was sent, in order. Closes the product. */
export async function travel(
  { turns }: Journey,
  traveller: Traveller,
  start: Engine,
  pause: Pause,
): Promise<readonly string[]> {
  const sent: string[] = [];
  let engine = start;
  for (let turn = 0; turn < turns; turn++) {
    engine = await pause(engine, turn);
    sent.push(...(await traveller(engine, turn)));
  }
  await engine.close();
  return withPlainHandles(sent);
}

/** Handles come from ids that no two runs share: each gets the number of its first appearance. */
function withPlainHandles(sent: readonly string[]): readonly string[] {
  const handles = [...new Set(sent.flatMap((text) => handlesIn(text)))];
  const names = new Map(handles.map((handle, index) => [handle, `handle ${index + 1}`]));
  return sent.map((text) =>
    text.replace(/\bpl_[0-9A-Za-z]{22}\b/g, (handle) => names.get(handle) ?? handle),
  );
}

interface Call {
  readonly id: string;
  readonly place: string;
  readonly tokens: number;
}

/** What happens in a turn. All of it is thrown for every turn, so that the dice fall alike whatever becomes of it. */
export interface Whim {
  readonly asked: string;
  readonly calls: readonly Call[];
  readonly words: string;
  readonly lookup: "none" | "read_result" | "recall" | "tool_search";
  readonly overflow: "none" | "bare" | "figures" | "answer";
  readonly isCutOff: boolean;
  readonly isReported: boolean;
  /** So many questions back, another one is asked instead. */
  readonly back: number;
  readonly steering: "none" | "undo" | "checkpoint" | "restore" | "pin" | "milestone" | "compact";
}

export function whims({ seed, windowTokens, goesBack }: Journey): (turn: number) => Whim {
  const random = diceOf(seed);
  const ofBack = diceOf(seed + 1);
  const usual = Math.ceil(windowTokens / 60);
  return (turn) => {
    const calls = Array.from({ length: between(random, 0, 3) }, (_, at) => ({
      id: `toolu_${turn}_${at}`,
      place: `deck${between(random, 1, 9)}/hold_${between(random, 1, 40)}.txt`,
      tokens: between(random, 5, usual * 2) * (random() < 0.06 ? 10 : 1),
    }));
    return {
      calls,
      asked: prose(random, between(random, 5, 80)),
      words: prose(random, between(random, 5, 60)),
      lookup: pick(random, ["none", "none", "read_result", "recall", "tool_search"]),
      overflow: random() < 0.92 ? "none" : pick(random, ["bare", "figures", "answer"]),
      isCutOff: random() < 0.03,
      isReported: random() < 0.85,
      back: goesBack === true && ofBack() < 0.1 ? between(ofBack, 1, 3) : 0,
      steering: random() < 0.8 ? "none" : pick(random, STEERINGS),
    };
  };
}

const STEERINGS = ["undo", "checkpoint", "restore", "pin", "milestone", "compact"] as const;

/** What people do beside the turns. What is not possible just then, such as an undo of nothing, is no part of the journey. */
export async function steer(
  { steering }: Engine,
  session: string,
  { steering: wish }: Whim,
  turn: number,
): Promise<void> {
  const acts = {
    none: () => Promise.resolve(),
    undo: () => steering.undo(session, {}),
    checkpoint: () => steering.checkpoint(session, { label: `turn ${turn}` }),
    restore: async () => {
      const [first] = await steering.checkpoints(session);
      if (first !== undefined) await steering.restore(session, { checkpoint: first.id });
    },
    pin: () => steering.pin(session, { first: Math.max(2, turn) }),
    milestone: () => steering.milestone(session, {}),
    compact: () => steering.compact(session, {}),
  };
  await acts[wish]().catch(() => undefined);
}

export const SYSTEM = prose(diceOf(7), 120);

export function spokenIn(wire: Wire, { calls, words }: Whim): readonly JsonObject[] {
  if (calls.length === 0) return [inWordsOf(wire, answered(words))];
  const each = calls.map(({ id, place }) => called(wire, id, place));
  if (wire === "openai-responses") return each;
  const field = { anthropic: "content", "openai-chat": "tool_calls", gemini: "parts" }[wire];
  return [{ ...each[0], [field]: each.flatMap((one) => one[field] as readonly JsonObject[]) }];
}

export function resultsOf(wire: Wire, { calls }: Whim): readonly JsonObject[] {
  const each = calls.map((call) => result(wire, call.id, outputOf(call)));
  const field = wire === "gemini" ? "parts" : "content";
  if ((wire !== "anthropic" && wire !== "gemini") || each.length === 0) return each;
  return [{ role: "user", [field]: each.flatMap((one) => one[field] as readonly JsonObject[]) }];
}

/** A place looks the same whenever it is looked at. */
function outputOf({ place, tokens }: Call): string {
  const random: Dice = diceOf([...place].reduce((sum, one) => sum + one.charCodeAt(0), 0));
  const lines = [`${place}:`];
  for (let used = 0; used < tokens; used += 12)
    lines.push(`${lines.length}  ${prose(random, 8)} = ${between(random, 0, 9999)}`);
  return lines.join("\n");
}

/** The lookup that the model makes now, where what it was sent gives it a reason. */
export function lookupIn(sent: string, { lookup, asked }: Whim): JsonObject | undefined {
  if (!sent.includes(`"name":"${lookup}"`)) return undefined;
  if (lookup === "recall" || lookup === "tool_search") return { query: asked.slice(0, 40) };
  const handle = handlesIn(sent).at(-1);
  return lookup === "read_result" && handle !== undefined ? { ref_id: handle } : undefined;
}

export function lookupCall(
  wire: Wire,
  turn: number,
  { lookup }: Whim,
  input: JsonObject,
): JsonObject {
  const id = `toolu_own_${turn}`;
  if (wire === "anthropic")
    return { role: "assistant", content: [{ type: "tool_use", id, name: lookup, input }] };
  if (wire === "gemini")
    return { role: "model", parts: [{ functionCall: { name: lookup, args: input } }] };
  const named = { name: lookup, arguments: JSON.stringify(input) };
  if (wire === "openai-responses") return { type: "function_call", call_id: id, ...named };
  return {
    role: "assistant",
    content: null,
    tool_calls: [{ id, type: "function", function: named }],
  };
}

/** What the provider says that it has read. */
export function tokensOf(sent: string, { factor }: Journey): number {
  return Math.ceil((sent.length / 4) * factor);
}

export function overflowOf(
  { overflow }: Whim,
  { windowTokens }: Journey,
  inputTokens: number,
): Overflow {
  const limitTokens = Math.floor(windowTokens * 0.95);
  if (overflow === "bare") return { kind: "input" };
  if (overflow === "figures")
    return { kind: "input", limitTokens, needTokens: Math.max(inputTokens, limitTokens + 50) };
  return {
    kind: "input+output",
    inputTokens,
    maxTokens: OUTPUT_TOKENS,
    needTokens: inputTokens + OUTPUT_TOKENS,
    limitTokens,
  };
}

export const OUTPUT_TOKENS = 400;

/** One turn is twenty seconds, however often anyone asks for the time meanwhile. */
export interface Clock {
  readonly now: () => number;
  readonly tick: () => void;
}

export function createClock(): Clock {
  let at = Date.UTC(2026, 10, 1);
  return {
    now: () => at,
    tick: () => {
      at += 20_000;
    },
  };
}

export function journeyConfig({ windowTokens }: Journey): NonNullable<EngineOptions["config"]> {
  const settings = {
    contextWindow: windowTokens,
    contextWindowBufferTokens: Math.ceil(windowTokens / 20),
    tokenizer: "approximate",
  };
  return { providers: { anthropic: settings, openai: settings } };
}
