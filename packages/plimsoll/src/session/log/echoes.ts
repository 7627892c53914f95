/**
 * Finds echoes. An echo is a message in which a client repeats something that the log already has in another place: an answer,
 * whole or in pieces, or a message that the client has moved. Plimsoll recognises a repeated answer by its hashes (`Marks`).
 */

import type { NodeRecord } from "../../store/store.ts";
import type { Echo, LogMessage, Marks, SessionLog } from "./log.ts";
import { ownBranches } from "./visible.ts";

interface Marked {
  readonly marks?: Marks | undefined;
}

export function noteMarks(log: SessionLog, seq: number, { marks }: Marked): void {
  if (marks === undefined) return;
  const { answerByMark } = log;
  const { calls, texts, shortTexts, allTexts } = marks;
  for (const mark of calls) answerByMark.set(mark, { seq, size: calls.length });
  // If an answer contains calls, its texts alone are never the whole answer.
  const sizeOf = (size: number): number => (calls.length > 0 ? Number.POSITIVE_INFINITY : size);
  for (const mark of shortTexts) answerByMark.set(mark, { seq, size: Number.POSITIVE_INFINITY });
  answerByMark.set(allTexts, { seq, size: sizeOf(1) });
  for (const mark of texts) answerByMark.set(mark, { seq, size: sizeOf(texts.length) });
  noteWords(log, seq, marks);
}

/** A client may send an answer back in other words. Plimsoll recognises at most this many versions of one answer. */
const maxSpellings = 4;

export function noteWords({ words }: SessionLog, seq: number, marks: Marks | undefined): void {
  const known = words.get(seq) ?? [];
  if (marks === undefined || known.includes(marks.words) || known.length >= maxSpellings) return;
  words.set(seq, [...known, marks.words]);
}

/** Whether a message has the same words as this answer, either as the model gave it or as its client sent it back. */
export function hasWordsOf({ words }: SessionLog, seq: number, { marks }: Marked): boolean {
  return marks !== undefined && words.get(seq)?.includes(marks.words) === true;
}

/** Whether a message of a request repeats a message of the log word for word. */
export function hasSameWords(
  log: SessionLog,
  { seq, identity, hash }: NodeRecord,
  message: LogMessage | undefined,
): boolean {
  if (message === undefined) return false;
  const isSame = identity === message.identity || hash === message.hash;
  return isSame || hasWordsOf(log, seq, message);
}

/**
 * The answer that a message repeats without adding anything. Compares the calls of the message, or its texts if it has no calls.
 */
export function echoIn({ answerByMark }: SessionLog, { marks }: Marked): Echo | undefined {
  if (marks === undefined) return undefined;
  const { calls, texts, shortTexts, allTexts } = marks;
  const answers = (calls.length > 0 ? calls : texts).map((mark) => answerByMark.peek(mark));
  const [first] = answers;
  if (first === undefined || answers.includes(undefined)) return undefined;
  const isKnown = (mark: string): boolean => answerByMark.has(mark);
  if (!isKnown(allTexts) && ![...texts, ...shortTexts].every(isKnown)) return undefined;
  const isWhole = answers.length === first.size && answers.every((one) => one?.seq === first.seq);
  return { of: first.seq, isWhole };
}

/** Messages that a client no longer sends in their old place, by identity. Each of them can be echoed once. */
export type LeftMessages = Map<string, number[]>;

export function leftBehind(nodes: readonly NodeRecord[]): LeftMessages {
  const left: LeftMessages = new Map();
  for (const { identity, seq } of nodes) left.set(identity, [...(left.get(identity) ?? []), seq]);
  return left;
}

/** The earlier message that the client has moved to this place, or undefined. */
function movedFrom(
  { echoes }: SessionLog,
  left: LeftMessages,
  { identity }: Pick<LogMessage, "identity">,
): Echo | undefined {
  const seq = left.get(identity)?.shift();
  if (seq === undefined) return undefined;
  return echoes.get(seq) ?? { of: seq, isWhole: true };
}

/**
 * The original that a message echoes. Undefined if the message is not an echo, or if this branch may not look up the original.
 */
export function echoOn(
  log: SessionLog,
  branch: string,
  { message, left }: { readonly message: LogMessage; readonly left: LeftMessages },
): Echo | undefined {
  const echo = movedFrom(log, left, message) ?? echoIn(log, message);
  const first = log.nodes.get(echo?.of ?? -1)?.branch;
  return first !== undefined && ownBranches(log, branch).has(first) ? echo : undefined;
}
