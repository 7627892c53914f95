/**
 * The token count and the prompt cache of the scripted upstream. The count is rough: words, numbers and signs. The cache follows
 * Anthropic's rules: it stores the prefix before each cache mark. A later request finds it up to 20 blocks before one of its marks.
 */

import { createHash } from "node:crypto";
import { type Block, blocksOf, type WireRequest } from "./wire-forms.ts";

export interface CountedRequest {
  /** All input tokens together. */
  readonly tokens: number;
  readonly cacheRead: number;
  readonly cacheWritten: number;
}

export interface PromptCache {
  /** Counts a request, and caches its marked prefixes. */
  take(request: WireRequest): CountedRequest;
}

const lookbackBlocks = 20;
/** Shortest prefix that is cached: the figures of the provider's documentation, which Plimsoll uses too. */
const minTokensOf = (model: string): number => (model.includes("haiku") ? 4_096 : 1_024);
/** Maximum number of cached prefixes; the oldest are dropped. */
const keptMax = 4_000;
/** Maximum number of remembered block counts; the oldest are dropped. */
const countedMax = 4_000;

interface Weighed {
  readonly hash: string;
  readonly tokens: number;
  readonly isMarked: boolean;
}

interface Prefix {
  readonly key: string;
  /** Tokens up to and including this block. */
  readonly tokens: number;
  readonly isMarked: boolean;
}

export function createPromptCache(): PromptCache {
  const kept = new Set<string>();
  const counted = new Map<string, { readonly hash: string; readonly tokens: number }>();

  const weigh = (block: object): Weighed => {
    const { cache_control: mark, ...rest } = block as { readonly cache_control?: unknown };
    const text = JSON.stringify(rest);
    const known = counted.get(text) ?? { hash: hashOf(text), tokens: tokensOfBlock(rest, text) };
    counted.set(text, known);
    forget(counted, countedMax);
    return { ...known, isMarked: mark !== undefined };
  };

  return {
    take: (request) => {
      const prefixes = prefixesOf(request, weigh);
      const minTokens = minTokensOf(request.model);
      const tokens = prefixes.at(-1)?.tokens ?? 0;
      const marks = prefixes.flatMap(({ isMarked }, index) => (isMarked ? [index] : []));
      const cacheRead = Math.max(0, ...marks.map((index) => foundBefore(prefixes, kept, index)));
      const written = marks
        .map((index) => prefixes[index])
        .filter((prefix) => prefix !== undefined);
      for (const prefix of written) if (prefix.tokens >= minTokens) kept.add(prefix.key);
      forget(kept, keptMax);
      const last = Math.max(0, ...written.map((prefix) => prefix.tokens));
      const cacheWritten = last < minTokens ? 0 : Math.max(0, last - cacheRead);
      return { tokens, cacheRead, cacheWritten };
    },
  };
}

function forget(memory: Map<string, unknown> | Set<string>, most: number): void {
  for (const oldest of memory.keys()) {
    if (memory.size <= most) return;
    memory.delete(oldest);
  }
}

function foundBefore(prefixes: readonly Prefix[], kept: ReadonlySet<string>, mark: number): number {
  for (let index = mark; index >= Math.max(0, mark - lookbackBlocks); index--) {
    const prefix = prefixes[index];
    if (prefix !== undefined && kept.has(prefix.key)) return prefix.tokens;
  }
  return 0;
}

/** The blocks in the order in which the provider reads them: tools, system, messages. */
function prefixesOf(request: WireRequest, weigh: (block: object) => Weighed): readonly Prefix[] {
  const { model, tools = [], system = [], messages } = request;
  const head = typeof system === "string" ? [{ type: "text", text: system }] : system;
  const blocks: readonly object[] = [
    ...tools,
    ...head,
    ...messages.flatMap((message) =>
      blocksOf(message).map((block) => ({ role: message.role, ...block })),
    ),
  ];
  let [key, tokens] = [model, 0];
  return blocks.map((block) => {
    const weighed = weigh(block);
    key = hashOf(`${key} ${weighed.hash}`);
    tokens += weighed.tokens;
    return { key, tokens, isMarked: weighed.isMarked };
  });
}

function hashOf(text: string): string {
  return createHash("sha1").update(text).digest("base64");
}

const blockTokens = 4;

function tokensOfBlock(block: object, json: string): number {
  const picture = pictureIn(block as Partial<Block>);
  return blockTokens + (picture === undefined ? roughTokens(json) : picture);
}

/** A picture is counted by its size, not by its base64 text. */
function pictureIn(block: Partial<Block>): number | undefined {
  const content = "content" in block && Array.isArray(block.content) ? block.content : [block];
  const [image] = (content as readonly Partial<Block>[]).filter(({ type }) => type === "image");
  if (image === undefined || !("source" in image) || image.source === undefined) return undefined;
  const head = Buffer.from(image.source.data.slice(0, 64), "base64");
  const pixels = head.length < 24 ? 0 : head.readUInt32BE(16) * head.readUInt32BE(20);
  return Math.ceil(pixels / 750) + blockTokens;
}

/** A short word is one token; a long one has a token per six letters. Three digits are one token, and so is each sign. */
export function roughTokens(text: string): number {
  return text.match(/[A-Za-z]{1,6}|\d{1,3}|[^\sA-Za-z\d]{1,2}|\n+/g)?.length ?? 0;
}
