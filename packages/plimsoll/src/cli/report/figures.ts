/** The figures of a report with their names and notes. An HTML page and a terminal show the same figures. */

import { grouped } from "../../text/digits.ts";
import { brief, moneyText } from "../../watch/figures.ts";
import type { ReportFigures } from "./data.ts";
import { counted, percent } from "./words.ts";

export interface Figure {
  readonly name: string;
  readonly value: string;
  readonly note: string;
}

export function figuresShown(figures: ReportFigures): readonly Figure[] {
  const { turns, clientTokens, sentTokens, savedTokens, savedShare, compactions } = figures;
  const { cachedShare, readTokens, recoveries, fullest } = figures;
  return [
    {
      name: "Turns",
      value: grouped(turns),
      note:
        fullest === undefined
          ? "nothing was sent yet"
          : `the fullest used ${percent(fullest.tokens / fullest.limit)} of its limit`,
    },
    { name: "From the client", value: brief(clientTokens), note: tokensNote(clientTokens) },
    { name: "Sent on", value: brief(sentTokens), note: tokensNote(sentTokens) },
    {
      name: "Saved",
      value: percent(savedShare),
      note: `${grouped(savedTokens)} tokens that the window would have taken were not sent`,
    },
    { name: "Cost", value: costValue(figures), note: costNote(figures) },
    {
      name: "Saved in money",
      value: moneyText(figures.savedUsd),
      note:
        figures.savedUsd === null
          ? "the prices of this model are not known"
          : "estimated, at the price of cached input",
    },
    {
      name: "Cached",
      value: cachedShare === null ? "unknown" : percent(cachedShare),
      note:
        cachedShare === null
          ? "the provider did not report it"
          : `of ${brief(readTokens)} tokens that the provider read, lookups included`,
    },
    {
      name: "Compactions",
      value: grouped(compactions),
      note: recoveries === 0 ? "no fresh start" : counted(recoveries, "fresh start"),
    },
  ];
}

function tokensNote(tokens: number): string {
  return `${grouped(tokens)} tokens`;
}

function costValue({ usd, estimatedUsd }: ReportFigures): string {
  return usd === 0 && estimatedUsd !== 0 ? `about ${moneyText(estimatedUsd)}` : moneyText(usd);
}

function costNote({ usd, estimatedUsd, pricesOf }: ReportFigures): string {
  if (usd === null) return "the prices of this model are not known";
  const prices = pricesOf === undefined ? "" : `, prices of ${pricesOf}`;
  if (usd === 0 && estimatedUsd !== 0) return `input only, no usage was reported${prices}`;
  const more = estimatedUsd === 0 ? "" : `, and about ${moneyText(estimatedUsd)} not reported`;
  return `from the provider's reported usage${more}${prices}`;
}
