/**
 * What a client says again in another place: answers, whole or in pieces, and messages that it moves. Each of them was said
 * once. An answer is known by its marks, which are read again from the store where an earlier process has recorded it.
 */

import { PlimsollError } from "../../message/error.ts";
import type { NodeRecord, Store } from "../../store/store.ts";
import { wireNamed } from "../lookup/archived-text.ts";
import {
  type Echo,
  findCommon,
  type Link,
  type LogMessage,
  type Marks,
  type SessionLog,
} from "../log/log.ts";
import { marksInBody } from "../measure/message-facts.ts";
import { ownBranches } from "../log/visible.ts";

interface Marked {
  readonly marks?: Marks | undefined;
}

/** A session of this many answers has long forgotten the first ones. */
const maxMarks = 20_000;

export function noteMarks(log: SessionLog, seq: number, { marks }: Marked): void {
  if (marks === undefined) return;
  const { answerByMark } = log;
  if (answerByMark.size > maxMarks) answerByMark.clear();
  const { calls, texts, shortTexts, allTexts } = marks;
  for (const mark of calls) answerByMark.set(mark, { seq, size: calls.length });
  // A text beside calls is never the whole answer.
  const sizeOf = (size: number): number => (calls.length > 0 ? Number.POSITIVE_INFINITY : size);
  for (const mark of shortTexts) answerByMark.set(mark, { seq, size: Number.POSITIVE_INFINITY });
  answerByMark.set(allTexts, { seq, size: sizeOf(1) });
  for (const mark of texts) answerByMark.set(mark, { seq, size: sizeOf(texts.length) });
  noteWords(log, seq, marks);
}

/** So many spellings of one answer are told apart. */
const maxSpellings = 4;

export function noteWords({ words }: SessionLog, seq: number, marks: Marks | undefined): void {
  const known = words.get(seq) ?? [];
  if (marks === undefined || known.includes(marks.words) || known.length >= maxSpellings) return;
  words.set(seq, [...known, marks.words]);
}

/** Whether a message has the words of an answer, as it was given or as its client has sent it back. */
export function hasWordsOf({ words }: SessionLog, seq: number, { marks }: Marked): boolean {
  return marks !== undefined && words.get(seq)?.includes(marks.words) === true;
}

/** Whether a message of a request is, word for word, one that is in the log. */
export function saysSame(
  log: SessionLog,
  { seq, identity, hash }: NodeRecord,
  message: LogMessage | undefined,
): boolean {
  if (message === undefined) return false;
  const isSame = identity === message.identity || hash === message.hash;
  return isSame || hasWordsOf(log, seq, message);
}

/** The answer that a message repeats, and says nothing beside: by its calls, and without calls by its texts. */
export function echoIn({ answerByMark }: SessionLog, { marks }: Marked): Echo | undefined {
  if (marks === undefined) return undefined;
  const { calls, texts, shortTexts, allTexts } = marks;
  const answers = (calls.length > 0 ? calls : texts).map((mark) => answerByMark.get(mark));
  const [first] = answers;
  if (first === undefined || answers.includes(undefined)) return undefined;
  const isKnown = (mark: string): boolean => answerByMark.has(mark);
  if (!isKnown(allTexts) && ![...texts, ...shortTexts].every(isKnown)) return undefined;
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

type Recalling = Pick<Store, "bodies" | "wordings">;

/** Contract: afterwards the log knows what its answers have said, also those that were recorded by an earlier process. */
export async function recallAnswers(store: Recalling, log: SessionLog): Promise<void> {
  log.recalled ??= readAnswers(store, log).catch((error: unknown) => {
    delete log.recalled;
    if (PlimsollError.is(error) && error.code === "STORE_CORRUPT") throw error;
    // A store that cannot be read now must not end a conversation: an answer may be recorded twice.
  });
  await log.recalled;
}

async function readAnswers(store: Recalling, log: SessionLog): Promise<void> {
  const nodes = [...log.nodes.values()].filter(({ source }) => source !== "inner");
  const answers = nodes.filter(
    ({ role, source }) => role === "assistant" && (source === "answer" || source === "echo"),
  );
  const rivals = answers.slice(0, -recalledMax).filter(({ parent }) => hasRivals(log, parent));
  const recalled = [...rivals.slice(-recalledMax), ...answers.slice(-recalledMax)];
  const { marks, spellings } = await marksIn(store, log, recalled);
  const first = new Map<string, number>();
  for (const { seq, source, identity, isComplete } of nodes) {
    const said = { marks: marks.get(seq) };
    if (source === "answer" && isComplete) noteMarks(log, seq, said);
    noteWords(log, seq, said.marks);
    const moved = first.get(identity);
    const echo =
      echoIn(log, said) ?? (moved === undefined ? undefined : { of: moved, isWhole: true });
    if (source !== "echo") first.set(identity, seq);
    else if (echo !== undefined) log.echoes.set(seq, echo);
  }
  for (const [seq, spelled] of spellings) noteWords(log, seq, spelled);
}

/** Only their words tell answers of one place apart. */
function hasRivals({ answersBelow }: SessionLog, parent: number | null): boolean {
  return (answersBelow.get(parent ?? 0)?.length ?? 0) > 1;
}

interface RecalledMarks {
  readonly marks: ReadonlyMap<number, Marks>;
  /** As clients have sent answers back. */
  readonly spellings: ReadonlyMap<number, Marks>;
}

async function marksIn(
  store: Recalling,
  { record }: SessionLog,
  nodes: readonly NodeRecord[],
): Promise<RecalledMarks> {
  const wire = wireNamed(record.wire);
  const [marks, spellings] = [new Map<number, Marks>(), new Map<number, Marks>()];
  const read = (bodies: ReadonlyMap<number, Uint8Array>, into: Map<number, Marks>): void => {
    for (const [seq, body] of bodies) {
      const found = wire && marksInBody(wire, body);
      if (found !== undefined) into.set(seq, found);
    }
  };
  for (let start = 0; start < nodes.length; start += answersPerStep) {
    const seqs = nodes.slice(start, start + answersPerStep).map(({ seq }) => seq);
    read(await store.bodies(record.id, seqs), marks);
    read(await store.wordings(record.id, seqs), spellings);
  }
  return { marks, spellings };
}
