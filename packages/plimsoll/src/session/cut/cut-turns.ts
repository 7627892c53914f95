/** Handles the cut answers of turns in the background: tasks, tickets and files, and a note in the session's next request. */

import type { StreamingSettings } from "../../config/streaming.ts";
import { errorMessage } from "../../message/error.ts";
import type { AnswerCutEvent } from "../../message/event.ts";
import { messageText } from "../../message/message.ts";
import type { NodeRecord } from "../../store/store.ts";
import { retryBelow } from "../../work/after-cut.ts";
import { type Completion, completionOf } from "../../work/completion.ts";
import type { Background } from "../fit/background.ts";
import { announce } from "../log/append.ts";
import { remember, taskOf } from "../log/log.ts";
import type { LogSaver } from "../log/save.ts";
import { decode } from "../lookup/archived-text.ts";
import type { Steering } from "../steer/steer.ts";
import type { TurnContext } from "../turn/context.ts";
import type { CutTurnEnd } from "../turn/read-cut.ts";
import type { Work } from "../work/work.ts";
import { type CutHandled, type CutTurn, type CutWorld, handleCut } from "./handle-cut.ts";
import { knownLengths, type SeenMessage } from "./known-lengths.ts";
import type { PartialPlace } from "./save-partial.ts";

export interface CutTurnsWorld extends Pick<TurnContext, "store" | "now"> {
  readonly background: Background;
  readonly saver: Pick<LogSaver, "save">;
  readonly steering: Pick<Steering, "compact">;
  readonly work: Pick<Work, "tasks" | "tickets">;
  /** The folder for parts of answers. Undefined if nothing is kept after the process ends. */
  readonly folder: string | undefined;
  readonly settings: () => StreamingSettings;
}

/** What the caller of a library session knows about its answer. */
export interface OwnCut {
  readonly estimate?: number | undefined;
  readonly task?: string | undefined;
  readonly prompt?: string | undefined;
  readonly place?: PartialPlace | undefined;
}

export interface CutTurns {
  /** Handles a cut answer in the background. Contract: never throws. */
  readonly onCut: (cut: CutTurnEnd) => void;
  /** Handles a cut answer now, for a caller who can ask again. */
  readonly cutNow: (cut: CutTurnEnd, own: OwnCut) => Promise<CutHandled>;
}

export function createCutTurns(world: CutTurnsWorld): CutTurns {
  return {
    onCut: (cut) => {
      world.background.run(() => handle(world, cut));
    },
    cutNow: async (cut, own) => {
      const seen = await seenBefore(world, cut);
      const completion = completionOf(cut.answer, knownLengths(seen, own.estimate));
      const turn = { ...turnOf(cut, seen), ...given(own) };
      const handled = await handleCut(handlingIn(world, cut), turn);
      await tell(world, cut, { completion, handled });
      return handled;
    },
  };
}

/** The fields that have a value. */
function given(own: OwnCut): Partial<CutTurn> {
  return Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined));
}

async function handle(world: CutTurnsWorld, cut: CutTurnEnd): Promise<void> {
  const seen = await seenBefore(world, cut);
  const completion = completionOf(cut.answer, knownLengths(seen, undefined));
  const handled = isLeftToClient(world.settings(), cut, completion.share)
    ? undefined
    : await handleCut(handlingIn(world, cut), turnOf(cut, seen));
  if (handled?.kind === "followed-up" && handled.saved?.kind === "saved") {
    const { path } = handled.saved;
    remember(cut.placed.branch, { kind: "partial-saved", path, basis: completion.basis });
  }
  await tell(world, cut, { completion, handled });
}

async function tell(
  world: CutTurnsWorld,
  { placed: { log }, draft, answer }: CutTurnEnd,
  {
    completion,
    handled,
  }: { readonly completion: Completion; readonly handled: CutHandled | undefined },
): Promise<void> {
  const { share, basis } = completion;
  announce(log, {
    type: "answer-cut",
    session: log.record.id,
    at: world.now(),
    turn: draft.turn.id,
    end: answer.end,
    tokens: answer.tokens,
    ...(share === undefined ? {} : { share }),
    basis,
    ...outcomeOf(handled),
  });
  await world.saver.save(log);
}

function turnOf({ placed, answer }: CutTurnEnd, seen: readonly SeenMessage[]): CutTurn {
  const { id, tenant, agent, title = "" } = placed.log.record;
  const prompt = promptIn(seen) ?? title;
  return { tenant, session: id, agent, answer, seen, prompt, task: taskOf(placed) };
}

/**
 * The client has seen the beginning of the answer, so Plimsoll asks nothing again. If too little arrived, the client asks again.
 * Plimsoll only makes room before that, if the window was full.
 */
function isLeftToClient(
  { minShare, action }: StreamingSettings,
  { answer }: CutTurnEnd,
  share: number | undefined,
): boolean {
  const isEnough = share === undefined || share >= minShare;
  return action !== "escalate" && answer.end !== "window_full" && (!isEnough || action === "retry");
}

function handlingIn(world: CutTurnsWorld, { placed, fitted }: CutTurnEnd): CutWorld {
  const { work, folder, settings, steering } = world;
  const branch = placed.branch.record.id;
  return {
    work,
    folder,
    settings,
    compress: async (session) => {
      const now = { tokens: fitted.tokensAfter, limit: fitted.limit };
      if (now.tokens < now.limit * retryBelow) return now;
      try {
        const done = await steering.compact(session, { branch, isForRetry: true });
        return { tokens: done.tokensAfter, limit: fitted.limit };
      } catch {
        // Nothing more can be taken out.
        return now;
      }
    },
  };
}

function outcomeOf(
  handled: CutHandled | undefined,
): Pick<AnswerCutEvent, "outcome" | "partial" | "problem" | "task" | "followUp" | "ticket"> {
  if (handled === undefined) return { outcome: "seen" };
  const { kind: outcome, task } = handled;
  if (handled.kind === "escalated") return { outcome, task: task.id, ticket: handled.ticket.id };
  if (handled.kind === "compressed") return { outcome: handled.kind, task: task.id };
  const { saved, followUp } = handled;
  return {
    outcome: handled.kind,
    task: task.id,
    followUp: followUp.id,
    ...(saved?.kind === "saved" ? { partial: saved.path } : {}),
    ...(saved?.kind === "failed" ? { problem: saved.reason } : {}),
  };
}

/** Only so many messages before the answer tell how long it would have been. */
const seenMost = 60;

/** The newest messages before the answer, oldest first. Messages that cannot be read are left out. */
async function seenBefore(
  { store }: CutTurnsWorld,
  { placed: { log, tip }, draft: { wire } }: CutTurnEnd,
): Promise<readonly SeenMessage[]> {
  const nodes: NodeRecord[] = [];
  for (let at = tip.seq; at !== null && nodes.length < seenMost; ) {
    const node = log.nodes.get(at);
    if (node === undefined) break;
    nodes.unshift(node);
    at = node.parent;
  }
  const bodies = await store
    .bodies(
      log.record.id,
      nodes.map(({ seq }) => seq),
    )
    .catch((error: unknown) => {
      process.emitWarning(
        `The messages before a cut answer cannot be read: ${errorMessage(error)}`,
      );
      return new Map<number, Uint8Array>();
    });
  return nodes.flatMap(({ seq, tokens, source, isComplete }) => {
    const body = bodies.get(seq);
    const message = body === undefined ? undefined : decode(wire, body);
    return message === undefined
      ? []
      : [{ message, tokens, isWholeAnswer: source === "answer" && isComplete }];
  });
}

/** The user's last own words. */
function promptIn(seen: readonly SeenMessage[]): string | undefined {
  const last = seen.findLast(({ message }) => message.role === "user" && wordsOf(message) !== "");
  return last === undefined ? undefined : wordsOf(last.message);
}

function wordsOf({ role, parts }: SeenMessage["message"]): string {
  return messageText({ role, parts: parts.filter(({ kind }) => kind === "text") }).trim();
}
