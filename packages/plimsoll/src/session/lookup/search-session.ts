/** Finds the passages of a whole session that answer a query: small sessions at once, large ones in a thread. */

import { Worker } from "node:worker_threads";
import type { Message } from "../../message/message.ts";
import { searchableText } from "../../search/message-text.ts";
import type { WordVectors } from "../../search/vectors.ts";
import type { NodeRecord, SessionRecord, Store } from "../../store/store.ts";
import type { Wire } from "../../wire/format/wire.ts";
import { wireNamed } from "../../wire/wires.ts";
import { newPartsIn } from "../measure/essence.ts";
import { createJobThread, type JobOutcome } from "../threads/job-thread.ts";
import { decode } from "./archived-text.ts";
import { callsOf, speakerOf, titleOf } from "./readable-message.ts";
import { type SearchedMessage, type SessionPassage, searchMessages } from "./recall-index.ts";
import type { RecallAnswer, RecallJob } from "./recall-worker.ts";
import type { Scope } from "./scope.ts";

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
    asked: Omit<RecallJob, "messages">,
  ): Promise<SearchOutcome> => {
    const job = asked;
    const first = await ask(job);
    const isUnknown = first.kind === "answered" && first.answer.kind === "unknown";
    const outcome = isUnknown
      ? await ask({ ...job, messages: await readMessages(world.store, session, nodes) })
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
              passages: searchMessages(await readMessages(world.store, session, nodes), world, {
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

async function readMessages(
  store: Pick<Store, "bodies" | "clientSpellings">,
  session: Pick<SessionRecord, "id" | "wire">,
  nodes: readonly NodeRecord[],
): Promise<readonly SearchedMessage[]> {
  const wire = wireNamed(session.wire);
  const tools = new Map<string, string>();
  const messages: SearchedMessage[] = [];
  for (let start = 0; start < nodes.length; start += messagesPerStep) {
    const step = nodes.slice(start, start + messagesPerStep).map(({ seq }) => seq);
    const bodies = await store.bodies(session.id, step);
    const clientSpellings = await store.clientSpellings(session.id, step);
    for (const number of step) {
      const message = decodeIn(wire, bodies.get(number));
      if (message === undefined) continue;
      for (const [id, name] of callsOf(message)) tools.set(id, name);
      const spelled = decodeIn(wire, clientSpellings.get(number));
      messages.push({
        number,
        role: speakerOf(message),
        title: titleOf(message, tools),
        text: textOf(message, spelled),
      });
    }
  }
  return messages;
}

function decodeIn(wire: Wire | undefined, bytes: Uint8Array | undefined): Message | undefined {
  return bytes === undefined ? undefined : decode(wire, bytes);
}

/** The text of an answer, including anything that the client added to it. `spelled` is the answer as the client sends it back. */
function textOf(message: Message, spelled: Message | undefined): string {
  const putIn = spelled === undefined ? [] : newPartsIn(spelled, message);
  return searchableText({ role: message.role, parts: [...message.parts, ...putIn] });
}

function startRecallWorker(): Worker {
  return new Worker(new URL("./recall-worker.ts", import.meta.url), {
    name: "recall",
    resourceLimits: { maxOldGenerationSizeMb: 2048 },
  });
}
