/**
 * What must be known of each message of a request: its hashes, its role, its tokens. Learned once per
 * content and remembered, so that a known prefix is neither parsed nor counted again.
 */

import { hash } from "node:crypto";
import { setImmediate as nextTick } from "node:timers/promises";
import type { MediaRule } from "../budget/catalogue.ts";
import { addCounts, countables, schemaTokens } from "../budget/measure.ts";
import type { Count } from "../budget/tokenizer.ts";
import { PlimsollError } from "../message/error.ts";
import { isObject, type JsonObject, type JsonValue } from "../message/json.ts";
import { parseJson } from "../wire/slices.ts";
import type { Wire } from "../wire/wire.ts";
import { longTextHash, shortHash } from "./ids.ts";
import type { LogMessage } from "./log.ts";
import type { SessionTokenCounter } from "./token-counter.ts";

/** How a target counts. `key` is equal for two rulers that always give the same count. */
export interface Ruler {
  readonly key: string;
  readonly tokenizer: string;
  readonly media: MediaRule;
}

export interface FactsReader {
  learn(wire: Wire, messages: readonly Uint8Array[], ruler: Ruler): Promise<readonly LogMessage[]>;
  /** The system prompt outside of the messages, as JSON text. */
  countSystem(wire: Wire, json: string, ruler: Ruler): Promise<Count>;
  /** Tool schemas, as JSON text. */
  countTools(json: string, ruler: Ruler): Promise<Count>;
}

interface Facts {
  readonly role: LogMessage["role"];
  readonly identity: string;
  readonly looseIdentity?: string;
  readonly counts: Map<string, Count>;
}

const maxFacts = 200_000;
/** Between the steps of reading a message this large, others get their turn. */
const largeBytes = 256 * 1024;

export function createFactsReader(counter: Pick<SessionTokenCounter, "count">): FactsReader {
  const known = new Map<string, Facts>();

  const remember = (key: string, facts: Facts): void => {
    if (known.size >= maxFacts) known.delete(known.keys().next().value as string);
    known.set(key, facts);
  };

  const learnOne = async (
    wire: Wire,
    bytes: Uint8Array,
    contentHash: string,
    ruler: Ruler,
  ): Promise<LogMessage> => {
    const isLarge = bytes.length > largeBytes;
    if (isLarge) await nextTick();
    const json = parseMessage(bytes);
    if (isLarge) await nextTick();
    const key = `${wire.name}\0${contentHash}`;
    const facts = known.get(key) ?? readFacts(wire, json);
    remember(key, facts);
    if (isLarge) await nextTick();
    const { texts, media, overheadTokens } = countables(wire.decode(json), ruler.media);
    const counts = await counter.count(ruler.tokenizer, texts);
    const overhead: Count = { tokens: overheadTokens, certainty: "exact" };
    facts.counts.set(ruler.key, addCounts([...counts, media, overhead]));
    return toLogMessage(facts, { contentHash, bytes: bytes.length, ruler });
  };

  return {
    learn: (wire, messages, ruler) =>
      Promise.all(
        messages.map((bytes) => {
          const contentHash = hash("sha256", bytes, "hex");
          const facts = known.get(`${wire.name}\0${contentHash}`);
          return facts?.counts.has(ruler.key)
            ? toLogMessage(facts, { contentHash, bytes: bytes.length, ruler })
            : learnOne(wire, bytes, contentHash, ruler);
        }),
      ),
    countSystem: async (wire, json, ruler) => {
      const parts = wire.decodeSystem(JSON.parse(json) as JsonValue);
      const { texts, media } = countables({ role: "system", parts }, ruler.media);
      return addCounts([...(await counter.count(ruler.tokenizer, texts)), media]);
    },
    countTools: async (json, ruler) =>
      schemaTokens(addCounts(await counter.count(ruler.tokenizer, [json]))),
  };
}

function parseMessage(bytes: Uint8Array): JsonObject {
  const json = parseJson(bytes, { start: 0, end: bytes.length });
  if (!isObject(json)) {
    throw new PlimsollError("BODY_INVALID", "Each message must be an object.", { status: 400 });
  }
  return json;
}

function readFacts(wire: Wire, json: JsonObject): Facts {
  const { role } = wire.decode(json);
  const identity = shortHash(wire.identity(json, longTextHash));
  if (role !== "system") return { role, identity, counts: new Map() };
  const canonical = wire.identity(json);
  const masked = canonical.replaceAll(/\d+/g, "0");
  const looseIdentity = masked === canonical ? identity : shortHash(masked);
  return { role, identity, looseIdentity, counts: new Map() };
}

function toLogMessage(
  facts: Facts,
  {
    contentHash,
    bytes,
    ruler,
  }: { readonly contentHash: string; readonly bytes: number; readonly ruler: Ruler },
): LogMessage {
  const count = facts.counts.get(ruler.key) ?? { tokens: 0, certainty: "estimate" };
  return {
    role: facts.role,
    identity: facts.identity,
    ...(facts.looseIdentity === undefined ? {} : { looseIdentity: facts.looseIdentity }),
    hash: contentHash,
    bytes,
    tokens: count.tokens,
    certainty: count.certainty,
  };
}
