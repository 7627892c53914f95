/** The report at the end of the demo, from the service's answers under /api and its events. */

import type { CompactionEndEvent, Receipt, TurnEndEvent } from "../src/message/event.ts";
import { sendableTokensOf } from "../src/prompt/saved.ts";
import type { OwnLookup } from "./model.ts";
import type { PlayedSession } from "./player.ts";
import { grouped, oneLine, table } from "./screen.ts";

/** The fields of `GET /api/cost` that the report shows. */
export interface CostAnswer {
  readonly turns: number;
  readonly sentTokens: number;
  readonly cachedTokens: number;
  readonly usd: number | null;
  readonly savedUsd: number | null;
  readonly models: readonly { readonly prices?: { readonly date: string } }[];
}

export interface ReportInput {
  readonly seed: number;
  readonly seconds: number;
  readonly sessions: readonly PlayedSession[];
  readonly turns: readonly TurnEndEvent[];
  /** Compactions of all sessions. */
  readonly compactions: readonly CompactionEndEvent[];
  /** The number of requests that the upstream has answered, for each wire. */
  readonly answered: ReadonlyMap<string, number>;
  /** The number of requests that it has refused. */
  readonly refusals: number;
  readonly lookups: readonly OwnLookup[];
  readonly cost: CostAnswer;
  /** Commands to look further, one line each. */
  readonly further: readonly string[];
}

/** Figures of one session, or of all sessions together. */
interface Figures {
  readonly turns: number;
  readonly clientTokens: number;
  /** The tokens of the client's requests that the windows would have taken. */
  readonly sendableTokens: number;
  readonly sentTokens: number;
  readonly compactions: number;
  /** The request that came closest to its limit. */
  readonly largest: { readonly tokens: number; readonly limit: number };
}

/** Reads a path under /api. Contract: rejects with a sentence if the service answers with an error. */
export async function askApi<T>(
  { url, token }: { readonly url: string; readonly token: string },
  path: string,
): Promise<T> {
  const response = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } });
  if (response.ok) return (await response.json()) as T;
  throw new Error(`GET ${path} answered ${response.status}: ${await response.text()}`);
}

/** Requests that were larger than their limit. There must be none. */
export function tooLarge(turns: readonly TurnEndEvent[]): readonly TurnEndEvent[] {
  return turns.filter(({ measurement, limit }) => measurement.total > limit);
}

export function reportText(input: ReportInput): string {
  const { seed, seconds, sessions, turns, further } = input;
  const count = sessions.length === 1 ? "1 session" : `${sessions.length} sessions`;
  return [
    "",
    `Report: ${count}, ${grouped(turns.length)} turns in ${seconds.toFixed(1)} s (seed ${seed})`,
    "",
    sessionsTable(input),
    "",
    ...summaryLines(input),
    "",
    ...lookupLines(input.lookups),
    "",
    "Receipts: facts in what was compacted, by class, summed over all compactions",
    receiptsTable(input.compactions.map(({ receipt }) => receipt)),
    "",
    "To look further:",
    ...further.map((line) => `  ${line}`),
  ].join("\n");
}

function figuresOf(
  turns: readonly TurnEndEvent[],
  compactions: readonly CompactionEndEvent[],
): Figures {
  const sum = (of: (turn: TurnEndEvent) => number): number =>
    turns.reduce((total, turn) => total + of(turn), 0);
  const share = ({ measurement, limit }: TurnEndEvent): number => measurement.total / limit;
  const [first] = turns.toSorted((left, right) => share(right) - share(left));
  return {
    turns: turns.length,
    clientTokens: sum(({ tokensBefore }) => tokensBefore),
    sendableTokens: sum(sendableTokensOf),
    sentTokens: sum(({ measurement }) => measurement.total),
    compactions: compactions.length,
    largest: { tokens: first?.measurement.total ?? 0, limit: first?.limit ?? 0 },
  };
}

function sessionsTable({ sessions, turns, compactions }: ReportInput): string {
  const rows = sessions.map(({ script, id }) => {
    const figures = figuresOf(
      turns.filter(({ session }) => session === id),
      compactions.filter(({ session }) => session === id),
    );
    return row(script, figures);
  });
  return table([
    [
      "session",
      "agent",
      "wire",
      "turns",
      "client sent",
      "went out",
      "saved",
      "",
      "compactions",
      "largest",
      "limit",
    ],
    ...rows,
    ...(sessions.length > 1
      ? [row({ name: "all", agent: "", wire: "" }, figuresOf(turns, compactions))]
      : []),
  ]);
}

interface RowHead {
  readonly name: string;
  readonly agent: string;
  readonly wire: string;
}

function row({ name, agent, wire }: RowHead, figures: Figures): readonly (string | number)[] {
  const { turns, clientTokens, sendableTokens, sentTokens, compactions, largest } = figures;
  const saved = sendableTokens - sentTokens;
  return [
    name,
    agent,
    wire,
    turns,
    clientTokens,
    sentTokens,
    saved,
    percent(saved, sendableTokens).padStart(7),
    compactions,
    largest.tokens,
    largest.limit,
  ];
}

function percent(part: number, whole: number): string {
  return `${whole === 0 ? 0 : ((part / whole) * 100).toFixed(1)} %`;
}

function summaryLines(input: ReportInput): readonly string[] {
  const { turns, compactions, cost } = input;
  const { clientTokens, sendableTokens, sentTokens, largest } = figuresOf(turns, compactions);
  const saved = sendableTokens - sentTokens;
  const [model] = cost.models;
  const prices = model?.prices === undefined ? "" : ` (prices of ${model.prices.date})`;
  return [
    `Tokens    the client sent ${grouped(clientTokens)}, of which the windows could take ${grouped(sendableTokens)}; ${grouped(sentTokens)} went out: ${grouped(saved)} saved, ${percent(saved, sendableTokens)}`,
    `Money     ${moneyText(cost.usd)} as the upstream counted; ${moneyText(cost.savedUsd)} saved, estimated at the price of cached input${prices}`,
    `Cache     ${percent(cost.cachedTokens, cost.sentTokens)} of what went out was read from the upstream's cache`,
    `Window    no request went over its limit; the fullest took ${grouped(largest.tokens)} of ${grouped(largest.limit)} tokens (${percent(largest.tokens, largest.limit)})`,
    validText(input),
    `Compacted ${compactions.length === 1 ? "once" : `${grouped(compactions.length)} times`}${strategiesText(compactions)}`,
  ];
}

function validText({ answered, refusals }: ReportInput): string {
  const counts = [...answered].toSorted().map(([wire, count]) => `${wire} ${grouped(count)}`);
  const refused = refusals === 0 ? "none" : grouped(refusals);
  return `Valid     the upstream checked every request strictly and refused ${refused}; it answered ${counts.join(", ")}`;
}

function moneyText(usd: number | null): string {
  return usd === null ? "unknown" : `$${usd.toFixed(2)}`;
}

function strategiesText(compactions: readonly CompactionEndEvent[]): string {
  const counts = new Map<string, number>();
  for (const name of compactions.flatMap(({ strategies }) => strategies))
    counts.set(name, (counts.get(name) ?? 0) + 1);
  const texts = [...counts].map(([name, count]) => `${name} ${count}`);
  return texts.length === 0 ? "" : `: ${texts.join(", ")}`;
}

/** Maximum number of recalls to list, and of reads. The others are only counted. */
const shownLookups = 6;

function lookupLines(lookups: readonly OwnLookup[]): readonly string[] {
  const recalls = lookups.filter(({ tool }) => tool.endsWith("recall"));
  const reads = lookups.filter((lookup) => !recalls.includes(lookup));
  const found = recalls.filter(({ isFound }) => isFound).length;
  const shown = [recalls, reads].flatMap((kind) => ofAllSessions(kind).slice(0, shownLookups));
  const left = lookups.length - shown.length;
  return [
    `Recalled  the model asked Plimsoll ${grouped(lookups.length)} times for what it did not see any more; ${found} of ${recalls.length} recalls found what was looked for`,
    ...shown.map(lookupLine),
    ...(left > 0 ? [`  … and ${left} more`] : []),
  ];
}

/** The first lookup of each session, then the second of each, and so on. */
function ofAllSessions(lookups: readonly OwnLookup[]): readonly OwnLookup[] {
  const counts = new Map<string, number>();
  return lookups
    .map((lookup) => {
      const place = counts.get(lookup.session) ?? 0;
      counts.set(lookup.session, place + 1);
      return { lookup, place };
    })
    .toSorted((left, right) => left.place - right.place)
    .map(({ lookup }) => lookup);
}

function lookupLine({ session, tool, asked, expected, answer }: OwnLookup): string {
  const place = expected === "" ? -1 : answer.indexOf(expected);
  if (place >= 0)
    return `  ${session}: ${tool} "${oneLine(asked, 60)}" → found: ${oneLine(answer.slice(place), 70)}`;
  const verdict = expected === "" ? "" : "not found: ";
  return `  ${session}: ${tool} ${oneLine(asked, 60)} → ${verdict}${oneLine(answer, 100)}`;
}

function receiptsTable(receipts: readonly Receipt[]): string {
  const [first] = receipts;
  const names = Object.keys(first?.classes ?? {}) as (keyof Receipt["classes"])[];
  const sum = (name: (typeof names)[number], of: "facts" | "verbatim" | "behindHandle"): number =>
    receipts.reduce((total, { classes }) => total + classes[name][of], 0);
  return table([
    ["class", "facts", "still said, word for word", "behind a handle"],
    ...names.map((name) => [
      name,
      sum(name, "facts"),
      sum(name, "verbatim"),
      sum(name, "behindHandle"),
    ]),
  ]);
}
