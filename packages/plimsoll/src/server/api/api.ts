/** The routes of /api and /events: who may call each, what it takes, what it answers. */

import { z } from "zod";
import { configChange, readConfigAnswer, writeConfig } from "../../config/settings-file.ts";
import type { Engine } from "../../engine.ts";
import { detailsOf } from "../../session/inspect/message-details.ts";
import { receiptsOf } from "../../session/inspect/receipts.ts";
import type { RestorePoint } from "../../session/log/checkpoints.ts";
import { looksLikeId } from "../../session/log/ids.ts";
import type { SessionRecord } from "../../store/store.ts";
import { count, type Given, nothing, number, text } from "../http/arguments.ts";
import type { Caller } from "../http/checks.ts";
import type { Route } from "../http/route-table.ts";
import { readArchive, search } from "./archive.ts";
import { serveEvents } from "./events.ts";
import { agentsOf, diffAsText, historyOf, rowsOf } from "./read-models.ts";
import { describeSession, findSession, readLog, readMeasurement } from "./sessions.ts";
import { steerRoutes } from "./steer.ts";
import { type ApiWorld, route } from "./world.ts";

const pageLimit = count({ usual: 100, max: 1000 }, "How many.");
const branch = text(200, "The branch; else the one that was sent last.").optional();
const session = text(200, "Only of this session.").optional();

/** `cp_7` is a checkpoint, a number an edit. */
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
  .meta({ words: "text", description: "The `next` of the page before." });

/** The owner sees those of all. */
function tenantOf({ isOwner, tenant }: Caller): { readonly tenant?: string } {
  return isOwner ? {} : { tenant };
}

interface AskedSession<Q extends z.ZodType> {
  readonly session: SessionRecord;
  readonly query: Given<z.output<Q>>;
}

/** What is read of one session. */
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
  ofSession("", "The session, its branches and its last turn.", nothing, ({ store }, asked) =>
    describeSession(store, asked.session),
  ),
  ofSession(
    "/log",
    "Every message as it came: `{ items, next? }`.",
    z.strictObject({
      limit: pageLimit,
      after: count({ usual: 0 }, "The `next` of the page before."),
    }),
    ({ store }, asked) => readLog(store, asked.session.id, asked.query),
  ),
  ofSession(
    "/view",
    "What the model sees: `{ messages, tokens, limit }`.",
    z.strictObject({ branch }),
    ({ steering }, asked) => steering.view(asked.session.id, asked.query.branch),
  ),
  ofSession("/edits", "What was taken out, and why.", nothing, async ({ store }, asked) => ({
    items: await store.edits(asked.session.id),
  })),
  ofSession(
    "/receipts",
    "What each compaction took out, what survived, what it saved.",
    nothing,
    async ({ store }, asked) => ({ items: await receiptsOf(store, asked.session.id) }),
  ),
  ofSession("/checkpoints", "Points to come back to.", nothing, async ({ steering }, asked) => ({
    items: await steering.checkpoints(asked.session.id),
  })),
  ofSession(
    "/measurement",
    "Tokens of the last turn by component, as counted and as reported.",
    nothing,
    ({ store }, asked) => readMeasurement(store, asked.session),
  ),
  ofSession("/cost", "What the session has cost and saved.", nothing, ({ inspect }, asked) =>
    inspect.cost({ session: asked.session.id }),
  ),
  ofSession(
    "/diff",
    "What the model saw at two points: `{ branch, from, to, rows }`; a row is `same`, `changed`, `removed` or `added`.",
    z.strictObject({
      from: point("Before; else the beginning."),
      to: point("After; else now."),
      branch,
      form: z
        .enum(["text"])
        .describe("Readable parts, and runs of equal messages as one row.")
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
    "The history, oldest first: what each turn took by component, limit, usage, money, outcome.",
    z.strictObject({ limit: count({ usual: 1000, max: 10_000 }, "How many.") }),
    (engine, asked) => historyOf(engine, asked.session.id, asked.query.limit),
  ),
  ofSession(
    "/window",
    "What fills the window: `{ window, limit, tokens, cachedTokens, units }`, every unit in order with its segments, tokens, edits and handle.",
    z.strictObject({ at: point("Then; else now."), branch }),
    ({ inspect }, asked) => inspect.picture(asked.session.id, asked.query),
  ),
  ofSession(
    "/messages",
    "Up to 50 messages as they were said, what the model sees in their place, and the edits between.",
    z.strictObject({
      first: count({ usual: 1 }, "Number of the first message."),
      last: number("Of the last one; else the first is the only one."),
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
      "What was recorded, newest first: `{ items, next? }`. Wherever a `window` is told, `isWindowGuess: true` says that nobody has told how large it is.",
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
    about: "Sessions by the name in `x-plimsoll-agent`, with the newest one's last turn.",
    reply: "json",
    handle: ({ world: { engine }, caller }) => agentsOf(engine, tenantOf(caller).tenant),
  }),
  route({
    method: "GET",
    path: "/api/cost",
    who: "token",
    about:
      "What all sessions of the caller's have cost: `{ turns, measured, sentTokens, cachedTokens, writtenTokens, freshTokens, outputTokens, usd, estimatedUsd, savedTokens, savedUsd, compactions, compactionTokens, compactionUsd, sessions, models, isPartial }`; money is null where it is unknown.",
    reply: "json",
    handle: ({ world: { engine }, caller }) =>
      engine.inspect.cost({ tenant: tenantOf(caller).tenant }),
  }),
  route({
    method: "GET",
    path: "/api/errors",
    who: "token",
    about:
      "What went wrong, last first: `TOKEN_LIMIT_EXCEEDED`, `BREAKER_FAILED`, `RECOVERY_TRIGGERED`.",
    query: z.strictObject({ session, limit: pageLimit }),
    reply: "json",
    handle: async ({ world: { engine }, caller, query }) => ({
      items: await engine.store.errors({ ...tenantOf(caller), ...query }),
    }),
  }),
  route({
    method: "GET",
    path: "/api/search",
    who: "token",
    about:
      "Passages word for word: `{ items: [{ text, number, role, score, session }] }`. Without `session`, of the newest one, where only one is recorded under the token; other tokens than the owner's see the branch that was sent last.",
    query: z.strictObject({
      q: z.string().trim().min(1).describe("What to look for."),
      session: text(200, "In this session.").optional(),
      budget: count({ usual: 2000, max: 32_000 }, "Tokens that the passages may have."),
    }),
    reply: "json",
    handle: ({ world: { engine }, caller, query }) => search(engine, caller, query),
  }),
  route({
    method: "GET",
    path: "/api/archive/{handle}",
    who: "token",
    about:
      'What left the window: `{ handle, bytes, offset, content, nextOffset? }`; a range is a JSON array of the messages as they were; `encoding: "base64"` where a page is no text.',
    query: z.strictObject({
      offset: count({ usual: 0 }, "First byte."),
      limit: count({ usual: 65_536, max: 16 * 1024 * 1024 }, "Bytes."),
      message: number("Instead of a page, the one message that a mark `#17` names."),
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
    about: "Progress and limits: `{ revision, file, progress, limits }`.",
    reply: "json",
    handle: ({ world: { configFile } }) => readConfigAnswer(configFile),
  }),
  route({
    method: "PUT",
    path: "/api/config",
    who: "owner",
    about:
      "Writes the user's YAML file; holds from the next turn on. 409 when the file was changed meanwhile.",
    body: configChange,
    reply: "json",
    handle: ({ world: { engine, configFile }, body }) => {
      engine.settings.change(writeConfig(configFile, body));
      return readConfigAnswer(configFile);
    },
  }),
  route({
    method: "GET",
    path: "/events",
    who: "token",
    about:
      "Server-sent events; `Last-Event-ID` resumes. `context-breaking-update` (`{ phase, progress, message, priority? }`, one for each of nine phases that a compaction enters) is live only and has no id.",
    query: z.strictObject({ session }),
    reply: "own",
    handle: ({ world: { engine, closing }, request, response, caller, query }) =>
      serveEvents(engine, { request, response, caller, closing }, query),
  }),
];

export const apiRoutes: readonly Route<ApiWorld>[] = [
  ...listRoutes,
  ...sessionRoutes,
  ...steerRoutes,
  ...otherRoutes,
];
