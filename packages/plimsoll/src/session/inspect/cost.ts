/** Adds up the cost of sessions from the turns in the store. */

import {
  addFigures,
  type CostFigures,
  costOfTurn,
  nothingPaid,
  type PaidTurn,
} from "../../prompt/cost.ts";
import type { Store, TurnRecord } from "../../store/store.ts";
import type { PricesOf } from "../measure/prices.ts";

export interface ModelCost extends CostFigures {
  /** The model as `provider/model`. */
  readonly model: string;
  /** The source of the model's prices, and the date on which they were read. Undefined if no prices are known. */
  readonly prices?: { readonly source: string; readonly date: string };
}

export interface CostReport extends CostFigures {
  readonly sessions: number;
  readonly models: readonly ModelCost[];
  /** True if there are too many sessions or turns to add up, so that the figures cover only the newest. */
  readonly isPartial: boolean;
}

const maxTurns = 100_000;
const maxSessions = 1000;
const sessionsPerPage = 100;

/**
 * One session, or all sessions of a tenant. If `tenant` is undefined, the sessions of all tenants, which only the owner may see.
 */
export type CostOf = { readonly session: string } | { readonly tenant: string | undefined };

type Turns = Pick<Store, "turns">;

interface CostWorld {
  readonly store: Store;
  readonly pricesOf: PricesOf;
}

export function costOf({ store, pricesOf }: CostWorld, of: CostOf): Promise<CostReport> {
  return "session" in of
    ? costOfSession(store, pricesOf, of.session)
    : costOfAll(store, pricesOf, of.tenant);
}

async function costOfSession(store: Turns, pricesOf: PricesOf, id: string): Promise<CostReport> {
  const turns = await store.turns(id, maxTurns);
  return reportOf(pricesOf, [turns], turns.length >= maxTurns);
}

async function costOfAll(
  store: Turns & Pick<Store, "sessions">,
  pricesOf: PricesOf,
  tenant: string | undefined,
): Promise<CostReport> {
  const sums: CostReport[] = [];
  let before: { readonly updatedAt: number; readonly id: string } | undefined;
  for (;;) {
    const page = await store.sessions({
      ...(tenant === undefined ? {} : { tenant }),
      ...(before === undefined ? {} : { before }),
      limit: sessionsPerPage,
    });
    for (const { id } of page) sums.push(await costOfSession(store, pricesOf, id));
    const last = page.at(-1);
    const isLast = last === undefined || page.length < sessionsPerPage;
    if (isLast || sums.length >= maxSessions) return addReports(sums, !isLast);
    before = { updatedAt: last.updatedAt, id: last.id };
  }
}

/** `sessions` has the turns of each session, newest first. */
function reportOf(
  pricesOf: PricesOf,
  sessions: readonly (readonly TurnRecord[])[],
  isPartial: boolean,
): CostReport {
  const models = new Map<string, ModelCost>();
  let all = nothingPaid;
  for (const turns of sessions) {
    const lastOf = new Map<string, LastTurn>();
    for (const turn of turns.toReversed()) {
      const list = pricesOf({ provider: turn.provider ?? "", model: turn.model });
      const figures = costOfTurn(paid(turn, lastOf.get(turn.branch) ?? none), list);
      // Prefers Plimsoll's count, because the reported usage is the sum of all inner rounds of the turn.
      const lastTokens = turn.tokensAfter ?? turn.usage?.inputTokens ?? 0;
      lastOf.set(turn.branch, { lastTokens, lastBefore: turn.tokensBefore ?? lastTokens });
      all = addFigures(all, figures);
      const model = `${turn.provider ?? "unknown"}/${turn.model}`;
      const { source, date, prices } = list;
      models.set(model, {
        model,
        ...addFigures(models.get(model) ?? nothingPaid, figures),
        ...(prices === undefined ? {} : { prices: { source, date } }),
      });
    }
  }
  return { ...all, sessions: sessions.length, models: [...models.values()], isPartial };
}

type LastTurn = Pick<PaidTurn, "lastTokens" | "lastBefore">;
const none: LastTurn = { lastTokens: 0, lastBefore: 0 };

/** The facts that determine the cost of a turn. A turn that never reached a provider costs nothing. */
function paid(turn: TurnRecord, last: LastTurn): PaidTurn {
  const { usage, measurement, outcome, status } = turn;
  const isSent = usage !== undefined || (status !== "failed" && outcome !== "refused");
  const tokensAfter = isSent ? (turn.tokensAfter ?? measurement.total) : 0;
  return {
    ...(usage === undefined ? {} : { usage }),
    tokensBefore: isSent ? (turn.tokensBefore ?? tokensAfter) : 0,
    tokensAfter,
    window: turn.window,
    headTokens: measurement.system + measurement.tools,
    ...last,
    isCompaction: isSent && (outcome === "compacted" || outcome === "recovered"),
  };
}

function addReports(reports: readonly CostReport[], isPartial: boolean): CostReport {
  const models = new Map<string, ModelCost>();
  let all = nothingPaid;
  for (const report of reports) {
    all = addFigures(all, report);
    for (const one of report.models) {
      const known = models.get(one.model);
      models.set(one.model, known === undefined ? one : { ...one, ...addFigures(known, one) });
    }
  }
  return {
    ...all,
    sessions: reports.length,
    models: [...models.values()],
    isPartial: isPartial || reports.some((report) => report.isPartial),
  };
}
