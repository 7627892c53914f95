/** Adding to the log: new messages, new branches, events. What is added is stored by save-log.ts. */

import type { PlimsollEvent, Relation } from "../../message/event.ts";
import { packBody } from "../../store/body.ts";
import type { NodeRecord, Write } from "../../store/store.ts";
import { echoOn, type LeftMessages, noteMarks, noteWords } from "./echoes.ts";
import { newId } from "./ids.ts";
import {
  appendNode,
  type BranchState,
  extendLink,
  type Link,
  type LogMessage,
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
  /** Of all messages of the request, as the log names them. */
  readonly links?: readonly Link[];
  /** Leading system messages that are others than those of the log: they are stored with the turn. */
  readonly leadingMessages?: readonly Uint8Array[];
}

/** The last message of a request, or the root, and the hashes up to there. */
export interface Tip {
  readonly seq: number | null;
  readonly link: Link;
}

export interface MessageToAppend {
  readonly message: LogMessage;
  readonly bytes: Uint8Array;
  /** Where it is known already: behind the message before it, or behind where they are added. */
  readonly link?: Link | undefined;
}

export interface Appending {
  readonly turn: string;
  /** The branch on which they are said. */
  readonly branch: string;
  readonly source: NodeRecord["source"];
  readonly isComplete: boolean;
  readonly at: number;
  /** What the client sends elsewhere now, or no more. */
  readonly left?: LeftMessages;
}

/** Adds messages one below the other and gives the last. Bytes are packed now, while the model works. */
export function appendMessages(
  log: SessionLog,
  from: Tip,
  messages: readonly MessageToAppend[],
  appending: Appending,
): Tip {
  let tip = from;
  for (const message of messages) tip = appendMessage(log, tip, message, appending);
  return tip;
}

function appendMessage(
  log: SessionLog,
  parent: Tip,
  added: MessageToAppend,
  appending: Appending,
): Tip {
  const { message, bytes } = added;
  const { left = new Map(), ...place } = appending;
  const link = added.link ?? extendLink(parent.link, message);
  const isSent = appending.source === "request";
  const echo = isSent ? echoOn(log, appending.branch, { message, left }) : undefined;
  const { node, isNew } = appendNode(log, {
    ...place,
    ...(echo === undefined ? {} : { source: "echo" }),
    message,
    link,
    parent: parent.seq,
  });
  if (node.source === "answer" && node.isComplete) noteMarks(log, node.seq, message);
  if (node.source === "answer" || node.source === "echo") noteWords(log, node.seq, message.marks);
  if (echo !== undefined && node.source === "echo") log.echoes.set(node.seq, echo);
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
  readonly left?: string | undefined;
  readonly agent?: string | undefined;
  readonly at: number;
}

/** The first branch of a session is called main. */
export function startNewBranch(log: SessionLog, branch: BranchToStart): BranchState {
  const { agent, left, ...rest } = branch;
  const id = log.branches.size === 0 ? "main" : newId("br");
  const state = startBranch(log, {
    id,
    ...rest,
    ...(agent === undefined ? {} : { agent }),
    ...(left === undefined ? {} : { left }),
  });
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

export function announceSession(log: SessionLog, agent: string | undefined, at: number): void {
  const { id: session, wire } = log.record;
  announce(log, {
    type: "session-start",
    session,
    at,
    wire,
    ...(agent === undefined ? {} : { agent }),
  });
}
