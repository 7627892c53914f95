/** Finds the passages of a whole session that answer a query: small sessions at once, large ones in a thread. */

import { Worker } from "node:worker_threads";
import type { Message } from "../../message/message.ts";
import type { WordVectors } from "../../search/vectors.ts";
import type { NodeRecord, SessionRecord, Store } from "../../store/store.ts";
import type { Wire } from "../../wire/format/wire.ts";
import { wireNamed } from "../../wire/wires.ts";
import { newPartsIn } from "../measure/essence.ts";
import { createJobThread, type JobOutcome } from "../threads/job-thread.ts";
import { decode } from "./archived-text.ts";
import { callsOf } from "./readable-message.ts";
import { type SearchedSegment, type SessionPassage, searchSegments } from "./recall-index.ts";
import type { RecallAnswer, RecallJob } from "./recall-worker.ts";
import type { Scope } from "./scope.ts";
import { segmentsOf } from "./segments.ts";

export type SearchOutcome =
  | {
      readonly kind: "found";
      /** The passages found, best match first. */
      readonly passages: readonly SessionPassage[];
      /** Messages before this number were not searched, because there were too many. */
      readonly since?: number;
    }
  | Exclude<JobOutcome<never>, { readonly kind: "answered" | "closed" }>;

export interface SearchLimits {
  readonly budgetTokens: number;
  /** Whether the message with this number must not appear in the results. */
  readonly isLeftOut?: (number: number) => boolean;
  /** Only messages in this scope are searched. */
  readonly scope?: Scope | undefined;
}

export interface SessionSearch {
  search(
    session: Pick<SessionRecord, "id" | "wire">,
    query: string,
    limits: SearchLimits,
  ): Promise<SearchOutcome>;
  close(): Promise<void>;
}

export interface SearchWorld {
  readonly store: Pick<Store, "snapshot" | "bodies" | "clientSpellings">;
  readonly vectors?: WordVectors;
  readonly count: (text: string) => number;
  /**
   * Maximum size in bytes of a session that is searched in the main thread. Larger sessions are searched in a separate thread.
   */
  readonly inPlaceBytes?: number;
  readonly timeoutMs?: number;
  readonly idleMs?: number;
  readonly startWorker?: () => Worker;
}

/** Default of `SearchWorld.inPlaceBytes`. A search in this many bytes takes about 20 ms on the event loop. */
const inPlaceBytes = 32_768;
/**
 * Maximum number of bytes to search, newest messages first. There is a bound because an index is about twenty times as large as
 * its texts.
 */
const searchedBytesMax = 32 * 1024 * 1024;
const messagesPerStep = 64;

export function createSessionSearch(world: SearchWorld): SessionSearch {
  const thread = createJobThread<RecallAnswer>({
    startWorker: world.startWorker ?? startRecallWorker,
    timeoutMs: world.timeoutMs ?? 60_000,
    // A long time, because the thread keeps its index, which is expensive to make.
    idleMs: world.idleMs ?? 300_000,
    waitingMax: 16,
  });
  const ask = (job: RecallJob): Promise<JobOutcome<RecallAnswer>> => thread.run(() => ({ job }));

  const searchInThread = async (
    session: Pick<SessionRecord, "id" | "wire">,
    nodes: readonly NodeRecord[],
    asked: Omit<RecallJob, "segments">,
  ): Promise<SearchOutcome> => {
    const job = asked;
    const first = await ask(job);
    const isUnknown = first.kind === "answered" && first.answer.kind === "unknown";
    const outcome = isUnknown
      ? await ask({ ...job, segments: await readSegments(world.store, session, nodes) })
      : first;
    if (outcome.kind === "closed") return { kind: "failed" };
    if (outcome.kind !== "answered") return outcome;
    return outcome.answer.kind === "found" ? outcome.answer : { kind: "failed" };
  };

  return {
    search: async (session, query, { budgetTokens, isLeftOut = () => false, scope }) => {
      const snapshot = await world.store.snapshot(session.id);
      const candidates = (snapshot?.nodes ?? []).filter(
        ({ source, seq }) =>
          source !== "inner" && source !== "echo" && scope?.isVisible(seq) !== false,
      );
      const nodes = newest(candidates);
      const leftOut = nodes.filter(({ seq }) => isLeftOut(seq)).map(({ seq }) => seq);
      if (leftOut.length === nodes.length) return { kind: "found", passages: [] };
      const bytes = nodes.reduce((sum, node) => sum + node.bytes, 0);
      const outcome: SearchOutcome =
        bytes <= (world.inPlaceBytes ?? inPlaceBytes)
          ? {
              kind: "found",
              passages: searchSegments(await readSegments(world.store, session, nodes), world, {
                query,
                budgetTokens,
                leftOut,
              }),
            }
          : await searchInThread(session, nodes, {
              // Identifies exactly these messages. A rewound branch may have the same number of messages, but different ones.
              key: [session.id, scope?.branch ?? "", nodes.length, nodes.at(-1)?.seq ?? 0].join(
                "#",
              ),
              query,
              budgetTokens,
              leftOut,
              hasVectors: world.vectors !== undefined,
            });
      const since = nodes.length < candidates.length ? nodes[0]?.seq : undefined;
      return outcome.kind === "found" && since !== undefined ? { ...outcome, since } : outcome;
    },
    close: () => thread.close(),
  };
}

function newest(nodes: readonly NodeRecord[]): readonly NodeRecord[] {
  let first = nodes.length;
  for (let bytes = 0; first > 0; first--) {
    bytes += nodes[first - 1]?.bytes ?? 0;
    if (bytes > searchedBytesMax) break;
  }
  return nodes.slice(first);
}

async function readSegments(
  store: Pick<Store, "bodies" | "clientSpellings">,
  session: Pick<SessionRecord, "id" | "wire">,
  nodes: readonly NodeRecord[],
): Promise<readonly SearchedSegment[]> {
  const tools = new Map<string, string>();
  const segments: SearchedSegment[] = [];
  for (let start = 0; start < nodes.length; start += messagesPerStep) {
    const step = nodes.slice(start, start + messagesPerStep).map(({ seq }) => seq);
    for (const { number, message } of await readMessages(store, session, step)) {
      for (const [id, name] of callsOf(message)) tools.set(id, name);
      for (const segment of segmentsOf(message, tools)) segments.push({ ...segment, number });
    }
  }
  return segments;
}

/** The messages with these numbers. Messages that cannot be read are left out. */
async function readMessages(
  store: Pick<Store, "bodies" | "clientSpellings">,
  session: Pick<SessionRecord, "id" | "wire">,
  numbers: readonly number[],
): Promise<readonly { readonly number: number; readonly message: Message }[]> {
  const wire = wireNamed(session.wire);
  const bodies = await store.bodies(session.id, numbers);
  const clientSpellings = await store.clientSpellings(session.id, numbers);
  return numbers.flatMap((number) => {
    const message = decodeIn(wire, bodies.get(number));
    const spelled = decodeIn(wire, clientSpellings.get(number));
    return message === undefined ? [] : [{ number, message: withPutIn(message, spelled) }];
  });
}

function decodeIn(wire: Wire | undefined, bytes: Uint8Array | undefined): Message | undefined {
  return bytes === undefined ? undefined : decode(wire, bytes);
}

/** An answer with everything that the client added to it. `spelled` is the answer as the client sends it back. */
function withPutIn(message: Message, spelled: Message | undefined): Message {
  const putIn = spelled === undefined ? [] : newPartsIn(spelled, message);
  return { role: message.role, parts: [...message.parts, ...putIn] };
}

function startRecallWorker(): Worker {
  return new Worker(new URL("./recall-worker.ts", import.meta.url), {
    name: "recall",
    resourceLimits: { maxOldGenerationSizeMb: 2048 },
  });
}
