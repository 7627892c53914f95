/**
 * `plimsoll recall`: finds passages of a session that answer a query. With --jsonl, reads archives and queries as lines of JSON,
 * and writes passages.
 */

import type { Writable } from "node:stream";
import { loadTokenizer } from "../../budget/tokenizer.ts";
import type { Flags } from "../../config/config.ts";
import { PlimsollError } from "../../message/error.ts";
import { isObject, type JsonObject, type JsonValue } from "../../message/json.ts";
import { createOwnAnswers, type FoundPassage } from "../../session/lookup/answer-own-call.ts";
import {
  buildRecall,
  type RecallIndex,
  type RecallParts,
} from "../../session/lookup/build-recall.ts";
import { recall } from "../../session/lookup/recall.ts";
import { segmentsOf } from "../../session/lookup/segments.ts";
import { loadWordVectors } from "../../session/models/word-vectors.ts";
import { grouped } from "../../text/digits.ts";
import { harmless, harmlessJson } from "../../text/unseen.ts";
import { wires } from "../../wire/wires.ts";
import { badLine, type Input, jsonLines, writeLine } from "../console/json-lines.ts";
import { chooseSession, withStore } from "../console/open-store.ts";
import { type Progress, withProgress } from "../console/progress.ts";

const tokenizerId = "tiktoken:o200k_base";

export type RecallFlags = Flags & {
  readonly session?: string;
  readonly budget: number;
  readonly json?: boolean;
  readonly jsonl?: boolean;
};

export async function runRecall(query: string | undefined, flags: RecallFlags): Promise<void> {
  if (flags.jsonl === true)
    return withProgress("Answering queries", { isStreaming: true, readsInput: true }, (progress) =>
      runRecallJsonl(process.stdin, process.stdout, progress),
    );
  if (query === undefined || query.trim() === "")
    throw new PlimsollError(
      "USAGE",
      'Give a query, like `plimsoll recall "the port of the proxy"`. With --jsonl, send archives and queries on standard input.',
    );
  const items = await withProgress("Searching the session", { json: flags.json }, () =>
    searchSession(query, flags),
  );
  console.log(flags.json === true ? harmlessJson({ items }) : passagesText(items));
}

function searchSession(query: string, flags: RecallFlags): Promise<readonly FoundPassage[]> {
  return withStore(flags, async (store) => {
    const session = await chooseSession(store, flags.session);
    const tokenizer = await loadTokenizer(tokenizerId);
    const vectors = await loadWordVectors();
    const own = createOwnAnswers({
      store,
      count: (text) => tokenizer.count(text).tokens,
      ...(vectors === undefined ? {} : { vectors }),
    });
    try {
      return await own.search(undefined, session, query, { budgetTokens: flags.budget });
    } finally {
      await own.close();
    }
  });
}

function passagesText(items: readonly FoundPassage[]): string {
  if (items.length === 0)
    return "Nothing found: no message of this session answers this. Try other words, or names and paths exactly as they were written.";
  return items.map((item) => harmless(passageText(item))).join("\n\n");
}

function passageText({ number, title, score, text, missingChars, session }: FoundPassage): string {
  const entry = `#${number} ${title} (${score.toFixed(2)})\n${text}`;
  if (missingChars === undefined) return entry;
  return `${entry}\n[… ${grouped(missingChars)} more characters of this passage. Give a larger --budget, or read the message with \`plimsoll log ${session} --full\`.]`;
}

/**
 * Contract: answers in the order of the lines, and each answer uses only earlier lines. Only one line and the newest
 * archive are in memory. A bad line throws USAGE with its number, after all earlier answers were written.
 */
export async function runRecallJsonl(
  input: Input,
  output: Writable,
  progress?: Progress,
): Promise<void> {
  const tokenizer = await loadTokenizer(tokenizerId);
  const vectors = await loadWordVectors();
  const parts = vectors === undefined ? {} : { vectors };
  const countTokens = (text: string): number => tokenizer.count(text).tokens;
  let archive: Archive | undefined;
  let answered = 0;
  for await (const { item, number } of jsonLines(input)) {
    if (item["kind"] === "archive") archive = readArchive(item, number, parts);
    if (item["kind"] !== "recall") continue;
    const passages = answer(archive, item, number, countTokens);
    await writeLine(output, { id: item["id"], passages });
    answered += 1;
    progress?.step(answered);
  }
}

interface Archive {
  readonly id: JsonValue | undefined;
  readonly index: RecallIndex;
}

function readArchive(item: JsonObject, number: number, parts: RecallParts): Archive {
  const messages = item["messages"];
  if (!Array.isArray(messages) || !messages.every(isObject)) {
    throw badLine(number, 'an archive needs "messages", a list of chat messages');
  }
  const segments = messages.flatMap((one) => segmentsOf(wires["openai-chat"].messages.decode(one)));
  const index = buildRecall(segments, parts);
  return { id: item["conversationId"], index };
}

function answer(
  archive: Archive | undefined,
  item: JsonObject,
  number: number,
  countTokens: (text: string) => number,
): readonly string[] {
  const { query, budgetTokens, conversationId } = item;
  if (archive === undefined || archive.id !== conversationId) {
    throw badLine(number, 'the last archive before this line has another "conversationId"');
  }
  if (typeof query !== "string") throw badLine(number, 'a recall needs "query", a text');
  if (typeof budgetTokens !== "number" || !(budgetTokens >= 0)) {
    throw badLine(number, 'a recall needs "budgetTokens", a number from 0');
  }
  return recall(archive.index, query, { budgetTokens, countTokens }).map(({ text }) => text);
}
