/** What follows a cut answer, and the task and ticket that it leaves. */

import { grouped } from "../text/digits.ts";
import type { Completion } from "./completion.ts";
import type { NewTask, Task } from "./task.ts";
import type { NewTicket } from "./ticket.ts";

export type AfterCut =
  /** The part that arrived is kept, and a follow-up task completes it. */
  | "follow-up"
  /** The conversation is made smaller, and the answer is asked for again. */
  | "compress"
  /** A person decides. */
  | "escalate";

export interface CutSettings {
  readonly minShare: number;
  readonly action: "create_followup_task" | "retry" | "escalate";
}

/** A share that nobody knows counts as enough: what arrived is kept, and repeating it would cost more. */
export function afterCut(
  { share }: Pick<Completion, "share">,
  { minShare, action }: CutSettings,
): AfterCut {
  if (action === "escalate") return "escalate";
  const isEnough = share === undefined || share >= minShare;
  return isEnough && action === "create_followup_task" ? "follow-up" : "compress";
}

/** A smaller conversation is asked again only below this share of its limit. */
export const retryBelow = 0.9;
/** The strategies that make a conversation smaller before it is asked again, in order. */
export const retryOrder = ["discard_low_rel", "content_type_chunking", "summarize_old"] as const;

export interface Leftover {
  readonly task: Pick<Task, "id" | "title" | "priority" | "session" | "agent">;
  readonly completion: Completion;
  readonly prompt: string;
  /** Path of the saved part. Undefined if it could not be saved; the session's log has it in any case. */
  readonly path: string | undefined;
}

export function followUpOf({ task, completion, prompt, path }: Leftover): NewTask {
  const where = path === undefined ? "it is in the log of the session" : `saved in ${path}`;
  return {
    title: `Complete: ${task.title.replace(/^(?:Complete: )+/, "")}`.slice(0, titleMost),
    description: `Previous attempt generated ${completion.basis} (${where}). Complete remaining implementation.`,
    priority: task.priority,
    parent: task.id,
    session: task.session,
    agent: task.agent,
    context: {
      ...(path === undefined ? {} : { partialCodePath: path }),
      ...(completion.share === undefined ? {} : { completionPercent: completion.share }),
      originalPrompt: prompt.slice(0, promptMost),
    },
  };
}

/** `size` is the size of the conversation that could not be made smaller. Undefined if nobody tried. */
export function investigationOf(
  { task, completion }: Pick<Leftover, "task" | "completion">,
  size: { readonly tokens: number; readonly limit: number } | undefined,
): NewTicket {
  const stopped = `The answer stopped, and ${completion.basis} of it had arrived.`;
  const about =
    size === undefined
      ? { title: "Cut answer", cause: stopped }
      : {
          title: "Token overflow",
          cause: `Context too large (${grouped(size.tokens)} tokens, limit: ${grouped(size.limit)}). ${stopped}`,
        };
  return {
    type: "investigation",
    title: `${about.title}: Cannot complete ${task.title}`.slice(0, titleMost),
    description: `${about.cause} Manual review needed.`,
    task: task.id,
    session: task.session,
  };
}

const titleMost = 300;
const promptMost = 20_000;
