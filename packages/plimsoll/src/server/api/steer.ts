/** The write side of /api: undo, restore, checkpoint, pin, compact and reset. */

import { z } from "zod";
import type { Steering } from "../../session/steer/steer.ts";
import { type Given, text, whole } from "../http/arguments.ts";
import type { Route } from "../http/route-table.ts";
import { findSession } from "./sessions.ts";
import { type ApiWorld, route } from "./world.ts";

const branch = text(
  200,
  "The branch; else that of the edit, or the one that was sent last.",
).optional();

/** A wish about one session. */
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
    first: whole("Number of the first message that is to stay as it is.").optional(),
    last: whole("Of the last one; else the first is the only one.").optional(),
    release: whole("The id of a pin that is to be released.").optional(),
    branch,
  })
  .refine(
    ({ first, last, release, branch: on }) =>
      release === undefined
        ? first !== undefined
        : first === undefined && last === undefined && on === undefined,
    "Send `first`, perhaps with `last` and `branch`, to pin messages, or `release` alone to release a pin.",
  );

export const steerRoutes: readonly Route<ApiWorld>[] = [
  steer(
    "undo",
    "Takes an edit back, and all that was made with it. 409 when the conversation would not fit then.",
    z.strictObject({ edit: whole("Number of the edit; else the last one.").optional(), branch }),
    (steering, session, asked) => steering.undo(session, asked),
  ),
  steer(
    "restore",
    "Shows the view of an earlier point again: one of `checkpoint`, `seq` and `at` names it.",
    z.strictObject({
      checkpoint: text(100, "`cp_7`.").optional(),
      seq: whole("Number of an edit.").optional(),
      at: whole("A time, in milliseconds since 1970.").optional(),
      branch,
    }),
    (steering, session, asked) => steering.restore(session, asked),
  ),
  steer(
    "checkpoint",
    "Marks this point to come back to. Answers `{ id }`.",
    z.strictObject({ label: text(500, "What it is called.").optional(), branch }),
    (steering, session, asked) => steering.checkpoint(session, asked),
  ),
  steer(
    "pin",
    "Keeps messages as they are, and answers `{ id }`; or releases a pin.",
    pinWish,
    (steering, session, { release, first = 0, ...rest }) =>
      release === undefined
        ? steering.pin(session, { first, ...rest })
        : steering.release(session, { pin: release }),
  ),
  steer(
    "compact",
    "Makes the conversation smaller now: without `keep` and `budget` as deep as a turn would go (half of the limit; beside a large head, two fifths of the room that it leaves). Answers with tokens and messages before and after, and the strategies.",
    z.strictObject({
      keep: z
        .enum(["none", "lastTwo", "half", "quarter"])
        .describe("What stays of the conversation.")
        .optional(),
      budget: whole("Tokens that it may have then.").optional(),
      branch,
    }),
    (steering, session, asked) => steering.compact(session, asked),
  ),
  steer(
    "reset",
    "Puts a handover in place of what came before, as `recovery_mode` says.",
    z.strictObject({
      reason: text(500, "Why.").optional(),
      task: text(200, "What is to be done next.").optional(),
      branch,
    }),
    (steering, session, asked) => steering.reset(session, asked),
  ),
];
