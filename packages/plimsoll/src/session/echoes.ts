/**
 * What a client says again in another place: answers, whole or in pieces, and messages that it moves. Each of them was said
 * once. An answer is known by its marks, which are read again from the store where an earlier process has recorded it.
 */

import { PlimsollError } from "../message/error.ts";
import type { NodeRecord, Store } from "../store/store.ts";
import { decode, wireNamed } from "./archived-text.ts";
import {
  type Echo,
  findCommon,
  type Link,
  type LogMessage,
  type Marks,
  type SessionLog,
} from "./log.ts";
import { marksOf } from "./message-facts.ts";
import { ownBranches } from "./visible.ts";

interface Marked {
  readonly marks?: Marks | undefined;
}

/** A session of this many answers has long forgotten the first ones. */
const maxMarks = 20_000;

export function noteMarks({ answerByMark }: SessionLog, seq: number, { marks }: Marked): void {
  if (marks === undefined) return;
  if (answerByMark.size > maxMarks) answerByMark.clear();
  const { calls, texts } = marks;
  for (const mark of calls) answerByMark.set(mark, { seq, size: calls.length });
  // A text beside calls is never the whole answer.
  const size = calls.length > 0 ? Number.POSITIVE_INFINITY : texts.length;
  for (const mark of texts) answerByMark.set(mark, { seq, size });
}

/** The answer that a message repeats: by its calls, and without calls by its texts. */
export function echoIn({ answerByMark }: SessionLog, { marks }: Marked): Echo | undefined {
  const said = marks === undefined || marks.calls.length > 0 ? marks?.calls : marks.texts;
  const answers = (said ?? []).map((mark) => answerByMark.get(mark));
  const [first] = answers;
  if (first === undefined || answers.includes(undefined)) return undefined;
  const isWhole = answers.length === first.size && answers.every((one) => one?.seq === first.seq);
  return { of: first.seq, isWhole };
}

/** Messages that a client no longer sends where they were said, by identity: each may be said again once. */
export type LeftMessages = Map<string, number[]>;

export function leftBehind(nodes: readonly NodeRecord[]): LeftMessages {
  const left: LeftMessages = new Map();
  for (const { identity, seq } of nodes) left.set(identity, [...(left.get(identity) ?? []), seq]);
  return left;
}

/** The message that its client has moved to here. */
function movedFrom(
  { echoes }: SessionLog,
  left: LeftMessages,
  { identity }: Pick<LogMessage, "identity">,
): Echo | undefined {
  const seq = left.get(identity)?.shift();
  if (seq === undefined) return undefined;
  return echoes.get(seq) ?? { of: seq, isWhole: true };
}

/** What a message says again on a branch that can look up where it was said first. */
export function echoOn(
  log: SessionLog,
  branch: string,
  { message, left }: { readonly message: LogMessage; readonly left: LeftMessages },
): Echo | undefined {
  const echo = movedFrom(log, left, message) ?? echoIn(log, message);
  const first = log.nodes.get(echo?.of ?? -1)?.branch;
  return first !== undefined && ownBranches(log, branch).has(first) ? echo : undefined;
}

/** Whether an answer in a request is in no place of the log: its client spells or places it otherwise. */
export function bringsAnswers(
  log: SessionLog,
  {
    messages,
    links,
  }: { readonly messages: readonly LogMessage[]; readonly links: readonly Link[] },
): boolean {
  // Before a message that is in its place all others are in theirs.
  const { common } = findCommon(log, links);
  return messages.slice(common).some(({ role }) => role === "assistant");
}

/** Of the newest answers of a session. Older ones are not rearranged any more. */
const recalledMax = 2000;
const answersPerStep = 64;

/** Contract: afterwards the log knows what its answers have said, also those that were recorded by an earlier process. */
export async function recallAnswers(store: Pick<Store, "bodies">, log: SessionLog): Promise<void> {
  log.recalled ??= readAnswers(store, log).catch((error: unknown) => {
    delete log.recalled;
    if (PlimsollError.is(error) && error.code === "STORE_CORRUPT") throw error;
    // A store that cannot be read now must not end a conversation: an answer may be recorded twice.
  });
  await log.recalled;
}

async function readAnswers(store: Pick<Store, "bodies">, log: SessionLog): Promise<void> {
  const nodes = [...log.nodes.values()].filter(({ source }) => source !== "inner");
  const answers = nodes.filter(
    ({ role, source }) => role === "assistant" && (source === "answer" || source === "echo"),
  );
  const marks = await marksIn(store, log, answers.slice(-recalledMax));
  const first = new Map<string, number>();
  for (const { seq, source, identity, isComplete } of nodes) {
    const said = { marks: marks.get(seq) };
    if (source === "answer" && isComplete) noteMarks(log, seq, said);
    const moved = first.get(identity);
    const echo =
      echoIn(log, said) ?? (moved === undefined ? undefined : { of: moved, isWhole: true });
    if (source !== "echo") first.set(identity, seq);
    else if (echo !== undefined) log.echoes.set(seq, echo);
  }
}

async function marksIn(
  store: Pick<Store, "bodies">,
  { record }: SessionLog,
  nodes: readonly NodeRecord[],
): Promise<ReadonlyMap<number, Marks>> {
  const wire = wireNamed(record.wire);
  const marks = new Map<number, Marks>();
  for (let start = 0; start < nodes.length; start += answersPerStep) {
    const seqs = nodes.slice(start, start + answersPerStep).map(({ seq }) => seq);
    for (const [seq, body] of await store.bodies(record.id, seqs)) {
      const message = decode(wire, body);
      const found = message && marksOf(message.role, message.parts);
      if (found !== undefined) marks.set(seq, found);
    }
  }
  return marks;
}
