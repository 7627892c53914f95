/** Counts tokens for all sessions. Short texts are counted at once, long texts in a thread, and the same content only once. */

import { createHash, hash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Worker } from "node:worker_threads";
import { BoundedMap } from "../../bounds/bounded-map.ts";
import {
  type Count,
  isHuggingFace,
  loadTokenizer,
  type Tokenizer,
} from "../../budget/tokenizer.ts";
import { createPacer, type Pacer } from "../../workers/pacer.ts";
import { createCountQueue } from "./count-queue.ts";

export interface TokenCounterOptions {
  readonly cacheEntries?: number;
  /** A text with more characters than this is counted in the counting thread. */
  readonly workerThresholdChars?: number;
  /**
   * Maximum number of characters that may wait to be counted in the main thread. Further texts are counted in the counting
   * thread.
   */
  readonly backlogCharsMax?: number;
  readonly jobTimeoutMs?: number;
  readonly queuedCharsMax?: number;
  readonly startWorker?: () => Worker;
}

export interface SessionTokenCounter {
  /**
   * Contract: rejects only if there is no such tokenizer. If the thread fails or takes too long, the result is an upper bound. If
   * `keys` are given, each identifies the content of a text, so that the text need not be hashed.
   */
  count(
    tokenizerId: string,
    texts: readonly string[],
    keys?: readonly (string | undefined)[],
  ): Promise<readonly Count[]>;
  /** Counts without waiting. Returns undefined if the text is long or its tokenizer is not loaded. */
  countNow(tokenizerId: string, text: string): Count | undefined;
  /**
   * Loads a tokenizer before its first use. Loading a vocabulary takes about 30 ms.
   */
  prepare(tokenizerId: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * Maximum number of texts counted at the same time. With tens of thousands of promises, garbage collection would take longer than
 * counting.
 */
const textsPerStep = 512;

export function createTokenCounter(options: TokenCounterOptions = {}): SessionTokenCounter {
  const workerThresholdChars = options.workerThresholdChars ?? 16_384;
  const cache = new BoundedMap<string, Count>({ entries: options.cacheEntries ?? 65_536 });
  const mainThread = createPacer({
    costPerTurn,
    backlogMax: options.backlogCharsMax ?? 131_072,
  });
  const load = createLoader();
  const queue = createCountQueue({
    timeoutMs: options.jobTimeoutMs ?? 20_000,
    queuedCharsMax: options.queuedCharsMax ?? 134_217_728,
    ...(options.startWorker === undefined ? {} : { startWorker: options.startWorker }),
  });

  const countFresh = async (tokenizer: Tokenizer, text: string): Promise<Count | undefined> => {
    const cost = costOf(tokenizer.id, text);
    if (cost > workerThresholdChars || !mainThread.hasRoom(cost)) {
      return await queue.count(tokenizer.id, text);
    }
    await mainThread.pass(cost);
    return tokenizer.count(text);
  };

  const countOne = async (tokenizer: Tokenizer, text: string, given?: string): Promise<Count> => {
    const content = given === undefined ? await contentKey(text, mainThread) : `key:${given}`;
    const key = `${tokenizer.id}\0${content}`;
    const known = cache.get(key);
    if (known !== undefined) return known;
    const count = await countFresh(tokenizer, text);
    if (count === undefined) return upperBound(text);
    cache.set(key, count);
    return count;
  };

  return {
    count: async (tokenizerId, texts, keys = []) => {
      const tokenizer = load.loaded(tokenizerId) ?? (await load.load(tokenizerId));
      const counts: Count[] = [];
      while (counts.length < texts.length) {
        const start = counts.length;
        const step = texts.slice(start, start + textsPerStep);
        const counting = step.map((text, index) => countOne(tokenizer, text, keys[start + index]));
        counts.push(...(await Promise.all(counting)));
      }
      return counts;
    },
    countNow: (tokenizerId, text) => {
      const tokenizer = load.loaded(tokenizerId);
      if (tokenizer === undefined || costOf(tokenizerId, text) > workerThresholdChars) {
        return undefined;
      }
      const key = `${tokenizerId}\0${shortContentKey(text)}`;
      const count = cache.get(key) ?? cache.set(key, tokenizer.count(text));
      return count;
    },
    prepare: async (tokenizerId) => {
      await load.load(tokenizerId);
    },
    close: () => queue.close(),
  };
}

/** The number of bytes is an upper bound, because byte-level tokenizers never make more tokens than there are bytes. */
function upperBound(text: string): Count {
  return { tokens: Buffer.byteLength(text), certainty: "bound" };
}

/**
 * The cost of counting a text. With most tokenizers, each character costs 1. Tokenizers of Hugging Face are about thirty times
 * slower.
 */
function costOf(tokenizerId: string, text: string): number {
  return isHuggingFace(tokenizerId) ? text.length * 32 : text.length;
}

interface Loader {
  loaded(tokenizerId: string): Tokenizer | undefined;
  load(tokenizerId: string): Promise<Tokenizer>;
}

function createLoader(): Loader {
  const loaded = new Map<string, Tokenizer>();
  const loading = new Map<string, Promise<Tokenizer>>();
  const load = async (tokenizerId: string): Promise<Tokenizer> => {
    try {
      const tokenizer = await loadTokenizer(tokenizerId, readJson, () => nextTurn());
      if (tokenizer.problem !== undefined && !loaded.has(tokenizerId))
        process.emitWarning(tokenizer.problem, "PlimsollWarning");
      loaded.set(tokenizerId, tokenizer);
      return tokenizer;
    } finally {
      loading.delete(tokenizerId);
    }
  };
  return {
    loaded: (tokenizerId) => loaded.get(tokenizerId),
    load: (tokenizerId) => {
      const underWay = loading.get(tokenizerId) ?? load(tokenizerId);
      loading.set(tokenizerId, underWay);
      return underWay;
    },
  };
}

/** Reads the file of an `hf:` tokenizer. */
export async function readJson(path: string): Promise<unknown> {
  return JSON.parse(await readFile(path, "utf8"));
}

/** Maximum cost of the work in one turn of the event loop. Even the slowest text of this cost takes only about 10 ms. */
const costPerTurn = 32_768;

/** Longer texts are hashed in steps of this many characters. */
const hashStepChars = 1_048_576;
/** The cost of hashing, per text and per character, in the same unit as the cost of counting. */
const hashCost = { text: 32, character: 1 / 32 };

async function contentKey(text: string, mainThread: Pacer): Promise<string> {
  if (text.length <= hashStepChars) {
    await mainThread.pass(hashCost.text + text.length * hashCost.character);
    return shortContentKey(text);
  }
  const digest = createHash("sha256");
  for (let start = 0; start < text.length; start += hashStepChars) {
    await mainThread.pass(hashStepChars * hashCost.character);
    digest.update(text.slice(start, start + hashStepChars), "utf16le");
  }
  return digest.digest("base64");
}

function shortContentKey(text: string): string {
  return hash("sha256", text, "base64");
}
