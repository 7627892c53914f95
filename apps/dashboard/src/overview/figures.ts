/** The few figures at the top of the overview. */

import type { CostReport } from "../api.ts";
import { share, tokens, usd } from "../format.ts";

export interface Figure {
  readonly label: string;
  readonly value: string;
  /** Explains the figure in a few words. */
  readonly note: string;
}

/** Unknown figures are shown as unknown, never as zero. */
export function figuresOf(cost: CostReport): readonly Figure[] {
  const more = cost.isPartial ? "+" : "";
  const sum = cost.savedTokens + cost.sentTokens;
  return [
    {
      label: "Sessions",
      value: `${tokens(cost.sessions)}${more}`,
      note: `${tokens(cost.turns)} ${cost.turns === 1 ? "turn" : "turns"}, ${tokens(cost.compactions)} ${cost.compactions === 1 ? "compaction" : "compactions"}`,
    },
    {
      label: "Tokens saved",
      value: tokens(cost.savedTokens),
      note:
        sum === 0
          ? "nothing was sent yet"
          : `${share(cost.savedTokens / sum)} of what the windows would have taken`,
    },
    {
      label: "Money saved",
      value: cost.savedUsd === null ? "unknown" : usd(cost.savedUsd),
      note:
        cost.savedUsd === null
          ? "no prices for some of the models"
          : `estimated at the cache price${spent(cost)}`,
    },
    {
      label: "Read from cache",
      value: cost.measured.cache === 0 ? "unknown" : share(cost.cachedTokens / cost.sentTokens),
      note:
        cost.measured.cache === 0
          ? "no provider reported it yet"
          : `${tokens(cost.cachedTokens)} of ${tokens(cost.sentTokens)} tokens`,
    },
  ];
}

function spent({ usd: paid }: CostReport): string {
  return paid === null ? "" : `; ${usd(paid)} spent`;
}
