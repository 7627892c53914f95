/** `plimsoll cost`: the cost and the savings of sessions, in tokens and money. */

import { type Flags, loadSettings } from "../../config/config.ts";
import type { CostFigures } from "../../prompt/cost.ts";
import { type CostReport, costOf, type ModelCost } from "../../session/inspect/cost.ts";
import { createPrices } from "../../session/measure/prices.ts";
import type { Store } from "../../store/store.ts";
import { harmless, harmlessJson } from "../../text/unseen.ts";
import { moneyText } from "../../watch/figures.ts";
import { chooseSession, withStore } from "../console/open-store.ts";
import { type Progress, withProgress } from "../console/progress.ts";
import { table } from "../console/terminal.ts";

export type CostFlags = Flags & { readonly all?: boolean; readonly json?: boolean };

export async function runCost(id: string | undefined, flags: CostFlags): Promise<void> {
  const { config } = loadSettings(flags, process.env);
  const pricesOf = createPrices(config);
  const report = await withProgress("Adding up sessions", { json: flags.json }, (progress) =>
    withStore(flags, async (store) =>
      costOf(
        { store: countingTurns(store, progress), pricesOf },
        flags.all === true ? { tenant: undefined } : { session: await chooseSession(store, id) },
      ),
    ),
  );
  console.log(flags.json === true ? harmlessJson(report) : costText(report));
}

/** Counts the reads of the store to show the progress, because the turns of each session are read once. */
function countingTurns(store: Store, progress: Progress): Store {
  let read = 0;
  return {
    ...store,
    turns: async (session, limit) => {
      const turns = await store.turns(session, limit);
      read += 1;
      progress.step(read);
      return turns;
    },
  };
}

function costText(report: CostReport): string {
  if (report.turns === 0) return "Nothing was sent yet.";
  const rows = [
    ...report.models,
    ...(report.models.length > 1 ? [{ ...report, model: "all" }] : []),
  ];
  const { measured, turns } = report;
  return [
    table([
      ["model", "turns", "sent", "cached", "written", "fresh", "output", "cost"],
      ...rows.map(paidRow),
    ]),
    "",
    table([
      ["model", "not sent", "saved", "compactions", "read again", "spent on them"],
      ...rows.map(savedRow),
    ]),
    "",
    ...(measured.estimated === 0
      ? []
      : [
          `No usage was reported for ${measured.estimated} of ${turns} turns. Their cost is estimated from their input at the full price, without their answers.`,
        ]),
    `Figures are in tokens and US dollars. Providers reported the usage of ${measured.usage} of ${turns} turns, and cache figures for ${measured.cache} of them. The savings (at the cache price, counted only as far as the window would have taken the request) and the cost of compactions (compared with the same requests without them) are estimates.`,
    ...report.models.map(sourceLine),
    ...(report.isPartial ? ["Only the newest sessions and turns are included."] : []),
  ].join("\n");
}

function paidRow(row: CostFigures & { readonly model: string }): readonly (string | number)[] {
  const { model, turns, sentTokens, cachedTokens, writtenTokens, freshTokens, outputTokens } = row;
  return [
    harmless(model),
    turns,
    sentTokens,
    cachedTokens,
    writtenTokens,
    freshTokens,
    outputTokens,
    paidText(row),
  ];
}

/** The cost of turns with reported usage, followed by the estimated cost of the other turns. */
function paidText({ usd, estimatedUsd, measured }: CostFigures): string {
  if (measured.estimated === 0 || usd === null) return moneyText(usd);
  const estimated = `about ${moneyText(estimatedUsd)}`;
  return measured.usage === 0 ? estimated : `${moneyText(usd)} and ${estimated}`;
}

function savedRow(row: CostFigures & { readonly model: string }): readonly (string | number)[] {
  const { model, savedTokens, savedUsd, compactions, compactionTokens, compactionUsd } = row;
  return [
    harmless(model),
    savedTokens,
    moneyText(savedUsd),
    compactions,
    compactionTokens,
    moneyText(compactionUsd),
  ];
}

function sourceLine({ model, prices }: ModelCost): string {
  return prices === undefined
    ? `${harmless(model)}: prices unknown. Set providers.….models.….prices in the configuration.`
    : `${harmless(model)}: prices of ${prices.date}, ${prices.source}.`;
}
