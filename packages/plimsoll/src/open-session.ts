/** Opens a session of the library: a new one, or an earlier one by its id. */

import type { Config } from "./config/schema.ts";
import { PlimsollError } from "./message/error.ts";
import type { JsonObject } from "./message/json.ts";
import { checkPriority } from "./message/tag.ts";
import { decodeMessage } from "./session/draft/encode.ts";
import {
  createSession,
  type Session,
  type SessionContext,
  type WireOfProvider,
} from "./session/library/session.ts";
import { pathTo, rememberInSession, type SessionLog } from "./session/log/log.ts";
import { unknownSession } from "./session/log/unknown-place.ts";
import type { Store } from "./store/store.ts";
import type { Wire } from "./wire/format/wire.ts";
import { wires } from "./wire/wires.ts";

export interface SessionOptions {
  readonly agent?: string;
  /**
   * 1 is the highest priority. A session with priority 1 has a limit that is a fifth higher. Messages that are appended without a
   * priority of their own get this one. It stays the same if the session is opened again.
   */
  readonly priority?: 1 | 2 | 3;
  /** The task of the session, such as its number. If Plimsoll has to start afresh, the handover tells the model to continue it. */
  readonly task?: string;
}

/** The tenant of the library's own sessions, tasks and tickets. */
export const libraryTenant = "library";

/** The wires of each vendor. The first wire of a vendor is the default. */
const wiresByVendor: ReadonlyMap<string, readonly Wire[]> = Map.groupBy(
  Object.values(wires),
  ({ vendor }) => vendor,
);

function wireOfProvider(config: Config): WireOfProvider {
  return (provider, wanted) => {
    const settings = new Map(Object.entries(config.providers ?? {})).get(provider);
    const spoken = wiresByVendor.get(settings?.wire ?? provider);
    if (spoken === undefined)
      throw new PlimsollError(
        "CONFIG_INVALID",
        `There is no provider "${provider}". Use one of ${[...wiresByVendor.keys()].join(", ")}, or configure it under \`providers\` with its \`wire\`.`,
      );
    const wire = spoken.find(({ name }) => wanted === undefined || name === wanted);
    if (wire !== undefined) return wire;
    throw new PlimsollError(
      "USAGE",
      `${provider} does not support the wire ${wanted}. Use ${spoken.map(({ name }) => name).join(" or ")}.`,
    );
  };
}

export async function newSession(
  context: SessionContext,
  config: Config,
  { agent, priority: given, task }: SessionOptions,
): Promise<Session> {
  const priority = given === undefined ? undefined : checkPriority(given, "`priority`");
  const named = agent === undefined ? {} : { agent };
  const log = context.sessions.create({ tenant: libraryTenant, wire: "", ...named });
  const facts = {
    ...(priority === undefined ? {} : { priority }),
    ...(task === undefined ? {} : { task }),
  };
  if (Object.keys(facts).length > 0) rememberInSession(log, { kind: "opened", ...facts });
  return createSession(context, wireOfProvider(config), {
    log,
    sentMessages: [],
    ...named,
    ...(priority === undefined ? {} : { priority }),
  });
}

export async function resumeSession(
  context: SessionContext,
  config: Config,
  id: string,
): Promise<Session> {
  const log = await context.sessions.byId(id).catch(async (error: unknown) => {
    // The damaged session has been put aside, so there is no session to open.
    if (await context.mender.mend(error)) return undefined;
    throw error;
  });
  if (log === undefined) {
    throw unknownSession(`no session ${id}`);
  }
  const { agent } = log.record;
  const { priority } = log.memory;
  return createSession(context, wireOfProvider(config), {
    log,
    sentMessages: await readMessages(context.store, log),
    ...(agent === undefined ? {} : { agent }),
    ...(priority === undefined ? {} : { priority }),
  });
}

/** The original messages of the session's first branch. */
async function readMessages(store: Store, log: SessionLog): Promise<readonly JsonObject[]> {
  const [branch] = log.branches.values();
  const path = pathTo(log, branch?.record.tipSeq ?? null);
  const bodies = await store.bodies(
    log.record.id,
    path.map(({ seq }) => seq),
  );
  return path.flatMap(({ seq }) => {
    const body = bodies.get(seq);
    return body === undefined ? [] : [decodeMessage(body)];
  });
}
