/** The routes of /api that change a session: undo, restore, checkpoint, pin, compact and reset. */

import { z } from "zod";
import { unitTypes } from "../../message/tag.ts";
import type { Steering } from "../../session/steer/steer.ts";
import { type Given, text, whole } from "../http/arguments.ts";
import type { Route } from "../http/route-table.ts";
import { findSession } from "./sessions.ts";
import { type ApiWorld, route } from "./world.ts";

const branchOr = (place: string): z.ZodOptional<z.ZodString> =>
  text(200, `The branch. Default: the branch of the ${place}.`).optional();
const branch = branchOr("last request");
const branchOfEdit = branchOr("edit, or of the last request if you name no edit");

/** A route that changes one session. */
function steer<B extends z.ZodType>(
  action: string,
  about: string,
  body: B,
  run: (steering: Steering, session: string, asked: Given<z.output<B>>) => Promise<unknown>,
): Route<ApiWorld> {
  return route({
    method: "POST",
    path: `/api/sessions/{id}/${action}`,
    who: "token",
    about,
    body,
    reply: "json",
    handle: async ({ world: { engine }, caller, params, body: asked }) => {
      const { id } = await findSession(engine.store, caller, params["id"] ?? "");
      return run(engine.steering, id, asked);
    },
  });
}

const pinWish = z
  .strictObject({
    first: whole("Number of the first message to pin.").optional(),
    last: whole("Number of the last message to pin. Default: `first`.").optional(),
    release: whole("Id of the pin to release.").optional(),
    branch,
  })
  .refine(
    ({ first, last, release, branch: on }) =>
      release === undefined
        ? first !== undefined
        : first === undefined && last === undefined && on === undefined,
    "To pin messages, send `first`. `last` and `branch` are optional. To release a pin, send only `release`.",
  );

const afresh = z.strictObject({
  reason: text(500, "The reason for the fresh start. Default: Plimsoll's own words.").optional(),
  task: text(
    200,
    "The task in your own words. The handover tells the model to continue this task.",
  ).optional(),
  branch,
});

export const steerRoutes: readonly Route<ApiWorld>[] = [
  steer(
    "undo",
    "Undoes an edit and all edits that were made together with it. 409 if the conversation would no longer fit.",
    z.strictObject({
      edit: whole("Number of the edit. Default: the last one.").optional(),
      branch: branchOfEdit,
    }),
    (steering, session, asked) => steering.undo(session, asked),
  ),
  steer(
    "restore",
    "Restores the view of an earlier point. Name the point by `checkpoint`, `seq` or `at`.",
    z.strictObject({
      checkpoint: text(100, "Id of a checkpoint, such as `cp_7`.").optional(),
      seq: whole("Number of an edit.").optional(),
      at: whole("A time, in milliseconds since 1970.").optional(),
      branch,
    }),
    (steering, session, asked) => steering.restore(session, asked),
  ),
  steer(
    "fork",
    "Makes a new session from this one, or from a point of it. Answers `{ id, from, messages, last }`. Name the point by `message`, `checkpoint`, `seq` or `at`. Default: the newest message.",
    z.strictObject({
      message: whole(
        "Number of the message in the log after which the new session begins.",
      ).optional(),
      checkpoint: text(100, "Id of a checkpoint, such as `cp_7`.").optional(),
      seq: whole("Number of an edit.").optional(),
      at: whole("A time, in milliseconds since 1970.").optional(),
      branch,
    }),
    (steering, session, asked) => steering.fork(session, asked),
  ),
  steer(
    "checkpoint",
    "Makes a checkpoint, to which `restore` can go back. Answers `{ id }`.",
    z.strictObject({ label: text(500, "A name for the checkpoint.").optional(), branch }),
    (steering, session, asked) => steering.checkpoint(session, asked),
  ),
  steer(
    "pin",
    "Pins messages, so that they stay as they are, and answers `{ id }`. With `release`, it releases a pin instead.",
    pinWish,
    (steering, session, { release, first = 0, ...rest }) =>
      release === undefined
        ? steering.pin(session, { first, ...rest })
        : steering.release(session, { pin: release }),
  ),
  steer(
    "tag",
    "Says how important a message is (`priority`, `relevance`) or what it contains (`type`). Later tags replace earlier ones.",
    z.strictObject({
      message: whole("Number of the message in the log."),
      priority: z
        .literal([1, 2, 3])
        .describe("1 is the highest priority: the message is taken out last.")
        .optional(),
      type: z
        .enum(unitTypes)
        .describe("The type of the text, which decides how it is shortened.")
        .optional(),
      relevance: z
        .number()
        .min(0)
        .max(1)
        .describe("From 0 to 1: how much the message has to do with the current task.")
        .optional(),
    }),
    async (steering, session, { message, ...tag }) => {
      await steering.tag(session, { message, tag });
      return { message, ...tag };
    },
  ),
  steer(
    "compact",
    "Compacts the conversation now. Without `keep` and `budget`, the goal is the same as in a turn (half of the limit, or, if the head is large, the head plus two fifths of the rest of the limit), but at most the head plus three fifths of the conversation. If nothing was said since the last compaction, only the goal of a turn counts. Answers with the tokens and messages before and after, and the strategies.",
    z.strictObject({
      keep: z
        .enum(["none", "lastTwo", "half", "quarter"])
        .describe(
          "How much of the middle of the conversation stays: nothing, the last two units, half, or a quarter.",
        )
        .optional(),
      budget: whole("Maximum number of tokens after the compaction.").optional(),
      branch,
    }),
    (steering, session, asked) => steering.compact(session, asked),
  ),
  steer(
    "reset",
    "Starts afresh: a handover replaces the conversation so far. If `recovery_mode` is not `fresh_start`, Plimsoll follows that setting instead.",
    afresh,
    (steering, session, asked) => steering.reset(session, asked),
  ),
  steer(
    "milestone",
    "Says that a piece of work is finished. The next turn starts afresh, as after `reset`. Answers `{ branch }`.",
    afresh,
    (steering, session, asked) => steering.milestone(session, asked),
  ),
];
