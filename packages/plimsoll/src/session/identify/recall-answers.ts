/** Reads from the store the answers that an earlier process recorded, in case a client sends them back in other words. */

import { PlimsollError } from "../../message/error.ts";
import type { NodeRecord, Store } from "../../store/store.ts";
import { wireNamed } from "../../wire/wires.ts";
import { echoIn, noteMarks, noteWords } from "../log/echoes.ts";
import { findCommon, type Link, type LogMessage, type Marks, type SessionLog } from "../log/log.ts";
import { marksInBody } from "../measure/message-facts.ts";

/** Maximum number of answers to read, newest first. Clients do not rearrange older answers any more. */
const recalledMax = 2000;

const answersPerStep = 64;

type Recalling = Pick<Store, "bodies" | "clientSpellings">;

/** Contract: afterwards the log knows the words of its answers, including answers that an earlier process recorded. */
export async function recallAnswers(store: Recalling, log: SessionLog): Promise<void> {
  log.recalled ??= readAnswers(store, log).catch((error: unknown) => {
    delete log.recalled;
    if (PlimsollError.is(error) && error.code === "STORE_CORRUPT") throw error;
    // A store that cannot be read now must not end a conversation. At worst, an answer is recorded twice.
  });
  await log.recalled;
}

async function readAnswers(store: Recalling, log: SessionLog): Promise<void> {
  const nodes = [...log.nodes.values()].filter(({ source }) => source !== "inner");
  const { marks, spellings } = await marksIn(store, log, answersToRead(log, nodes));
  noteWording(log, nodes, marks);
  for (const [seq, spelled] of spellings) noteWords(log, seq, spelled);
}

/** The newest answers, and the older answers that the log can distinguish only by their words. */
function answersToRead(log: SessionLog, nodes: readonly NodeRecord[]): readonly NodeRecord[] {
  const answers = nodes.filter(
    ({ role, source }) => role === "assistant" && (source === "answer" || source === "echo"),
  );
  const rivals = answers.slice(0, -recalledMax).filter(({ parent }) => hasRivals(log, parent));
  return [...rivals.slice(-recalledMax), ...answers.slice(-recalledMax)];
}

/** Notes in the log the words of each message, and which messages are echoes of an earlier message. */
function noteWording(
  log: SessionLog,
  nodes: readonly NodeRecord[],
  marks: ReadonlyMap<number, Marks>,
): void {
  const first = new Map<string, number>();
  for (const { seq, source, identity, isComplete } of nodes) {
    const withMarks = { marks: marks.get(seq) };
    if (source === "answer" && isComplete) noteMarks(log, seq, withMarks);
    noteWords(log, seq, withMarks.marks);
    const moved = first.get(identity);
    const echo =
      echoIn(log, withMarks) ?? (moved === undefined ? undefined : { of: moved, isWhole: true });
    if (source !== "echo") first.set(identity, seq);
    else if (echo !== undefined) log.echoes.set(seq, echo);
  }
}

/** Whether this parent has several answers. Only their words can then tell them apart. */
function hasRivals({ answersBelow }: SessionLog, parent: number | null): boolean {
  return (answersBelow.get(parent ?? 0)?.length ?? 0) > 1;
}

interface RecalledMarks {
  readonly marks: ReadonlyMap<number, Marks>;
  /** The marks of each answer as the client sent it back, by message number. */
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
    read(await store.clientSpellings(record.id, seqs), spellings);
  }
  return { marks, spellings };
}

/**
 * Whether the request contains an answer that is not at the same place in the log, which means that the client has reworded or
 * moved it.
 */
export function bringsAnswers(
  log: SessionLog,
  {
    messages,
    links,
  }: { readonly messages: readonly LogMessage[]; readonly links: readonly Link[] },
): boolean {
  // If a message is at the same place in request and log, so are all messages before it.
  const { common } = findCommon(log, links);
  return messages.slice(common).some(({ role }) => role === "assistant");
}
