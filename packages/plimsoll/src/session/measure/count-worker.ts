/** The thread that counts large texts, so that the server can go on answering. */

import { readFile } from "node:fs/promises";
import { parentPort } from "node:worker_threads";
import { type Count, loadTokenizer, type Tokenizer } from "../../budget/tokenizer.ts";
import { errorMessage } from "../../message/error.ts";
import type { Answered, Asked } from "../../workers/thread.ts";
import { takeUntilEnd } from "../../workers/thread-end.ts";

export interface CountQuestion {
  readonly tokenizerId: string;
  readonly texts: readonly string[];
}

export type CountAnswer =
  | { readonly kind: "counted"; readonly counts: readonly Count[] }
  | { readonly kind: "failed"; readonly reason: string };

const tokenizers = new Map<string, Promise<Tokenizer>>();

async function answerTo({ tokenizerId, texts }: CountQuestion): Promise<CountAnswer> {
  try {
    const loading = tokenizers.get(tokenizerId) ?? loadTokenizer(tokenizerId, readJson);
    tokenizers.set(tokenizerId, loading);
    const tokenizer = await loading;
    return { kind: "counted", counts: texts.map((text) => tokenizer.count(text)) };
  } catch (error) {
    tokenizers.delete(tokenizerId);
    return { kind: "failed", reason: errorMessage(error) };
  }
}

async function readJson(path: string): Promise<unknown> {
  return JSON.parse(await readFile(path, "utf8"));
}

async function take({ id, question }: Asked<CountQuestion>): Promise<void> {
  const answer = await answerTo(question);
  parentPort?.postMessage([{ id, answer } satisfies Answered<CountAnswer>]);
}

if (parentPort !== null)
  takeUntilEnd(parentPort, (asked: readonly Asked<CountQuestion>[]) => {
    for (const one of asked) void take(one);
  });
