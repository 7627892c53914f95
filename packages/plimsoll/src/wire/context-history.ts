/**
 * Reads the edit histories of MarieCoder and Cline (`context_history.json`), and applies them to the conversation that they belong
 * to (`api_conversation_history.json`). The format is a nested list:
 *
 *   [[message, [kind, [[block, [[time, "text", [text], metadata], …]], …]]], …]
 */

import type { EditPlace } from "../message/edit.ts";
import { PlimsollError } from "../message/error.ts";
import { isObject, type JsonObject, type JsonValue } from "../message/json.ts";

/** One change of one block of a message. A later change of the same block replaces it. */
export interface HistoryUpdate {
  /** Index of the message in the conversation, and of the block in the message. */
  readonly message: number;
  readonly block: number;
  /** What the message contains. */
  readonly place: EditPlace;
  /** In milliseconds since 1970. */
  readonly at: number;
  readonly text: string;
}

/** The kinds of messages, by their number in the file. */
const places: readonly EditPlace[] = [
  "undefined",
  "no-file-read",
  "read-tool",
  "alter-tool",
  "file-mention",
];
/** The changes, oldest first. Throws USAGE if this is no such history. */
export function readContextHistory(history: unknown): readonly HistoryUpdate[] {
  const updates = pairsIn(history, "a message").flatMap(([message, entry]) => {
    const [kind, blocks] = pairOf(entry, `message ${message}`);
    const place = typeof kind === "number" ? places[kind] : undefined;
    if (place === undefined)
      throw wrong(`message ${message} has the kind ${JSON.stringify(kind)}, which is unknown`);
    return pairsIn(blocks, `a block of message ${message}`).flatMap(([block, changes]) =>
      changesOf(changes, `${message}.${block}`).map((change) => ({
        message,
        block,
        place,
        ...change,
      })),
    );
  });
  return updates.toSorted((one, other) => one.at - other.at);
}

type Change = Pick<HistoryUpdate, "at" | "text">;

function changesOf(changes: unknown, where: string): readonly Change[] {
  if (!Array.isArray(changes)) throw wrong(`block ${where} has no list of changes`);
  return (changes as readonly unknown[]).map((change) => changeOf(change, where));
}

function changeOf(change: unknown, where: string): Change {
  const [at, type, content] = Array.isArray(change) ? (change as readonly unknown[]) : [];
  const [text = ""] = Array.isArray(content) ? (content as readonly unknown[]) : [undefined];
  if (typeof at !== "number" || type !== "text" || typeof text !== "string")
    throw wrong(`a change of block ${where} is not [time, "text", [text], metadata]`);
  return { at, text };
}

function pairsIn(list: unknown, what: string): readonly (readonly [number, unknown])[] {
  if (!Array.isArray(list)) throw wrong(`a list is missing where ${what} should be`);
  return (list as readonly unknown[]).map((item) => {
    const [index, value] = pairOf(item, what);
    if (typeof index !== "number" || !Number.isInteger(index) || index < 0)
      throw wrong(`${what} has the index ${JSON.stringify(index)}`);
    return [index, value];
  });
}

function pairOf(item: unknown, what: string): readonly [unknown, unknown] {
  if (Array.isArray(item) && item.length === 2)
    return item as unknown as readonly [unknown, unknown];
  throw wrong(`${what} is not a pair`);
}

function wrong(problem: string): PlimsollError {
  return new PlimsollError(
    "USAGE",
    `This is no context_history.json of MarieCoder or Cline: ${problem}. Give the file from the folder of the task.`,
  );
}

export interface WithHistory {
  readonly messages: readonly JsonObject[];
  /** Changes of messages or blocks that the conversation does not have. They changed nothing. */
  readonly unknown: readonly HistoryUpdate[];
}

/**
 * The conversation as the history shows it. The given messages stay as they are. `until` is a time: later changes are left out, as
 * after a checkpoint was restored.
 */
export function withContextHistory(
  messages: readonly JsonObject[],
  updates: readonly HistoryUpdate[],
  until: number = Number.POSITIVE_INFINITY,
): WithHistory {
  const changed = [...messages];
  const unknown: HistoryUpdate[] = [];
  for (const update of updates) {
    if (update.at > until) continue;
    const message = changed[update.message];
    const now = message === undefined ? undefined : withText(message, update);
    if (now === undefined) unknown.push(update);
    else changed[update.message] = now;
  }
  return { messages: changed, unknown };
}

function withText(message: JsonObject, { block, text }: HistoryUpdate): JsonObject | undefined {
  const { content } = message;
  if (typeof content === "string") return block === 0 ? { ...message, content: text } : undefined;
  const part = Array.isArray(content) ? content[block] : undefined;
  if (!isObject(part) || part["type"] !== "text" || !Array.isArray(content)) return undefined;
  return { ...message, content: content.with(block, { ...part, text } satisfies JsonValue) };
}
