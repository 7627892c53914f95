/**
 * Data for people, sent over /api: sessions with their last turn, agents, the turns of a session, the units of the window, and
 * messages and diffs as text.
 */

import type { Engine } from "../../engine.ts";
import type {
  AgentRow,
  Listed,
  SessionRow,
  ShownMessage,
  TextDiff,
  TextDiffRow,
  TurnPoint,
} from "../../message/api.ts";
import { clientName } from "../../message/client-name.ts";
import type { JsonValue } from "../../message/json.ts";
import { readableMessage } from "../../session/inspect/readable-parts.ts";
import { storedSize } from "../../session/measure/window-size.ts";
import type { DiffRow, ViewDiff } from "../../session/steer/view-diff.ts";
import type { SessionSummary } from "../../store/store.ts";
import type { Wire } from "../../wire/format/wire.ts";
import { wires } from "../../wire/wires.ts";

/** Maximum number of sessions in which to look for agents. The newest sessions are used. */
const sessionsOfAgents = 1000;

export async function rowsOf(
  engine: Engine,
  sessions: readonly SessionSummary[],
): Promise<readonly SessionRow[]> {
  return Promise.all(
    sessions.map(async (session) => {
      const names = await engine.inspect.names(session);
      return { ...session, ...names, ...(await windowOf(engine, session.id)) };
    }),
  );
}

/** The last turn of a session, and the tokens that are in its window now. */
async function windowOf(
  { inspect, store }: Engine,
  session: string,
): Promise<Pick<SessionRow, "tokens" | "lastTurn">> {
  const [lastTurn] = await inspect.turns(session, 1);
  if (lastTurn === undefined) return {};
  const tokens = storedSize(await store.memories(session), lastTurn);
  return { ...(tokens === undefined ? {} : { tokens }), lastTurn };
}

/** The agents, newest first. */
export async function agentsOf(
  engine: Engine,
  tenant: string | undefined,
): Promise<Listed<AgentRow>> {
  const sessions = await engine.store.sessions({
    ...(tenant === undefined ? {} : { tenant }),
    limit: sessionsOfAgents,
  });
  const limits = new Map(Object.entries(engine.settings.now().context_config?.per_agent ?? {}));
  const states = engine.work.agents(tenant);
  const byName = new Map<string, SessionSummary[]>();
  for (const session of sessions) {
    const name = session.agent ?? session.client ?? clientName(session) ?? "";
    byName.set(name, [...(byName.get(name) ?? []), session]);
  }
  const items = [...byName].map(async ([agent, own]): Promise<AgentRow> => {
    const [newest] = own;
    const id = newest?.id ?? "";
    const limit = limits.get(agent);
    return {
      agent,
      sessions: own.length,
      turns: own.reduce((sum, { turns }) => sum + turns, 0),
      updatedAt: newest?.updatedAt ?? 0,
      newest: id,
      state: states.get(agent) ?? "idle",
      ...(await windowOf(engine, id)),
      ...(limit === undefined ? {} : { limit }),
    };
  });
  return { items: await Promise.all(items) };
}

/** The turns of a session, oldest first. */
export async function historyOf(
  engine: Engine,
  session: string,
  limit: number,
): Promise<Listed<TurnPoint>> {
  return { items: (await engine.inspect.turns(session, limit)).toReversed() };
}

/** Joins runs of equal messages into one row. */
export function diffAsText(diff: ViewDiff, wireName: string): TextDiff {
  const wire = Object.values(wires).find(({ name }) => name === wireName);
  const rows: TextDiffRow[] = [];
  for (const row of diff.rows) {
    const last = rows.at(-1);
    if (row.kind === "same" && last?.kind === "same")
      rows[rows.length - 1] = { ...last, count: last.count + 1 };
    else rows.push(asText(row, wire));
  }
  return { branch: diff.branch, from: diff.from, to: diff.to, rows };
}

function asText(row: DiffRow, wire: Wire | undefined): TextDiffRow {
  switch (row.kind) {
    case "same":
      return { ...row, count: 1 };
    case "changed":
      return { ...row, was: readable(row.was, wire), is: readable(row.is, wire) };
    case "removed":
      return { ...row, was: readable(row.was, wire) };
    case "added":
      return { ...row, is: readable(row.is, wire) };
  }
}

function readable(json: JsonValue, wire: Wire | undefined): ShownMessage {
  const message = wire?.messages.asMessage(json);
  return wire === undefined || message === undefined
    ? { role: "user", parts: [{ kind: "opaque", text: JSON.stringify(json).slice(0, 65_536) }] }
    : readableMessage(wire.messages.decode(message));
}
