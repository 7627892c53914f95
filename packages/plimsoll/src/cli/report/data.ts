/** The data of a report. It is read only from the store, even while a service writes to it. */

import type { Config } from "../../config/schema.ts";
import type { TurnPoint, WindowPicture } from "../../message/api.ts";
import type { Edit } from "../../message/edit.ts";
import { PlimsollError } from "../../message/error.ts";
import type { CompactionEndEvent } from "../../message/event.ts";
import type { Money } from "../../prompt/cost.ts";
import { sendableTokensOf } from "../../prompt/saved.ts";
import { type CostReport, costOf } from "../../session/inspect/cost.ts";
import { pictureFromStore } from "../../session/inspect/picture-from-store.ts";
import { receiptsOf } from "../../session/inspect/receipts.ts";
import { pointOf } from "../../session/inspect/turn-history.ts";
import { revertedIn } from "../../session/log/view.ts";
import { createPrices } from "../../session/measure/prices.ts";
import type { ErrorRecord, SessionRecord, Store, TurnRecord } from "../../store/store.ts";

export interface Report {
  readonly session: Pick<SessionRecord, "id" | "wire" | "agent" | "createdAt" | "updatedAt">;
  readonly madeAt: number;
  /** The models that were used, as `provider/model`. The most used model comes first. */
  readonly models: readonly string[];
  readonly figures: ReportFigures;
  /** The window and its units. Absent if the session has no messages yet. */
  readonly picture?: WindowPicture;
  /** The turns, oldest first. */
  readonly turns: readonly TurnPoint[];
  /** Receipts of the newest thousand compactions, oldest first. */
  readonly receipts: readonly CompactionEndEvent[];
  /** Active edits, oldest first. */
  readonly edits: readonly Edit[];
  /** The errors of the session, newest first. */
  readonly errors: readonly ErrorRecord[];
}

export interface ReportFigures {
  readonly turns: number;
  /** Size of the requests that the client sent, and of the requests that Plimsoll sent on, in the provider's tokens. */
  readonly clientTokens: number;
  readonly sentTokens: number;
  readonly savedTokens: number;
  readonly savedShare: number;
  /** Share of the input that providers read from their cache, including inner rounds. Null if no provider reported it. */
  readonly cachedShare: number | null;
  readonly readTokens: number;
  readonly usd: Money;
  /** Estimated cost of turns without reported usage. */
  readonly estimatedUsd: Money;
  /** Estimated savings, at the price of cached input. */
  readonly savedUsd: Money;
  /** Date of the prices used. Absent if no prices are known. */
  readonly pricesOf?: string;
  readonly compactions: number;
  /** The number of compactions that were fresh starts. */
  readonly recoveries: number;
  /** The request that came closest to its limit. */
  readonly fullest?: { readonly turn: number; readonly tokens: number; readonly limit: number };
}

/** Maximum number of turns to add up. The newest are used. */
const turnsMost = 100_000;
const errorsMost = 200;

interface ReportWorld {
  readonly store: Store;
  readonly config: Config;
  readonly now: () => number;
  readonly onStep?: (what: string) => void;
}

export async function gatherReport(world: ReportWorld, id: string): Promise<Report> {
  const { store, config, now, onStep } = world;
  const record = await store.session(id);
  if (record === undefined)
    throw new PlimsollError(
      "SESSION_UNKNOWN",
      `There is no session ${id}. \`plimsoll sessions\` lists them.`,
    );
  onStep?.("turns");
  const pricesOf = createPrices(config);
  const records = (await store.turns(id, turnsMost)).toReversed();
  const cost = await costOf({ store, pricesOf }, { session: id });
  onStep?.("window");
  const picture = await pictureOf(world, id);
  onStep?.("receipts");
  const receipts = await receiptsOf(store, id);
  const edits = await store.edits(id);
  return {
    session: shownOf(record),
    madeAt: now(),
    models: modelsOf(cost),
    figures: figuresOf(records, cost, receipts.length),
    ...(picture === undefined ? {} : { picture }),
    turns: records.map((turn) => pointOf(pricesOf, turn)),
    receipts,
    edits: holdingOf(edits),
    errors: await store.errors({ session: id, limit: errorsMost }),
  };
}

function shownOf({ id, wire, agent, createdAt, updatedAt }: SessionRecord): Report["session"] {
  return { id, wire, ...(agent === undefined ? {} : { agent }), createdAt, updatedAt };
}

/** The window of the session. Undefined if the session has no messages yet. */
async function pictureOf(world: ReportWorld, id: string): Promise<WindowPicture | undefined> {
  try {
    return await pictureFromStore(world, id);
  } catch (error) {
    if (PlimsollError.is(error) && error.code === "NOTHING_TO_DO") return undefined;
    throw error;
  }
}

function modelsOf({ models }: CostReport): readonly string[] {
  return models
    .toSorted((one, other) => other.turns - one.turns)
    .map(({ model }) => model.replace(/^unknown\//, ""));
}

/** The active edits. Checkpoints, reverts and restores are left out, because they do not change the view themselves. */
function holdingOf(edits: readonly Edit[]): readonly Edit[] {
  const reverted = revertedIn(edits);
  const isChange = ({ action: { kind } }: Edit): boolean =>
    kind !== "checkpoint" && kind !== "revert" && kind !== "restore";
  return edits.filter((edit) => isChange(edit) && !reverted.has(edit.seq));
}

/** `receipts` is the number of receipts, including those of compactions by hand, which belong to no turn. */
function figuresOf(
  turns: readonly TurnRecord[],
  cost: CostReport,
  receipts: number,
): ReportFigures {
  const sent = turns.filter(wasSent);
  const sum = (of: (turn: TurnRecord) => number): number =>
    sent.reduce((all, turn) => all + of(turn), 0);
  const sentTokens = sum(sentBy);
  const clientTokens = sum((turn) => turn.tokensBefore ?? sentBy(turn));
  const sendable = sum((turn) =>
    sendableTokensOf({ tokensBefore: turn.tokensBefore ?? sentBy(turn), window: turn.window }),
  );
  const savedTokens = Math.max(0, sendable - sentTokens);
  const reported = sent.filter(({ usage }) => usage?.cacheReadTokens !== undefined);
  const readTokens = reported.reduce((all, { usage }) => all + (usage?.inputTokens ?? 0), 0);
  const cached = reported.reduce((all, { usage }) => all + (usage?.cacheReadTokens ?? 0), 0);
  const pricesOf = cost.models.find(({ prices }) => prices !== undefined)?.prices?.date;
  const fullest = fullestOf(turns);
  return {
    turns: turns.length,
    clientTokens,
    sentTokens,
    savedTokens,
    savedShare: sendable === 0 ? 0 : savedTokens / sendable,
    cachedShare: readTokens === 0 ? null : cached / readTokens,
    readTokens,
    usd: cost.usd,
    estimatedUsd: cost.estimatedUsd,
    savedUsd: cost.savedUsd,
    ...(pricesOf === undefined ? {} : { pricesOf }),
    compactions: Math.max(receipts, cost.compactions),
    recoveries: turns.filter(({ outcome }) => outcome === "recovered").length,
    ...(fullest === undefined ? {} : { fullest }),
  };
}

/** Whether the request of a turn reached the provider. */
function wasSent({ usage, status, outcome }: TurnRecord): boolean {
  return usage !== undefined || (status !== "failed" && outcome !== "refused");
}

function sentBy({ tokensAfter, measurement }: TurnRecord): number {
  return tokensAfter ?? measurement.total;
}

function fullestOf(turns: readonly TurnRecord[]): ReportFigures["fullest"] {
  let best: ReportFigures["fullest"];
  for (const [index, turn] of turns.entries()) {
    if (turn.limit <= 0 || !wasSent(turn)) continue;
    const one = { turn: index + 1, tokens: turn.measurement.total, limit: turn.limit };
    if (best === undefined || one.tokens / one.limit > best.tokens / best.limit) best = one;
  }
  return best;
}
