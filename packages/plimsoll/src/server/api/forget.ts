/** The routes of /api that delete sessions. */

import { z } from "zod";
import type { Engine } from "../../engine.ts";
import { PlimsollError } from "../../message/error.ts";
import { looksLikeId } from "../../session/log/ids.ts";
import { text } from "../http/arguments.ts";
import type { Caller } from "../http/checks.ts";
import type { Route } from "../http/route-table.ts";
import { findSession } from "./sessions.ts";
import { type ApiWorld, route } from "./world.ts";

/** Maximum number of sessions of one request. */
const sessionsMost = 10_000;
const sessionsPerPage = 1000;

const wish = z
  .strictObject({
    sessions: z
      .array(text(200, "An id."))
      .min(1)
      .max(sessionsMost)
      .describe("Ids of the sessions to delete.")
      .optional(),
    all: z
      .literal(true)
      .describe(
        "Deletes every session of the caller. With the owner's token, also every backup and every file that was put aside.",
      )
      .optional(),
  })
  .refine(
    ({ sessions, all }) => (sessions === undefined) !== (all === undefined),
    'Send either `sessions`, a list of ids, or `"all": true`.',
  );

const answers =
  "The answer says how much was deleted: `{ sessions, messages, archiveEntries, bytes, unfinished }`. `unfinished` lists what Plimsoll still has to delete, and is usually empty.";

export const forgetRoutes: readonly Route<ApiWorld>[] = [
  route({
    method: "DELETE",
    path: "/api/sessions/{id}",
    who: "token",
    about: `Deletes the session with all that belongs to it, from every file in the data folder. A running turn ends as usual, but is not recorded. ${answers}`,
    reply: "json",
    handle: async ({ world: { engine }, caller, params }) =>
      engine.forgetting.forget([await wholeId(engine, caller, params["id"] ?? "")]),
  }),
  route({
    method: "POST",
    path: "/api/forget",
    who: "token",
    about: `Deletes several sessions at once. Ids that are not those of the caller's sessions are skipped. If all of them are skipped, the answer is 404. ${answers}`,
    body: wish,
    reply: "json",
    handle: async ({ world: { engine }, caller, body: { sessions } }) => {
      if (sessions === undefined)
        return engine.forgetting.forget(await allOf(engine, caller), {
          isEverything: caller.isOwner,
        });
      return engine.forgetting.forget(await ownOf(engine, caller, sessions));
    },
  }),
];

/** The owner may also name a session of which only a file that was put aside is left. */
async function wholeId({ store }: Engine, caller: Caller, name: string): Promise<string> {
  if (caller.isOwner && looksLikeId(name)) return name;
  return (await findSession(store, caller, name)).id;
}

async function ownOf(
  engine: Engine,
  caller: Caller,
  names: readonly string[],
): Promise<readonly string[]> {
  const own: string[] = [];
  for (const name of names) {
    try {
      own.push(await wholeId(engine, caller, name));
    } catch (error) {
      if (!PlimsollError.is(error) || error.code !== "SESSION_UNKNOWN") throw error;
    }
  }
  if (own.length > 0) return own;
  throw new PlimsollError(
    "SESSION_UNKNOWN",
    "There are no such sessions. GET /api/sessions lists them.",
    { status: 404 },
  );
}

async function allOf({ store }: Engine, caller: Caller): Promise<readonly string[]> {
  const ids: string[] = [];
  const tenant = caller.isOwner ? {} : { tenant: caller.tenant };
  let before: { readonly updatedAt: number; readonly id: string } | undefined;
  // Every page is older than the one before it, so the loop ends.
  for (;;) {
    const query = before === undefined ? tenant : { ...tenant, before };
    const page = await store.sessions({ ...query, limit: sessionsPerPage });
    ids.push(...page.map(({ id }) => id));
    before = page.at(-1);
    if (page.length < sessionsPerPage) return ids;
  }
}
