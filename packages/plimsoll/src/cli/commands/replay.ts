/** `plimsoll replay`: the cost that recorded conversations would have had, with Plimsoll and with other policies. */

import { type Flags, loadSettings } from "../../config/config.ts";
import { PlimsollError } from "../../message/error.ts";
import type { PriceList } from "../../prompt/price-rows.ts";
import {
  type PolicyFigures,
  type PolicyName,
  policyNames,
  type ReplayWindow,
  replayAll,
} from "../../replay/replay.ts";
import { type Recording, scriptOf } from "../../replay/turns.ts";
import { createPrices } from "../../session/measure/prices.ts";
import { grouped } from "../../text/digits.ts";
import { harmlessJson } from "../../text/unseen.ts";
import type { WireName } from "../../wire/format/wire.ts";
import { wires } from "../../wire/wires.ts";
import { withProgress } from "../console/progress.ts";
import { table } from "../console/terminal.ts";
import { readTrace } from "./replay-sources.ts";

export type ReplayFlags = Flags & {
  readonly policy?: readonly string[];
  readonly window?: number;
  readonly windowShare?: number;
  readonly model?: string;
  readonly wire?: string;
  readonly secondsPerTurn?: number;
  readonly json?: boolean;
};

const usualPolicies: readonly PolicyName[] = ["none", "tail", "clear", "plimsoll"];
const usualModels: Readonly<Record<WireName, string>> = {
  anthropic: "claude-sonnet-4-5",
  "openai-chat": "gpt-4.1",
  "openai-responses": "gpt-4.1",
  gemini: "gemini-2.5-pro",
};
/** Maximum answer length of recordings that do not specify one. */
const maxOutputTokens = 1_024;
const usualSeconds = 20;

/** The conditions of the replay. */
interface Setting {
  readonly conversations: number;
  readonly model: string;
  readonly wire: WireName;
  readonly window: ReplayWindow;
  readonly secondsPerTurn: number;
  readonly prices: PriceList;
}

export async function runReplay(traces: readonly string[], flags: ReplayFlags): Promise<void> {
  const policies = policiesOf(flags.policy);
  const window = windowOf(flags);
  const recordings = await readTraces(traces, flags);
  const { model, wire } = targetOf(recordings, flags);
  const scripts = recordings.map((recording) =>
    scriptOf(recording, { wire, model, maxOutputTokens }),
  );
  const { config } = loadSettings(flags, process.env);
  const provider = wires[wire].vendor;
  const prices = createPrices(config)({ provider, model });
  const secondsPerTurn = flags.secondsPerTurn ?? usualSeconds;
  // Conversations differ in length, so the progress counts turns.
  const sizes = scripts.map(({ turns }) => turns.length);
  const figures = await withProgress(
    "Replaying turns",
    { total: sumOf(sizes), json: flags.json },
    (progress) =>
      replayAll(scripts, {
        policies,
        window,
        secondsPerTurn,
        prices,
        config,
        onProgress: (done) => progress.step(sumOf(sizes.slice(0, done))),
      }),
  );
  const setting = { conversations: scripts.length, model, wire, window, secondsPerTurn, prices };
  console.log(
    flags.json === true
      ? harmlessJson({ ...setting, policies: figures.map(withShare) })
      : render(setting, figures),
  );
}

function policiesOf(names: readonly string[] | undefined): readonly PolicyName[] {
  if (names === undefined) return usualPolicies;
  const known: readonly string[] = policyNames;
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return [...new Set(names as readonly PolicyName[])];
  throw new PlimsollError(
    "USAGE",
    `There is no policy "${unknown}". Use ${policyNames.join(", ")}.`,
  );
}

function windowOf({ window, windowShare }: ReplayFlags): ReplayWindow {
  if (window !== undefined && windowShare !== undefined)
    throw new PlimsollError("USAGE", "Use either --window or --window-share, not both.");
  if (window !== undefined) return { kind: "tokens", tokens: window };
  return windowShare === undefined ? { kind: "model" } : { kind: "share", share: windowShare };
}

/** The model and wire of the replay. Default: those of the first recorded conversation. */
function targetOf(
  [first]: readonly Recording[],
  flags: ReplayFlags,
): { readonly model: string; readonly wire: WireName } {
  const wanted = flags.wire ?? first?.wire ?? "openai-chat";
  if (!Object.hasOwn(wires, wanted))
    throw new PlimsollError(
      "USAGE",
      `There is no wire "${wanted}". Use ${Object.keys(wires).join(", ")}.`,
    );
  const wire = wanted as WireName;
  const recorded = wire === first?.wire ? first.head["model"] : undefined;
  const model = flags.model ?? (typeof recorded === "string" ? recorded : usualModels[wire]);
  return { model, wire };
}

function readTraces(traces: readonly string[], flags: ReplayFlags): Promise<readonly Recording[]> {
  const options = { total: traces.length, json: flags.json };
  return withProgress("Reading traces", options, async (progress) => {
    const recordings: Recording[] = [];
    for (const [index, trace] of traces.entries()) {
      recordings.push(...(await readTrace(trace, flags)));
      progress.step(index + 1);
    }
    return recordings;
  });
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

function withShare(figures: PolicyFigures): PolicyFigures & { readonly prefixShare: number } {
  return { ...figures, prefixShare: shareOf(figures) };
}

function shareOf({ prefix, sent }: PolicyFigures): number {
  return sent === 0 ? 0 : prefix / sent;
}

function render(setting: Setting, figures: readonly PolicyFigures[]): string {
  const { model, wire, window, secondsPerTurn, prices, conversations } = setting;
  const rows = figures.map((one) => [
    one.policy,
    one.requests,
    one.sent,
    one.cacheRead,
    one.cacheWrite + one.cacheWriteLong,
    one.fresh,
    one.output,
    one.usd === undefined ? "unknown" : `$${one.usd.toFixed(one.usd < 1 ? 4 : 2)}`,
    `${(shareOf(one) * 100).toFixed(1)} %`,
    one.compactions,
    one.forced,
    one.overWindow,
    one.refused,
  ]);
  const columns = [
    "policy",
    "requests",
    "sent",
    "cached",
    "written",
    "fresh",
    "output",
    "bill",
    "prefix",
    "compactions",
    "forced",
    "over",
    "refused",
  ];
  const source = prices.prices === undefined ? "unknown" : `${prices.source} (${prices.date})`;
  return [
    `${conversations} ${conversations === 1 ? "conversation" : "conversations"} on ${wire} with ${model}, ${windowText(window)}, a request every ${secondsPerTurn} s.`,
    `Prices: ${source}. The cache is simulated, and Plimsoll counts the tokens.`,
    "",
    table([columns, ...rows]),
    "",
    "The policy none has an unlimited window. Recorded answers contain no lookups, so no bill includes inner rounds. cached, written, fresh: how the sent tokens are billed. prefix: the share of each request that equals the request before it. forced: compactions without which a request would not have fitted. over: requests larger than the window.",
  ].join("\n");
}

function windowText(window: ReplayWindow): string {
  switch (window.kind) {
    case "model":
      return "in the model's own window";
    case "tokens":
      return `in a window of ${grouped(window.tokens)} tokens`;
    case "share":
      return `in a window of ${Math.round(window.share * 100)} % of each conversation`;
  }
}
