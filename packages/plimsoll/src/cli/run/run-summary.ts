/** Adds up the turns of a run by session. Pure. */

import type { PlimsollEvent, TurnEndEvent } from "../../message/event.ts";
import { savedTokensOf } from "../../prompt/saved.ts";
import { grouped } from "../../text/digits.ts";
import { moneyText } from "../../watch/figures.ts";
import { oneLine } from "../console/terminal.ts";

export interface SessionSum {
  /** Turns that the provider has answered. */
  readonly turns: number;
  /** Turns without an answer, and the last reason. */
  readonly failed: number;
  readonly error?: string;
  /** As the provider counted them, with inner rounds; by Plimsoll's own count if it reported none. `plimsoll cost` counts the same. */
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
  const after = event.status === "failed" ? withFailed(before, event) : withAnswered(before, event);
  return new Map([...sums, [event.session, after]]);
}

const nothing: SessionSum = { turns: 0, failed: 0, sentTokens: 0, savedTokens: 0 };

function withFailed(before: SessionSum = nothing, { error }: TurnEndEvent): SessionSum {
  return { ...before, failed: before.failed + 1, ...(error === undefined ? {} : { error }) };
}

function withAnswered(before: SessionSum = nothing, event: TurnEndEvent): SessionSum {
  const usd = added(before.usd, event.usd);
  const savedUsd = added(before.savedUsd, event.savedUsd);
  const tokensAfter = event.measurement.total;
  return {
    ...before,
    turns: before.turns + 1,
    sentTokens: before.sentTokens + (event.usage?.inputTokens ?? tokensAfter),
    savedTokens: before.savedTokens + savedTokensOf({ ...event, tokensAfter }),
    ...(usd === undefined ? {} : { usd }),
    ...(savedUsd === undefined ? {} : { savedUsd }),
  };
}

function added(one: number | undefined, other: number | undefined): number | undefined {
  return other === undefined ? one : (one ?? 0) + other;
}

export function summaryLines(sums: RunSums, url: string): readonly string[] {
  if (sums.size === 0) return [`No request reached Plimsoll. What it has recorded: ${url}/`];
  return [...sums].map(([session, sum]) => `${sessionWords(sum)}. See ${url}/#/session/${session}`);
}

function sessionWords(sum: SessionSum): string {
  const { failed, error } = sum;
  if (failed === 0) return answeredWords(sum);
  const reason = error === undefined ? "" : ` (the last: ${oneLine(error, 200)})`;
  const failedWords = `${failed === 1 ? "1 request" : `${grouped(failed)} requests`} failed${reason}`;
  return sum.turns === 0 ? failedWords : `${answeredWords(sum)}; ${failedWords}`;
}

function answeredWords({ turns, sentTokens, savedTokens, usd, savedUsd }: SessionSum): string {
  const turnsWord = turns === 1 ? "1 turn" : `${grouped(turns)} turns`;
  const cost = usd === undefined ? "" : `, ${moneyText(usd)}`;
  const saving = savedUsd === undefined ? "" : ` (about ${moneyText(savedUsd)})`;
  const saved =
    savedTokens === 0 ? "nothing had to be cut" : `${grouped(savedTokens)} tokens saved${saving}`;
  return `${turnsWord}, ${grouped(sentTokens)} tokens sent${cost}, ${saved}`;
}
