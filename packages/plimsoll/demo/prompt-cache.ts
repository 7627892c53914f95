/**
 * The token count and the prompt cache of the scripted upstream. The count is rough: words, numbers and signs. The cache follows
 * the rule of each model's provider: prefixes before a cache mark, or every prefix.
 */

import { createHash } from "node:crypto";
import { type CacheModel, type InputTokens, openCacheModel } from "../src/prompt/cache-model.ts";
import { priceListOf } from "../src/prompt/prices.ts";
import type { Block, WireForm } from "./wires/form.ts";

export interface PromptCache {
  /** Counts a request, and caches its prefixes. */
  take(form: WireForm, model: string, body: object): InputTokens;
}

/** Maximum number of remembered block counts; the oldest are dropped. */
const countedMax = 4_000;
const blockTokens = 4;

export function createPromptCache(): PromptCache {
  const caches = new Map<string, CacheModel>();
  const counted = new Map<string, { readonly key: string; readonly tokens: number }>();

  const weigh = (
    form: WireForm,
    { json }: Block,
  ): { readonly key: string; readonly tokens: number } => {
    const text = JSON.stringify(json);
    const known = counted.get(text) ?? { key: hashOf(text), tokens: tokensOfBlock(form, text) };
    counted.set(text, known);
    for (const oldest of counted.keys()) {
      if (counted.size <= countedMax) break;
      counted.delete(oldest);
    }
    return known;
  };

  return {
    take: (form, model, body) => {
      const cache = caches.get(model) ?? openCacheModel(priceListOf(form.vendor, model).cache);
      caches.set(model, cache);
      const blocks = form.upstream.blocks(body);
      const marks = blocks.flatMap(({ isMarked }, block) => (isMarked ? [{ block }] : []));
      const request = { blocks: blocks.map((block) => weigh(form, block)), marks };
      return cache.take(request, performance.now() / 1000);
    },
  };
}

function hashOf(text: string): string {
  return createHash("sha1").update(text).digest("base64");
}

/** The beginning of every PNG in base64, and the rest of it. */
const picturePattern = /iVBORw0KGgo[A-Za-z0-9+/=]*/g;

/** A block with pictures counts by their sizes, not by its text. */
function tokensOfBlock({ upstream }: WireForm, json: string): number {
  const pictures = (json.match(picturePattern) ?? []).map((picture) => {
    const head = Buffer.from(picture.slice(0, 64), "base64");
    return blockTokens + upstream.pictureTokens(head.readUInt32BE(16), head.readUInt32BE(20));
  });
  const [first, ...others] = pictures;
  if (first === undefined) return blockTokens + roughTokens(json);
  return blockTokens + others.reduce((sum, tokens) => sum + tokens, first);
}

/** A short word is one token; a long one has a token per six letters. Three digits are one token, and so is each sign. */
export function roughTokens(text: string): number {
  return text.match(/[A-Za-z]{1,6}|\d{1,3}|[^\sA-Za-z\d]{1,2}|\n+/g)?.length ?? 0;
}
