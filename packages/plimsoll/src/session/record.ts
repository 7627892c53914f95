/** Writing a turn into the log: its new messages, its answer, and one transaction for both. */

import { errorMessage } from "../message/error.ts";
import type { EmittedEvent, PlimsollEvent, Relation } from "../message/event.ts";
import { packBody } from "../store/body.ts";
import type { Store, Write } from "../store/store.ts";
import type { EventBus } from "./event-bus.ts";
import { newId } from "./ids.ts";
import {
  appendNode,
  type BranchState,
  extendLink,
  type Link,
  type LogMessage,
  moveTip,
  type SessionLog,
  startBranch,
} from "./log.ts";

/** Where a request ended up in the log. */
export interface Placed {
  readonly log: SessionLog;
  readonly branch: BranchState;
  readonly relation: Relation;
  readonly tip: Tip;
  readonly newMessages: number;
}

/** The last message of a request, or the root, and the hashes up to there. */
export interface Tip {
  readonly seq: number | null;
  readonly link: Link;
}

export interface MessageToAppend {
  readonly message: LogMessage;
  readonly bytes: Uint8Array;
}

export interface Appending {
  readonly turn: string;
  readonly source: "request" | "answer";
  readonly isComplete: boolean;
  readonly at: number;
}

/** Adds messages one below the other and gives the last. Bytes are packed now, while the model works. */
export function appendMessages(
  log: SessionLog,
  from: Tip,
  messages: readonly MessageToAppend[],
  appending: Appending,
): Tip {
  let tip = from;
  for (const { message, bytes } of messages)
    tip = appendMessage(log, tip, { message, bytes }, appending);
  return tip;
}

function appendMessage(
  log: SessionLog,
  parent: Tip,
  added: MessageToAppend,
  appending: Appending,
): Tip {
  const { message, bytes } = added;
  const link = extendLink(parent.link, message);
  const { node, isNew } = appendNode(log, { ...appending, message, link, parent: parent.seq });
  if (isNew) {
    const { id: session, tenant } = log.record;
    log.unsaved.push(
      packBody(bytes).then((body): Write => ({ kind: "message", session, tenant, node, body })),
    );
  }
  return { seq: node.seq, link };
}

export interface BranchToStart {
  readonly relation: Relation;
  readonly forkSeq: number | null;
  readonly agent?: string | undefined;
  readonly at: number;
}

/** The first branch of a session is called main. */
export function startNewBranch(log: SessionLog, branch: BranchToStart): BranchState {
  const { agent, ...rest } = branch;
  const id = log.branches.size === 0 ? "main" : newId("br");
  const state = startBranch(log, { id, ...rest, ...(agent === undefined ? {} : { agent }) });
  announce(log, {
    type: "branch-start",
    session: log.record.id,
    branch: id,
    relation: branch.relation,
    at: branch.at,
  });
  return state;
}

/** Stored with the next commit, and handed to subscribers once it is. */
export function announce(log: SessionLog, event: PlimsollEvent): void {
  log.unsaved.push(Promise.resolve({ kind: "event", tenant: log.record.tenant, event }));
}

export function setTip(branch: BranchState, tip: Tip): void {
  moveTip(branch, tip.seq);
}

/** A store that stays away must not fill the memory: beyond this, the oldest bodies are let go. */
const maxUnsavedWrites = 20_000;
/** A disk that hangs must not hold an answer back for ever: then the turn is announced as not stored. */
const commitTimeoutMs = 10_000;

interface World {
  readonly store: Store;
  readonly bus: EventBus;
  readonly now: () => number;
}

/**
 * Commits everything that the session has not stored yet.
 * Contract: never rejects. What could not be written stays for the next commit.
 */
export async function saveLog(log: SessionLog, world: World): Promise<void> {
  const commit = log.lastCommit.then(() => flush(log, world));
  log.lastCommit = commit;
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, commitTimeoutMs);
  });
  await Promise.race([commit, timeout]);
  clearTimeout(timer);
}

async function flush(log: SessionLog, { store, bus, now }: World): Promise<void> {
  const batch = log.unsaved.splice(0);
  if (batch.length === 0) return;
  const moved = [...log.branches.values()].filter(({ isChanged }) => isChanged);
  for (const branch of moved) branch.isChanged = false;
  try {
    const writes = await Promise.all(batch);
    const receipt = await store.commit([...frameOf(log, moved), ...writes]);
    for (const emitted of eventsOf(writes, receipt.events)) bus.emit(emitted);
  } catch (error) {
    for (const branch of moved) branch.isChanged = true;
    log.unsaved.unshift(...batch);
    log.unsaved.splice(0, Math.max(0, log.unsaved.length - maxUnsavedWrites));
    const { tenant, id: session } = log.record;
    bus.emit({
      tenant,
      event: { type: "store-error", session, at: now(), message: errorMessage(error) },
    });
  }
}

/** The session and its branches, as they are now: what follows in the transaction refers to them. */
function frameOf(log: SessionLog, moved: readonly BranchState[]): readonly Write[] {
  const session = log.record.id;
  return [
    { kind: "session", session: log.record },
    ...moved.map(({ record }): Write => ({ kind: "branch", session, branch: record })),
  ];
}

function eventsOf(writes: readonly Write[], numbers: readonly number[]): readonly EmittedEvent[] {
  const events = writes.filter((write) => write.kind === "event");
  return events.map(({ tenant, event }, index) => {
    const seq = numbers[index];
    return seq === undefined ? { tenant, event } : { seq, tenant, event };
  });
}
