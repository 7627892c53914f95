/** Reads a request as a provider's cache does: as blocks in reading order, with their tokens and cache marks. */

import { isObject, type JsonObject, type JsonValue } from "../message/json.ts";
import {
  type CacheBlock,
  type CacheMark,
  type CacheRequest,
  commonPrefixTokens,
  type InputTokens,
  tokensOf,
} from "../prompt/cache-model.ts";
import type { FactsReader, Ruler } from "../session/measure/message-facts.ts";
import { shortHash } from "../store/chain.ts";
import type { Wire } from "../wire/format/wire.ts";

export interface ReadRequest {
  readonly blocks: readonly CacheBlock[];
  /** The cache marks that the client set. */
  readonly marks: readonly CacheMark[];
  readonly tokens: number;
  /** Number of blocks that belong to the tools and the system prompt. */
  readonly headBlocks: number;
}

/** The request that was sent in one turn. */
export interface Sent {
  readonly request: ReadRequest;
  readonly billed: InputTokens;
  readonly prefixTokens: number;
  readonly output: number;
  readonly isCompacted: boolean;
  readonly isOverWindow: boolean;
  /** The id of the turn in Plimsoll's engine. */
  readonly turn?: string;
  readonly body?: JsonObject;
}

/** One entry per turn. The entry is undefined if the request was refused. */
export type Run = readonly (Sent | undefined)[];

export interface RequestReader {
  read(body: JsonObject): Promise<ReadRequest>;
  /** Counts the tokens of each message. */
  weigh(messages: readonly JsonObject[]): Promise<readonly number[]>;
}

interface Piece {
  readonly block: CacheBlock;
  readonly mark?: Pick<CacheMark, "isLong">;
}

interface Weighed {
  readonly tokens: number;
  readonly pieces: readonly Piece[];
}

/** Reads the requests of one conversation. The reader remembers the messages that it has read, by their text. */
export function openRequestReader(facts: FactsReader, wire: Wire, ruler: Ruler): RequestReader {
  const known = new Map<string, Weighed>();

  const learn = async (messages: readonly JsonObject[]): Promise<readonly Weighed[]> => {
    const texts = messages.map((message) => JSON.stringify(message));
    const unread = texts.flatMap((text, index) => (known.has(text) ? [] : [{ text, index }]));
    const bytes = unread.map(({ text }) => new TextEncoder().encode(text));
    const learned = await facts.learn(wire, bytes, ruler);
    for (const [at, { text, index }] of unread.entries()) {
      const tokens = learned[at]?.tokens ?? 0;
      known.set(text, { tokens, pieces: piecesOf(wire, messages[index] ?? {}, tokens) });
    }
    return texts.map((text) => known.get(text) ?? { tokens: 0, pieces: [] });
  };

  /** Reads the tools, or a system prompt that is separate from the messages. */
  const readHead = async (
    name: string,
    value: JsonValue | undefined,
    count: (json: string) => Promise<{ readonly tokens: number }>,
  ): Promise<Weighed> => {
    if (value === undefined || value === null) return { tokens: 0, pieces: [] };
    const json = JSON.stringify(value);
    const key = `${name} ${json}`;
    const found = known.get(key);
    if (found !== undefined) return found;
    const { tokens } = await count(json);
    const values = Array.isArray(value) ? value : [value];
    const weighed = { tokens, pieces: share(wire, { name, values, tokens }) };
    known.set(key, weighed);
    return weighed;
  };

  return {
    weigh: async (messages) => (await learn(messages)).map(({ tokens }) => tokens),
    read: async (body) => {
      const { fields } = wire;
      const list = body[fields.messages];
      const messages = Array.isArray(list) ? list.filter(isObject) : [];
      const head = [
        await readHead("tools", body[fields.tools], (json) => facts.countTools(json, ruler)),
        await readHead("system", body[fields.system ?? ""], (json) =>
          facts.countSystem(wire, json, ruler),
        ),
      ];
      const learnedMessages = await learn(messages);
      const begin = messages.findIndex(
        (message) => wire.messages.decode(message).role !== "system",
      );
      const leadCount = begin === -1 ? learnedMessages.length : begin;
      const pieces = [...head, ...learnedMessages].flatMap((one) => one.pieces);
      const mark = markOn(wire, body);
      const end = mark === undefined ? [] : [{ block: pieces.length - 1, ...mark }];
      return {
        blocks: pieces.map(({ block }) => block),
        marks: [
          ...pieces.flatMap((piece, block) =>
            piece.mark === undefined ? [] : [{ block, ...piece.mark }],
          ),
          ...end,
        ],
        tokens: [...head, ...learnedMessages].reduce((sum, one) => sum + one.tokens, 0),
        headBlocks: [...head, ...learnedMessages.slice(0, leadCount)].flatMap((one) => one.pieces)
          .length,
      };
    },
  };
}

function markOn(wire: Wire, block: JsonValue): Piece["mark"] {
  const mark = wire.cache.markOn(block);
  if (mark === undefined) return undefined;
  return wire.cache.isLongMark(mark) ? { isLong: true } : {};
}

function piecesOf(wire: Wire, message: JsonObject, tokens: number): readonly Piece[] {
  return share(wire, {
    name: wire.messages.decode(message).role,
    values: wire.cache.blocks(message),
    tokens,
  });
}

interface Shared {
  readonly name: string;
  readonly values: readonly JsonValue[];
  readonly tokens: number;
}

/** Divides the tokens among the blocks in proportion to their length, because only the whole list of blocks was counted. */
function share(wire: Wire, { name, values, tokens }: Shared): readonly Piece[] {
  // Leaves cache marks out, because adding or removing a mark does not change the block for the cache.
  const texts = values.map((value) =>
    JSON.stringify(value, (key, field) => (key === wire.cache.markField ? undefined : field)),
  );
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  let before = 0;
  let given = 0;
  return texts.map((text, index) => {
    before += text.length;
    const upTo = Math.round((tokens * before) / Math.max(1, length));
    const own = upTo - given;
    given = upTo;
    const mark = markOn(wire, values[index] ?? null);
    return {
      block: { key: shortHash(`${name} ${text}`), tokens: own },
      ...(mark === undefined ? {} : { mark }),
    };
  });
}

/**
 * The cache marks of a request for the simulated cache. If the client set marks, they stay. A request without marks gets all four
 * that are allowed: after the preamble, after the first block of the conversation (the task, after which Plimsoll may add text),
 * where the previous request ended (because a mark looks back over few blocks), and at the end of this request. All policies get
 * the same marks, so that the comparison is fair. The second mark mostly helps policies that edit a lot.
 */
export function withMarks(request: ReadRequest, previous: ReadRequest | undefined): CacheRequest {
  const { blocks, marks, headBlocks } = request;
  if (marks.length > 0) return { blocks, marks };
  const isContinued =
    previous !== undefined &&
    previous.blocks.length > 0 &&
    commonPrefixTokens(previous.blocks, blocks) === tokensOf(previous.blocks);
  const places = [
    headBlocks - 1,
    headBlocks,
    ...(isContinued ? [previous.blocks.length - 1] : []),
    blocks.length - 1,
  ];
  const valid = [...new Set(places)].filter((block) => block >= 0 && block < blocks.length);
  return { blocks, marks: valid.map((block) => ({ block })) };
}
