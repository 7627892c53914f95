/** The routes of /api and /events: who may call each one, its arguments, and its answer. */

import { z } from "zod";
import { configChange } from "../../config/settings-file.ts";
import type { Engine } from "../../engine.ts";
import { PlimsollError } from "../../message/error.ts";
import { archiveRows, editRows } from "../../session/inspect/edited-messages.ts";
import { detailsOf } from "../../session/inspect/message-details.ts";
import { receiptsOf } from "../../session/inspect/receipts.ts";
import type { RestorePoint } from "../../session/log/checkpoints.ts";
import { looksLikeId } from "../../session/log/ids.ts";
import type { SessionRecord, Store } from "../../store/store.ts";
import { count, type Given, nothing, number, text } from "../http/arguments.ts";
import type { Caller } from "../http/checks.ts";
import type { Route } from "../http/route-table.ts";
import { readArchive, search } from "./archive.ts";
import { serveEvents } from "./events.ts";
import { forgetRoutes } from "./forget.ts";
import { agentsOf, diffAsText, historyOf, rowsOf } from "./read-models.ts";
import { describeSession, findSession, readLog, readMeasurement } from "./sessions.ts";
import { steerRoutes } from "./steer.ts";
import { taskRoutes, ticketRoutes } from "./work.ts";
import { type ApiWorld, route } from "./world.ts";

const pageLimit = count({ usual: 100, max: 1000 }, "Maximum number of items.");
const branch = text(200, "The branch. Default: the branch of the last request.").optional();
const session = text(
  200,
  "Only this session: its id, or the beginning of its id. Default: all sessions.",
).optional();

/** The schema of a point in a session's history: a checkpoint such as `cp_7`, or the number of an edit. */
function point(about: string) {
  return z
    .string()
    .regex(/^(?:cp_)?\d{1,15}$/, "a checkpoint (cp_7) or the number of an edit")
    .transform(
      (name): RestorePoint =>
        name.startsWith("cp_") ? { checkpoint: name } : { seq: Number(name) },
    )
    .optional()
    .meta({ words: "`cp_7`, or the number of an edit", description: about });
}

const cursor = z
  .string()
  .regex(/^\d{1,16}\.\w+$/, "the `next` of an earlier page")
  .refine((name) => looksLikeId(name.split(".")[1] ?? ""), "the `next` of an earlier page")
  .transform((name) => {
    const [time, id = ""] = name.split(".");
    return { updatedAt: Number(time), id };
  })
  .optional()
  .meta({ words: "text", description: "The `next` of the previous page." });

/** The tenant whose data a caller sees. Empty for the owner, because the owner sees the data of all tenants. */
function tenantOf({ isOwner, tenant }: Caller): { readonly tenant?: string } {
  return isOwner ? {} : { tenant };
}

/** The whole id of a session. A name that no session has stays as it is, because the session may begin later. */
async function idOf(store: Store, caller: Caller, name: string): Promise<string> {
  try {
    return (await findSession(store, caller, name)).id;
  } catch (error) {
    if (PlimsollError.is(error) && error.code === "SESSION_UNKNOWN") return name;
    throw error;
  }
}

interface AskedSession<Q extends z.ZodType> {
  readonly session: SessionRecord;
  readonly query: Given<z.output<Q>>;
}

/** A route that reads something about one session. */
function ofSession<Q extends z.ZodType>(
  view: string,
  about: string,
  query: Q,
  read: (engine: Engine, asked: AskedSession<Q>) => Promise<unknown>,
): Route<ApiWorld> {
  return route({
    method: "GET",
    path: `/api/sessions/{id}${view}`,
    who: "token",
    about,
    query,
    reply: "json",
    handle: async ({ world: { engine }, caller, params, query: asked }) => {
      const found = await findSession(engine.store, caller, params["id"] ?? "");
      return read(engine, { session: found, query: asked as Given<z.output<Q>> });
    },
  });
}

const sessionRoutes: readonly Route<ApiWorld>[] = [
  ofSession("", "The session with its branches and its last turn.", nothing, (engine, asked) =>
    describeSession(engine, asked.session),
  ),
  ofSession(
    "/log",
    "Every message as it came, oldest first: `{ items, next? }`.",
    z.strictObject({
      limit: pageLimit,
      after: count({ usual: 0 }, "The `next` of the previous page."),
    }),
    ({ store }, asked) => readLog(store, asked.session.id, asked.query),
  ),
  ofSession(
    "/view",
    "The conversation as the model sees it: `{ messages, tokens, limit }`. `tokens` is the size of the whole window.",
    z.strictObject({ branch }),
    ({ steering }, asked) => steering.view(asked.session.id, asked.query.branch),
  ),
  ofSession(
    "/edits",
    "All edits, each with its reason and the messages that it touches.",
    nothing,
    async ({ store }, asked) => ({ items: await editRows(store, asked.session.id) }),
  ),
  ofSession(
    "/archive",
    "The handles of the session, newest first, each with the count of its messages and the first words of these.",
    nothing,
    async ({ store }, asked) => ({ items: await archiveRows(store, asked.session) }),
  ),
  ofSession(
    "/receipts",
    "A receipt for each compaction: what it took out, what survived, and how much it saved.",
    nothing,
    async ({ store }, asked) => ({ items: await receiptsOf(store, asked.session.id) }),
  ),
  ofSession(
    "/checkpoints",
    "The checkpoints, to which `restore` can go back.",
    nothing,
    async ({ steering }, asked) => ({
      items: await steering.checkpoints(asked.session.id),
    }),
  ),
  ofSession(
    "/measurement",
    "Tokens of the last turn by component: Plimsoll's own counts, and the provider's report.",
    nothing,
    ({ store }, asked) => readMeasurement(store, asked.session),
  ),
  ofSession(
    "/holdings",
    "How much the store contains of the session: `{ sessions, messages, archiveEntries, bytes }`. A deletion removes all of it.",
    nothing,
    ({ forgetting }, asked) => forgetting.holdings([asked.session.id]),
  ),
  ofSession("/cost", "Cost and savings of the session.", nothing, ({ inspect }, asked) =>
    inspect.cost({ session: asked.session.id }),
  ),
  ofSession(
    "/diff",
    "Compares what the model saw at two points: `{ branch, from, to, rows }`. A row is `same`, `changed`, `removed` or `added`.",
    z.strictObject({
      from: point("The earlier point. Default: the beginning."),
      to: point("The later point. Default: now."),
      branch,
      form: z
        .enum(["text"])
        .describe(
          "`text` shows messages as readable parts, and a run of equal messages as one row.",
        )
        .optional(),
    }),
    async ({ steering }, asked) => {
      const { form, from = { seq: 0 }, ...rest } = asked.query;
      const diff = await steering.diff(asked.session.id, { from, ...rest });
      return form === "text" ? diffAsText(diff, asked.session.wire) : diff;
    },
  ),
  ofSession(
    "/turns",
    "The turns, oldest first, each with its tokens by component, limit, usage, cost and outcome.",
    z.strictObject({ limit: count({ usual: 1000, max: 10_000 }, "Maximum number of turns.") }),
    (engine, asked) => historyOf(engine, asked.session.id, asked.query.limit),
  ),
  ofSession(
    "/window",
    "The contents of the window: `{ window, limit, tokens, cachedTokens, units }`. The units are in order, each with its segments, tokens, edits and handle.",
    z.strictObject({ at: point("The point to show. Default: now."), branch }),
    ({ inspect }, asked) => inspect.picture(asked.session.id, asked.query),
  ),
  ofSession(
    "/messages",
    "Up to 50 messages as they came, the same messages as the model sees them, and the edits that made the difference.",
    z.strictObject({
      first: count({ usual: 1 }, "Number of the first message."),
      last: number("Number of the last message. Default: `first`."),
      branch,
    }),
    ({ store }, asked) => {
      const { first, last = first, ...rest } = asked.query;
      return detailsOf(store, asked.session.id, { first, last, ...rest });
    },
  ),
];

const listRoutes: readonly Route<ApiWorld>[] = [
  route({
    method: "GET",
    path: "/api/sessions",
    who: "token",
    about:
      "The recorded sessions, newest first: `{ items, next? }`. In every answer of the API, `isWindowGuess: true` next to a `window` means that Plimsoll assumes this size, because nobody has stated the real one.",
    query: z.strictObject({ limit: pageLimit, after: cursor }),
    reply: "json",
    handle: async ({ world: { engine }, caller, query: { limit, after: before } }) => {
      const page = { ...tenantOf(caller), ...(before === undefined ? {} : { before }), limit };
      const items = await engine.store.sessions(page);
      const last = items.length === limit ? items.at(-1) : undefined;
      const next = last === undefined ? {} : { next: `${last.updatedAt}.${last.id}` };
      return { items: await rowsOf(engine, items), ...next };
    },
  }),
  route({
    method: "GET",
    path: "/api/agents",
    who: "token",
    about:
      "The agents, by the name that they send in `x-plimsoll-agent`, each with its number of sessions, the last turn of its newest session, and its `state`: `busy` while one of its turns runs, `error` after a turn failed, otherwise `idle`.",
    reply: "json",
    handle: ({ world: { engine }, caller }) => agentsOf(engine, tenantOf(caller).tenant),
  }),
  route({
    method: "GET",
    path: "/api/cost",
    who: "token",
    about:
      "Cost and savings of all sessions that the caller may see: `{ turns, measured, sentTokens, cachedTokens, writtenTokens, freshTokens, outputTokens, usd, estimatedUsd, savedTokens, savedUsd, compactions, compactionTokens, compactionUsd, sessions, models, isPartial }`. Amounts of money are null if they are unknown.",
    reply: "json",
    handle: ({ world: { engine }, caller }) =>
      engine.inspect.cost({ tenant: tenantOf(caller).tenant }),
  }),
  route({
    method: "GET",
    path: "/api/errors",
    who: "token",
    about:
      "Errors, newest first. Their codes are `TOKEN_LIMIT_EXCEEDED` (a request was too long for the provider, or became the final turn, or was refused), `BREAKER_FAILED` (all strategies failed), `RECOVERY_TRIGGERED` (what `recovery_mode` does was done), and `DEGRADED` (a failure inside Plimsoll, with its fallback as `rung`).",
    query: z.strictObject({ session, limit: pageLimit }),
    reply: "json",
    handle: async ({ world: { engine }, caller, query: { limit, session: name } }) => {
      const one = name === undefined ? {} : { session: await idOf(engine.store, caller, name) };
      return { items: await engine.store.errors({ ...tenantOf(caller), ...one, limit }) };
    },
  }),
  route({
    method: "GET",
    path: "/api/search",
    who: "token",
    about:
      "Finds passages of a session and quotes them word for word, best first: `{ items: [{ text, number, role, title, score, missingChars?, session }] }`. `title` says who said it, such as `user` or `tool result of read_file`. `score` is the share of the query's information that the passage covers, from 0 to 1: rare words count more. Words that are only similar to a word of the query count less, and so do words that occur only in neighbouring passages. It can be compared between queries. A passage in the user's own words comes before all others, except those whose score is more than a quarter higher. `missingChars` says how many characters of the passage did not fit into `budget`. If nothing answers the query, `items` is empty. The owner's token searches the whole session, other tokens only the branch that was sent last.",
    query: z.strictObject({
      q: z.string().trim().min(1).describe("The words to look for."),
      session: text(
        200,
        "The session to search. Default: the newest one. Required with a tenant's token if that tenant has several sessions.",
      ).optional(),
      budget: count({ usual: 2000, max: 32_000 }, "Maximum number of tokens of all passages."),
    }),
    reply: "json",
    handle: ({ world: { engine }, caller, query }) => search(engine, caller, query),
  }),
  route({
    method: "GET",
    path: "/api/archive/{handle}",
    who: "token",
    about:
      'Content that was taken out of the window: `{ handle, bytes, offset, content, nextOffset? }`. If a handle covers several messages, `content` is a JSON array of these messages as they came. `encoding: "base64"` means that the page is not text.',
    query: z.strictObject({
      offset: count({ usual: 0 }, "The first byte to return."),
      limit: count({ usual: 65_536, max: 16 * 1024 * 1024 }, "Maximum number of bytes."),
      message: number(
        "Number of one message to return instead of a page. It is the number in a mark such as `#17`.",
      ),
    }),
    reply: "json",
    handle: ({ world: { engine }, caller, params, query }) =>
      readArchive(engine.store, caller, params["handle"] ?? "", query),
  }),
];

const otherRoutes: readonly Route<ApiWorld>[] = [
  route({
    method: "GET",
    path: "/api/config",
    who: "owner",
    about:
      "The settings for progress, budget and limits: `{ revision, loadedRevision, file, progress, agent, limits }`. If the two revisions differ, the file has changed since the service read it.",
    reply: "json",
    handle: ({ world: { settingsFile } }) => settingsFile.read(),
  }),
  route({
    method: "PUT",
    path: "/api/config",
    who: "owner",
    about:
      "Changes these settings in the user's YAML file. They apply from the next turn on. 409 if the file has changed since it was read.",
    body: configChange,
    reply: "json",
    handle: ({ world: { engine, settingsFile }, body }) => {
      engine.settings.change(settingsFile.write(body));
      return settingsFile.read();
    },
  }),
  route({
    method: "GET",
    path: "/events",
    who: "token",
    about:
      "A stream of server-sent events. `Last-Event-ID` continues after that event. A compaction sends a `context-breaking-update` (`{ phase, progress, message, priority? }`) for each phase that it enters (there are nine, and `failed` for a compaction that does not help). `settings-changed` tells the owner that settings were saved. These events have no id and are not repeated.",
    query: z.strictObject({ session }),
    reply: "own",
    handle: async ({ world: { engine, closing }, request, response, caller, query }) => {
      const { session: name } = query;
      const one = name === undefined ? {} : { session: await idOf(engine.store, caller, name) };
      return serveEvents(engine, { request, response, caller, closing }, one);
    },
  }),
];

export const apiRoutes: readonly Route<ApiWorld>[] = [
  ...listRoutes,
  ...sessionRoutes,
  ...steerRoutes,
  ...forgetRoutes,
  ...taskRoutes,
  ...ticketRoutes,
  ...otherRoutes,
];
