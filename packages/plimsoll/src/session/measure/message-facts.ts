/**
 * The facts about each message of a request: its hashes, its role, its tokens. They are learned once per content and remembered,
 * so that a known prefix is neither parsed nor counted again.
 */

import { isUtf8 } from "node:buffer";
import { hash } from "node:crypto";
import { setImmediate as nextTick } from "node:timers/promises";
import { BoundedMap } from "../../bounds/bounded-map.ts";
import type { MediaRule } from "../../budget/catalogue.ts";
import { addCounts, type Countables, countables, schemaTokens } from "../../budget/measure.ts";
import type { Count } from "../../budget/tokenizer.ts";
import { PlimsollError } from "../../message/error.ts";
import type { JsonObject, JsonValue } from "../../message/json.ts";
import { countMedia, type Message, type Part } from "../../message/message.ts";
import { isRounded, repeatsKey } from "../../message/odd-json.ts";
import { shortHash } from "../../store/chain.ts";
import { isCompaction } from "../../wire/format/known-parts.ts";
import { parseJson } from "../../wire/format/slices.ts";
import type { Wire } from "../../wire/format/wire.ts";
import { messagesPerStep } from "../log/append.ts";
import { longTextHash } from "../log/ids.ts";
import type { LogMessage, Marks } from "../log/log.ts";
import { essenceOf, marksOf } from "./essence.ts";
import type { SessionTokenCounter } from "./token-counter.ts";

/** How a target counts tokens. Two rulers with the same `key` always give the same count. */
export interface Ruler {
  readonly key: string;
  readonly tokenizer: string;
  readonly media: MediaRule;
  /** Number of tokens of the text that the provider adds before a tool list. */
  readonly toolPromptTokens?: number | undefined;
  /** Number of tokens that the provider counts for each token of a schema's JSON text. */
  readonly schemaFactor?: number | undefined;
  /** The texts to count for a message, if they differ from the texts that are counted by default. */
  readonly textsOf?: (message: Message) => readonly string[];
}

export interface FactsReader {
  learn(wire: Wire, messages: readonly Uint8Array[], ruler: Ruler): Promise<readonly LogMessage[]>;
  /** Counts messages that are not in any log yet. */
  weigh(messages: readonly Message[], ruler: Ruler): Promise<readonly number[]>;
  /** Counts a system prompt that is not one of the messages. The prompt is given as JSON text. */
  countSystem(wire: Wire, json: string, ruler: Ruler): Promise<Count & { isGuess: boolean }>;
  /** Counts tool schemas, given as JSON text. */
  countTools(json: string, ruler: Ruler): Promise<Count & { isGuess: boolean }>;
  /** About how many bytes of memory the remembered facts take. */
  readonly bytes: number;
}

interface Facts {
  readonly role: LogMessage["role"];
  readonly identity: string;
  readonly oldIdentity?: string;
  readonly essence?: string | null;
  readonly looseIdentity?: string;
  readonly counts: Map<string, Count>;
  /**
   * Keys of the rulers for which counting failed and the count is a guess. With these rulers, the message is counted again next
   * time.
   */
  readonly guessed: Set<string>;
  /** Properties that only some messages have. */
  readonly traits: Pick<LogMessage, "media" | "names" | "isCompaction" | "isTools" | "marks">;
}

/** About how many bytes of memory the facts of one message take, and how many all facts together may take. */
const factBytes = 1000;
const maxFactsBytes = 192 * 1024 * 1024;
/** Size in bytes above which a message is large. Between the steps of reading a large message, other work may run. */
const largeBytes = 256 * 1024;
/** After reading this many bytes of small messages, other work may run. */
const bytesPerTick = 256 * 1024;

export function createFactsReader(counter: Pick<SessionTokenCounter, "count">): FactsReader {
  const known = new BoundedMap<string, Facts>({ entries: Math.floor(maxFactsBytes / factBytes) });

  /** Reads a message that is new or was not counted with this ruler yet. Returns its texts, which are counted later. */
  const readOne = async (wire: Wire, unread: Unread, ruler: Ruler): Promise<Countables> => {
    const isLarge = unread.bytes.length > largeBytes;
    if (isLarge) await nextTick();
    const { json, isOdd, hasNull } = parseMessage(wire, unread.bytes);
    if (isLarge) await nextTick();
    const message = wire.messages.decode(json);
    unread.facts ??= readFacts(wire, json, {
      message,
      hasNull,
      ...(isOdd ? { contentHash: unread.contentHash } : {}),
    });
    known.set(unread.key, unread.facts);
    if (isLarge) await nextTick();
    return countablesOf(message, ruler);
  };

  const countAll = async (wire: Wire, unread: readonly Unread[], ruler: Ruler): Promise<void> => {
    const read: Countables[] = [];
    let bytes = 0;
    for (const one of unread) {
      read.push(await readOne(wire, one, ruler));
      bytes += one.bytes.length;
      if (bytes < bytesPerTick) continue;
      bytes = 0;
      await nextTick();
    }
    const texts = read.flatMap((one) => one.texts);
    const { counts, isGuess } = await countOrGuess(counter, ruler.tokenizer, texts);
    let next = 0;
    for (const [index, { texts, media, overheadTokens }] of read.entries()) {
      const own = counts.slice(next, next + texts.length);
      next += texts.length;
      const overhead: Count = { tokens: overheadTokens, certainty: "exact" };
      const known = unread[index]?.facts;
      known?.counts.set(ruler.key, addCounts([...own, media, overhead]));
      if (isGuess) known?.guessed.add(ruler.key);
      else known?.guessed.delete(ruler.key);
    }
  };

  const learn: FactsReader["learn"] = async (wire, messages, ruler) => {
    const entries = messages.map((bytes): Unread => {
      const contentHash = hash("sha256", bytes, "hex");
      const key = `${wire.name}\0${contentHash}`;
      return { bytes, contentHash, key, facts: known.get(key) };
    });
    const isCounted = ({ facts }: Unread): boolean =>
      facts?.counts.has(ruler.key) === true && !facts.guessed.has(ruler.key);
    const unread = entries.filter((entry) => !isCounted(entry));
    if (unread.length > 0) await countAll(wire, unread, ruler);
    return entries.map((entry) => toLogMessage(entry, ruler));
  };

  return {
    get bytes() {
      return known.size * factBytes;
    },
    learn: inSteps(learn),
    weigh: async (messages, ruler) => {
      const read = messages.map((message) => countablesOf(message, ruler));
      const texts = read.flatMap((one) => one.texts);
      const { counts } = await countOrGuess(counter, ruler.tokenizer, texts);
      let next = 0;
      return read.map(({ texts: own, media, overheadTokens }) => {
        const { tokens } = addCounts([...counts.slice(next, next + own.length), media]);
        next += own.length;
        return tokens + overheadTokens;
      });
    },
    countSystem: async (wire, json, ruler) => {
      const parts = wire.body.decodeSystem(JSON.parse(json) as JsonValue);
      const { texts, media } = countables({ role: "system", parts }, ruler.media);
      const { counts, isGuess } = await countOrGuess(counter, ruler.tokenizer, texts);
      return { ...addCounts([...counts, media]), isGuess };
    },
    countTools: async (json, ruler) => {
      const { counts, isGuess } = await countOrGuess(counter, ruler.tokenizer, [json]);
      return { ...schemaTokens(addCounts(counts), ruler.schemaFactor ?? 1), isGuess };
    },
  };
}

/** Learns a part of the messages at a time, so that other work may run in between. */
function inSteps(learn: FactsReader["learn"]): FactsReader["learn"] {
  return async (wire, messages, ruler) => {
    const learned: LogMessage[] = [];
    for (let at = 0; at < messages.length; at += messagesPerStep) {
      if (at > 0) await nextTick();
      learned.push(...(await learn(wire, messages.slice(at, at + messagesPerStep), ruler)));
    }
    return learned;
  };
}

function countablesOf(message: Message, { media, textsOf }: Ruler): Countables {
  const usual = countables(message, media);
  return textsOf === undefined ? usual : { ...usual, texts: textsOf(message) };
}

/** Most texts have about four characters per token. This is lower, because a guess should be too large rather than too small. */
const charactersPerToken = 3.5;

/**
 * Contract: rejects only if the tokenizer does not exist. If counting fails, it guesses, because Plimsoll cannot process a
 * request without counts.
 */
async function countOrGuess(
  counter: Pick<SessionTokenCounter, "count">,
  tokenizer: string,
  texts: readonly string[],
): Promise<{ readonly counts: readonly Count[]; readonly isGuess: boolean }> {
  try {
    return { counts: await counter.count(tokenizer, texts), isGuess: false };
  } catch (error) {
    // A PlimsollError means that the configuration names a tokenizer that does not exist, so it is reported.
    if (PlimsollError.is(error)) throw error;
    const counts = texts.map(
      ({ length }): Count => ({
        tokens: Math.ceil(length / charactersPerToken),
        certainty: "estimate",
      }),
    );
    return { counts, isGuess: true };
  }
}

interface Unread {
  readonly bytes: Uint8Array;
  readonly contentHash: string;
  readonly key: string;
  facts: Facts | undefined;
}

interface Parsed {
  readonly json: JsonObject;
  /** Whether parsing the JSON loses information. If so, Plimsoll can tell the message from others only by its bytes. */
  readonly isOdd: boolean;
  readonly hasNull: boolean;
}

function parseMessage(wire: Wire, bytes: Uint8Array): Parsed {
  const whole = { start: 0, end: bytes.length };
  const value = parseJson(bytes, whole);
  const json = wire.messages.asMessage(value);
  if (json === undefined) {
    throw new PlimsollError("BODY_INVALID", "Each message must be an object.", { status: 400 });
  }
  const text = decoder.decode(bytes);
  const numbers = oddNumber.test(text) ? keepLongNumbers(wire, text) : undefined;
  // If JSON.stringify gives the same text again, the text contains no repeated keys.
  const isUsual = JSON.stringify(value) === text;
  const isOdd = !isUtf8(bytes) || numbers?.hasRounded === true || (!isUsual && repeatsKey(text));
  return { json: numbers?.json ?? json, isOdd, hasNull: text.includes("null") };
}

const decoder = new TextDecoder();
const longNumber = /[0-9]{16}/;
/** Matches digits that may belong to a number too long for a double. A text without such digits is not parsed a second time. */
const oddNumber = /[0-9.]{16}|[0-9][eE][+-]?[0-9]/;

/** Keeps long numbers as text. JSON.parse would read different ids above 2^53 as the same number. */
function keepLongNumbers(
  wire: Wire,
  text: string,
): { readonly json: JsonObject | undefined; readonly hasRounded: boolean } {
  let hasRounded = false;
  const keep = (_key: string, value: unknown, context?: { readonly source?: string }): unknown => {
    const source = context?.source;
    if (typeof value !== "number" || source === undefined) return value;
    if (longNumber.test(source)) return `number ${source}`;
    hasRounded ||= isRounded(source);
    return value;
  };
  const json = wire.messages.asMessage(JSON.parse(text, keep) as JsonValue);
  return { json, hasRounded };
}

/** The marks of an answer, read from its body. Undefined if the body is not an answer. */
export function marksInBody(wire: Wire, bytes: Uint8Array): Marks | undefined {
  try {
    return marksOf(wire.messages.decode(parseMessage(wire, bytes).json));
  } catch {
    return undefined;
  }
}

interface ParsedFacts {
  readonly message: Message;
  readonly contentHash?: string;
  readonly hasNull: boolean;
}

function readFacts(
  wire: Wire,
  json: JsonObject,
  { message, contentHash, hasNull }: ParsedFacts,
): Facts {
  const { role, parts } = message;
  const canonical = wire.messages.identity(json, { long: longTextHash });
  const old = hasNull
    ? wire.messages.identity(json, { long: longTextHash, isOld: true })
    : canonical;
  const exact = contentHash === undefined ? canonical : `${canonical}\0${contentHash}`;
  const identity = shortHash(exact);
  const marks = marksOf({ role, parts });
  const facts = {
    role,
    identity,
    ...(old === exact ? {} : { oldIdentity: shortHash(old) }),
    ...(role === "system" ? {} : { essence: essenceOf(role, parts) }),
    counts: new Map<string, Count>(),
    guessed: new Set<string>(),
    traits: { ...traitsOf(wire, json, parts), ...(marks === undefined ? {} : { marks }) },
  };
  if (role !== "system") return facts;
  const whole = wire.messages.identity(json);
  const masked = whole.replaceAll(/\d+/g, "0");
  return { ...facts, looseIdentity: masked === whole ? identity : shortHash(masked) };
}

function traitsOf(wire: Wire, json: JsonObject, parts: readonly Part[]): Facts["traits"] {
  const media = countMedia(parts);
  const names = wire.messages.referenceTo(json);
  const isCompacted = parts.some(isCompaction);
  const isTools = parts.some((part) => part.kind === "opaque" && part.isTools === true);
  return {
    ...(isTools ? { isTools } : {}),
    ...(media === 0 ? {} : { media }),
    ...(names === undefined ? {} : { names }),
    ...(isCompacted ? { isCompaction: true } : {}),
  };
}

function toLogMessage({ facts, contentHash, bytes }: Unread, ruler: Ruler): LogMessage {
  if (facts === undefined) throw new TypeError("A message was not read before it was used.");
  const { tokens, certainty } = facts.counts.get(ruler.key) ?? { tokens: 0, certainty: "estimate" };
  return {
    role: facts.role,
    identity: facts.identity,
    ...(facts.oldIdentity === undefined ? {} : { oldIdentity: facts.oldIdentity }),
    ...(facts.essence === undefined ? {} : { essence: facts.essence }),
    ...(facts.looseIdentity === undefined ? {} : { looseIdentity: facts.looseIdentity }),
    hash: contentHash,
    bytes: bytes.length,
    tokens,
    certainty,
    ...facts.traits,
    ...(facts.guessed.has(ruler.key) ? { isGuess: true } : {}),
  };
}
