/** Counts tokens for every session: short texts at once, long ones in a thread, the same content only once. */

import { createHash, hash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Worker } from "node:worker_threads";
import { type Count, loadTokenizer, type Tokenizer } from "../budget/tokenizer.ts";
import { createCountQueue } from "./count-queue.ts";

export interface TokenCounterOptions {
  readonly cacheEntries?: number;
  /** A longer text is counted in the thread. */
  readonly workerThresholdChars?: number;
  /** When more than this waits for the main thread, the rest goes to the other one. */
  readonly backlogCharsMax?: number;
  readonly jobTimeoutMs?: number;
  readonly queuedCharsMax?: number;
  readonly startWorker?: () => Worker;
}

export interface SessionTokenCounter {
  /**
   * Contract: rejects only when there is no such tokenizer. Where the thread fails or takes too long the
   * answer is a bound. `keys`, where given, stand for the content and save its hashing.
   */
  count(
    tokenizerId: string,
    texts: readonly string[],
    keys?: readonly (string | undefined)[],
  ): Promise<readonly Count[]>;
  /** The count, if it is known or quickly made: the text is short and its tokenizer loaded. */
  countNow(tokenizerId: string, text: string): Count | undefined;
  /** Loads a tokenizer before its first use: a vocabulary takes up to 0.3 s, 80 ms of it in one go. */
  prepare(tokenizerId: string): Promise<void>;
  close(): Promise<void>;
}

export function createTokenCounter(options: TokenCounterOptions = {}): SessionTokenCounter {
  const workerThresholdChars = options.workerThresholdChars ?? 16_384;
  const cache = createCache(options.cacheEntries ?? 65_536);
  const mainThread = createMainThread(options.backlogCharsMax ?? 131_072);
  const load = createLoader();
  const queue = createCountQueue({
    timeoutMs: options.jobTimeoutMs ?? 20_000,
    queuedCharsMax: options.queuedCharsMax ?? 134_217_728,
    ...(options.startWorker === undefined ? {} : { startWorker: options.startWorker }),
  });

  const countFresh = async (tokenizer: Tokenizer, text: string): Promise<Count | undefined> => {
    const cost = costOf(tokenizer.id, text);
    return cost <= workerThresholdChars && mainThread.hasRoom(cost)
      ? await mainThread.run(cost, () => tokenizer.count(text))
      : await queue.count(tokenizer.id, text);
  };

  const countOne = async (tokenizer: Tokenizer, text: string, given?: string): Promise<Count> => {
    const content = given === undefined ? await contentKey(text) : `key:${given}`;
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
      return await Promise.all(texts.map((text, index) => countOne(tokenizer, text, keys[index])));
    },
    countNow: (tokenizerId, text) => {
      const tokenizer = load.loaded(tokenizerId);
      if (tokenizer === undefined || costOf(tokenizerId, text) > workerThresholdChars) {
        return undefined;
      }
      const key = `${tokenizerId}\0${shortContentKey(text)}`;
      const count = cache.get(key) ?? tokenizer.count(text);
      cache.set(key, count);
      return count;
    },
    prepare: async (tokenizerId) => {
      await load.load(tokenizerId);
    },
    close: () => queue.close(),
  };
}

/** Byte-level tokenizers never make more tokens than there are bytes. */
function upperBound(text: string): Count {
  return { tokens: Buffer.byteLength(text), certainty: "bound" };
}

/** In characters of the usual tokenizers. Those of Hugging Face are some thirty times slower. */
function costOf(tokenizerId: string, text: string): number {
  return tokenizerId.startsWith("hf:") ? text.length * 32 : text.length;
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

async function readJson(path: string): Promise<unknown> {
  return JSON.parse(await readFile(path, "utf8"));
}

interface MainThread {
  hasRoom(cost: number): boolean;
  run(cost: number, work: () => Count): Promise<Count>;
}

/** Between two turns of the event loop: about 10 ms of the worst text. */
const costPerTurn = 32_768;

/** Counts in the main thread, in order, and lets others have their turn in between. */
function createMainThread(backlogMax: number): MainThread {
  let backlog = 0;
  let spent = 0;
  let turn: Promise<unknown> = Promise.resolve();

  const run = async (cost: number, work: () => Count): Promise<Count> => {
    backlog += cost;
    const before = turn;
    const { promise, resolve } = Promise.withResolvers<void>();
    turn = promise;
    await before;
    try {
      if (spent > costPerTurn) {
        await nextTurn();
        spent = 0;
      }
      spent += cost;
      return work();
    } finally {
      backlog -= cost;
      resolve();
    }
  };
  return { hasRoom: (cost) => backlog + cost <= backlogMax, run };
}

/** Longer than this, hashing is done in steps: 10 MB would take 20 ms. */
const hashStepChars = 1_048_576;

async function contentKey(text: string): Promise<string> {
  if (text.length <= hashStepChars) return shortContentKey(text);
  const digest = createHash("sha256");
  for (let start = 0; start < text.length; start += hashStepChars) {
    await nextTurn();
    digest.update(text.slice(start, start + hashStepChars), "utf16le");
  }
  return digest.digest("base64");
}

function shortContentKey(text: string): string {
  return hash("sha256", text, "base64");
}

interface Cache {
  get(key: string): Count | undefined;
  set(key: string, count: Count): void;
}

/** The least recently used goes first: a Map keeps its keys in the order of insertion. */
function createCache(entriesMax: number): Cache {
  const entries = new Map<string, Count>();
  return {
    get: (key) => {
      const count = entries.get(key);
      if (count === undefined) return undefined;
      entries.delete(key);
      entries.set(key, count);
      return count;
    },
    set: (key, count) => {
      entries.delete(key);
      entries.set(key, count);
      const oldest = entries.size > entriesMax ? entries.keys().next().value : undefined;
      if (oldest !== undefined) entries.delete(oldest);
    },
  };
}
