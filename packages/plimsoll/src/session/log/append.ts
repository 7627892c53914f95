/** Adds messages, branches and events to the log in memory. save.ts stores them. */

import { setImmediate as nextTurn } from "node:timers/promises";
import { clientName } from "../../message/client-name.ts";
import type { PlimsollEvent, Relation } from "../../message/event.ts";
import type { MessageTag } from "../../message/tag.ts";
import type { Priority } from "../../message/unit.ts";
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
  rememberInSession,
  type SessionLog,
  startBranch,
} from "./log.ts";

/** The place of a request in the log. */
export interface Placed {
  readonly log: SessionLog;
  readonly branch: BranchState;
  readonly relation: Relation;
  readonly tip: Tip;
  readonly newMessages: number;
  /** Links of all messages of the request, as they are in the log. */
  readonly links?: readonly Link[];
  /** Leading system messages of the request, if they differ from those in the log. They are stored with the turn. */
  readonly leadingMessages?: readonly Uint8Array[];
}

/** The last message of a request, or the root of the log, with the running hashes up to there. */
export interface Tip {
  readonly seq: number | null;
  readonly link: Link;
}

export interface MessageToAppend {
  readonly message: LogMessage;
  readonly bytes: Uint8Array;
  /** The link of this message, if the caller already knows it. It must continue the link of the message before it. */
  readonly link?: Link | undefined;
  /** What the caller said about this message. */
  readonly tag?: MessageTag | undefined;
}

export interface Appending {
  readonly turn: string;
  /** The branch to which the messages are added. */
  readonly branch: string;
  readonly source: NodeRecord["source"];
  readonly isComplete: boolean;
  readonly at: number;
  /** Messages that the client no longer sends, or now sends in another place. */
  readonly left?: LeftMessages;
  /** The priority of the session or the request. New messages without a priority of their own get it. */
  readonly priority?: Priority | undefined;
}

/** Appends each message as a child of the one before it, and returns the last. The bytes are packed while the model works. */
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

/** Name of the queue in which requests wait until they may look for their place in this log, or add messages to it. */
export function placingIn({ record: { id } }: SessionLog): string {
  return `log\0${id}`;
}

/** Number of messages that are added, or read, before other work may run. */
export const messagesPerStep = 1000;

/** Like `appendMessages`, but lets other work run in between. Contract: nobody else adds messages to this log meanwhile. */
export async function appendInSteps(
  log: SessionLog,
  from: Tip,
  messages: readonly MessageToAppend[],
  appending: Appending,
): Promise<Tip> {
  let tip = from;
  for (let at = 0; at < messages.length; at += messagesPerStep) {
    if (at > 0) await nextTurn();
    tip = appendMessages(log, tip, messages.slice(at, at + messagesPerStep), appending);
  }
  return tip;
}

function appendMessage(
  log: SessionLog,
  parent: Tip,
  added: MessageToAppend,
  appending: Appending,
): Tip {
  const { message, bytes } = added;
  const { left = new Map(), priority, ...place } = appending;
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
    noteTags(log, node.seq, { priority, tag: added.tag });
    log.unsaved.push(messageWrite(log, node, bytes));
  }
  return { seq: node.seq, link };
}

async function messageWrite(
  { record: { id: session, tenant } }: SessionLog,
  node: NodeRecord,
  bytes: Uint8Array,
): Promise<Write> {
  return { kind: "message", session, tenant, node, body: await packBody(bytes, session) };
}

function noteTags(
  log: SessionLog,
  seq: number,
  {
    priority,
    tag,
  }: { readonly priority: Priority | undefined; readonly tag?: MessageTag | undefined },
): void {
  const place = { first: seq, last: seq };
  if (tag !== undefined) rememberInSession(log, { kind: "tagged", run: { ...place, ...tag } });
  if (priority === undefined || tag?.priority !== undefined) return;
  rememberInSession(log, { kind: "tagged", run: { ...place, priority, isGeneral: true } });
}

export interface BranchToStart {
  readonly relation: Relation;
  readonly forkSeq: number | null;
  readonly left?: string | undefined;
  readonly agent?: string | undefined;
  readonly at: number;
}

/** The first branch of a session is called "main". */
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

/** The event is stored with the next commit. Subscribers receive it after that commit. */
export function announce(log: SessionLog, event: PlimsollEvent): void {
  log.unsaved.push(Promise.resolve({ kind: "event", tenant: log.record.tenant, event }));
}

/** The agent of a session as its events name it: by its own name, or else by the name of its program. */
export function agentOf({ record }: SessionLog): { readonly agent?: string } {
  const agent = record.agent ?? record.client ?? clientName(record);
  return agent === undefined ? {} : { agent };
}

export function announceSession(log: SessionLog, agent: string | undefined, at: number): void {
  const { id: session, wire, client, folder } = log.record;
  announce(log, {
    type: "session-start",
    session,
    at,
    wire,
    ...(client === undefined ? {} : { client }),
    ...(folder === undefined ? {} : { folder }),
    ...(agent === undefined ? {} : { agent }),
  });
}
