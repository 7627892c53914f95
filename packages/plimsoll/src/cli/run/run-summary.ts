/** Adds up the turns of a run by session. Pure. */

import type { PlimsollEvent } from "../../message/event.ts";
import { savedTokensOf } from "../../prompt/saved.ts";
import { grouped } from "../../text/digits.ts";
import { moneyText } from "../../watch/figures.ts";

export interface SessionSum {
  readonly turns: number;
  readonly sentTokens: number;
  /** Tokens that Plimsoll did not send although the window would have taken them. */
  readonly savedTokens: number;
  /** Absent if prices or usage are unknown. */
  readonly usd?: number;
  readonly savedUsd?: number;
}

export type RunSums = ReadonlyMap<string, SessionSum>;

/** Most sessions of one run. A run that makes more is a program, and not a conversation. */
const maxSessions = 1000;

export function withEvent(sums: RunSums, event: PlimsollEvent, run: string): RunSums {
  if (event.type !== "turn-end" || event.run !== run) return sums;
  const before = sums.get(event.session);
  if (before === undefined && sums.size >= maxSessions) return sums;
  const usd = added(before?.usd, event.usd);
  const savedUsd = added(before?.savedUsd, event.savedUsd);
  const after: SessionSum = {
    turns: (before?.turns ?? 0) + 1,
    sentTokens: (before?.sentTokens ?? 0) + event.measurement.total,
    savedTokens:
      (before?.savedTokens ?? 0) +
      savedTokensOf({ ...event, tokensAfter: event.measurement.total }),
    ...(usd === undefined ? {} : { usd }),
    ...(savedUsd === undefined ? {} : { savedUsd }),
  };
  return new Map([...sums, [event.session, after]]);
}

function added(one: number | undefined, other: number | undefined): number | undefined {
  return other === undefined ? one : (one ?? 0) + other;
}

export function summaryLines(sums: RunSums, url: string): readonly string[] {
  if (sums.size === 0) return [`No request reached Plimsoll. What it has recorded: ${url}/`];
  return [...sums].map(([session, sum]) => `${sessionWords(sum)}. See ${url}/#/session/${session}`);
}

function sessionWords({ turns, sentTokens, savedTokens, usd, savedUsd }: SessionSum): string {
  const turnsWord = turns === 1 ? "1 turn" : `${grouped(turns)} turns`;
  const cost = usd === undefined ? "" : `, ${moneyText(usd)}`;
  const saving = savedUsd === undefined ? "" : ` (about ${moneyText(savedUsd)})`;
  const saved =
    savedTokens === 0 ? "nothing had to be cut" : `${grouped(savedTokens)} tokens saved${saving}`;
  return `${turnsWord}, ${grouped(sentTokens)} tokens sent${cost}, ${saved}`;
}
