/** The thread in which large texts are counted, so that the server goes on answering meanwhile. */

import { readFile } from "node:fs/promises";
import { parentPort } from "node:worker_threads";
import { type Count, loadTokenizer, type Tokenizer } from "../../budget/tokenizer.ts";
import { errorMessage } from "../../message/error.ts";
import { takeUntilEnd } from "../../work/thread-end.ts";

export interface CountRequest {
  readonly id: number;
  readonly tokenizerId: string;
  readonly texts: readonly string[];
}

export type CountAnswer =
  | { readonly kind: "counted"; readonly id: number; readonly counts: readonly Count[] }
  | { readonly kind: "failed"; readonly id: number; readonly reason: string };

const tokenizers = new Map<string, Promise<Tokenizer>>();

async function answer({ id, tokenizerId, texts }: CountRequest): Promise<CountAnswer> {
  try {
    const loading = tokenizers.get(tokenizerId) ?? loadTokenizer(tokenizerId, readJson);
    tokenizers.set(tokenizerId, loading);
    const tokenizer = await loading;
    return { kind: "counted", id, counts: texts.map((text) => tokenizer.count(text)) };
  } catch (error) {
    tokenizers.delete(tokenizerId);
    return { kind: "failed", id, reason: errorMessage(error) };
  }
}

async function readJson(path: string): Promise<unknown> {
  return JSON.parse(await readFile(path, "utf8"));
}

if (parentPort !== null)
  takeUntilEnd(parentPort, (request: CountRequest) => {
    void answer(request).then((reply) => parentPort?.postMessage(reply));
  });
