/** What is sent in the end: a view that fits, the last turn, the client's original, or nothing at all. */

import { assessAfter } from "../../budget/guard.ts";
import type { Measurement } from "../../budget/measure.ts";
import { fitOutput, outputTokensMin } from "../../budget/output-room.ts";
import type { Projection } from "../../budget/projection.ts";
import {
  inProviderTokens,
  notBelowOwn,
  scaleBetween,
  shownTokens,
} from "../../budget/token-scale.ts";
import type { Config } from "../../config/schema.ts";
import type { Outcome } from "../../message/event.ts";
import type { OutputSize } from "../../message/message.ts";
import type { Strategy } from "../../message/strategy.ts";
import { noteTexts } from "../../text/for-models.ts";
import { type Draft, type Sized, sizeView } from "../draft/draft.ts";
import {
  type AssessedView,
  assessView,
  type CalibrationWorld,
  type Guard,
} from "../draft/projection.ts";
import type { ProposalWorld } from "../draft/propose-edits.ts";
import type { Patch } from "../draft/render.ts";
import { validateView } from "../draft/validate-view.ts";
import { reportDegraded, reportEnforced } from "../log/report.ts";
import type { Calibrations } from "../measure/calibrations.ts";
import type { PricesOf } from "../measure/prices.ts";
import type { Target } from "../measure/target.ts";
import type { Summariser } from "../models/summariser.ts";
import type { VisibleTools } from "../tools/own-tools-offer.ts";
import { type Debug, targetFields } from "./debug.ts";
import type { ReportWorld } from "./report-compaction.ts";

export interface FitWorld extends ReportWorld {
  /** A model that writes summaries, where one is configured. */
  readonly summariser?: Summariser;
  /** Aborted when the product closes. */
  readonly closing: AbortSignal;
  /** Tokens of a text, at once and roughly. */
  readonly count: (text: string) => number;
  readonly config: Config;
  readonly pricesOf: PricesOf;
  readonly now: () => number;
  readonly calibrations: Calibrations;
  readonly strategies: readonly Strategy[];
  readonly debug: Debug;
}

export type LastResortWorld = ProposalWorld & CalibrationWorld & Pick<FitWorld, "debug">;

/** What to send, and what it comes to. */
export interface Fitted {
  readonly outcome: Outcome;
  readonly target: Target;
  readonly patches: readonly Patch[];
  /** The list of tools, where it is not the client's own. */
  readonly tools: VisibleTools;
  /** The model may call nothing any more, and is told so. */
  readonly isFinal: boolean;
  /** Before correction, of what is sent. */
  readonly measured: Measurement;
  /** As the provider would count. */
  readonly measurement: Measurement;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** Of what is sent. */
  readonly projection: Projection;
  /** What there was to use. */
  readonly limit: number;
  /** What no compaction takes out, where the limit gave way to that. */
  readonly headTokens?: number;
  /** Not to be sent: what it would need, and what there is. */
  readonly refusal?: { readonly needTokens: number; readonly limitTokens: number };
}

/**
 * Nothing more can be taken out, or not now. What leaves room for an answer goes; what the window just holds goes as the last
 * turn; what was never edited goes when the fault is ours, and the provider says what it thinks.
 */
export async function lastResort(
  world: LastResortWorld,
  draft: Draft,
  sized: Sized,
  { before, guard, isOurs }: { before: AssessedView; guard: Guard; isOurs: boolean },
): Promise<Fitted> {
  const [target] = draft.targets;
  const { projection } = before;
  const verdict = assessAfter({ ...guard, projection });
  const plain = { ...before, sized, target, outcome: outcomeOf(sized) };
  if (verdict.kind === "fits") return fitted(draft, plain);
  if (isOurs && sized.patches.length === 0) {
    reportDegraded(draft, "original", "the request goes as it came, and may be too long");
    return fitted(draft, plain);
  }
  world.debug("context-guard/enforce", () => ({
    forcedFinalTurnReason: "context",
    action: verdict.kind,
    blocked: [{ ...targetFields(target), limit: before.limit, projected: projection.tokens }],
  }));
  if (verdict.kind === "final") {
    reportEnforced(draft, "final", projection.tokens, before.limit);
    const closing = await closingView(world, draft, sized, projection);
    const last = closing === sized ? before : assessView(world, draft, closing, guard);
    const sent = fitted(draft, { ...last, sized: closing, target, outcome: "final" });
    return { ...sent, isFinal: true };
  }
  if (isOurs) reportDegraded(draft, "overflow", "the edits already made do not suffice");
  reportEnforced(draft, "refused", projection.tokens, before.limit);
  return {
    ...fitted(draft, { ...plain, outcome: "refused" }),
    refusal: {
      // With the shortest answer: a request that fills the window to its last token is too long, too.
      needTokens: projection.tokens + outputTokensMin,
      limitTokens: target.limit.window,
    },
  };
}

/** What a text of ours adds to a request, as the provider would count it. */
export function addedTokens(
  { projection }: Pick<AssessedView, "projection">,
  { measured: before }: Sized,
  { measured: after }: Sized,
): number {
  const scale = notBelowOwn(scaleBetween(before.total, projection.tokens));
  return Math.ceil(inProviderTokens(after.total - before.total, scale));
}

/** Of the room that is left: the rest is for the answer. */
const closingShare = 0.25;

/** With the last instruction behind it, where there is room for that. */
async function closingView(
  world: ProposalWorld,
  draft: Draft,
  sized: Sized,
  projection: Projection,
): Promise<Sized> {
  if (isBegun(draft)) return sized;
  const closing = await sizeView(world.facts, draft, sized.view, noteTexts.finalTurn);
  const { window } = draft.targets[0].limit;
  const added = addedTokens({ projection }, sized, closing);
  const hasRoom = added <= (window - projection.least) * closingShare;
  return hasRoom && (await validateView(world, draft, closing)).kind !== "invalid"
    ? closing
    : sized;
}

/** How long an answer a turn asks for. Undefined where the client does not say. */
export function outputToSend(
  { request: { output } }: Pick<Draft, "request">,
  { target, projection }: SentSize,
  lookedUpTokens: number = 0,
): OutputSize | undefined {
  const { tokens, most } = projection;
  const input = { ...projection, tokens: tokens + lookedUpTokens, most: most + lookedUpTokens };
  return output && fitOutput(output, target.limit, input);
}

type SentSize = Pick<Fitted, "target" | "projection">;

export interface ShortenedOutput {
  readonly asked: OutputSize;
  readonly sent: OutputSize;
}

/** Undefined where the answer may be as long as the client wishes. */
export function shortenedOutput(
  draft: Pick<Draft, "request">,
  fitted: SentSize,
  lookedUpTokens?: number,
): ShortenedOutput | undefined {
  const { output: asked } = draft.request;
  const sent = outputToSend(draft, fitted, lookedUpTokens);
  return asked === undefined || sent === undefined || sent === asked ? undefined : { asked, sent };
}

export interface Settled extends Omit<AssessedView, "verdict"> {
  readonly sized: Sized;
  readonly target: Target;
  readonly outcome: Outcome;
}

export function fitted({ measured, request }: Draft, settled: Settled): Fitted {
  const { sized, target, measurement, projection, limit } = settled;
  const mustEnd = settled.outcome !== "refused" && request.isLast?.(settled) === true;
  const scale = scaleBetween(sized.measured.total, projection.tokens);
  return {
    outcome: mustEnd ? "final" : settled.outcome,
    target,
    patches: sized.patches,
    tools: sized.tools,
    isFinal: false,
    measured: sized.measured,
    measurement,
    tokensBefore: Math.max(projection.tokens, shownTokens(measured.total, scale)),
    tokensAfter: projection.tokens,
    projection,
    limit,
    ...(settled.isBesideHead ? { headTokens: projection.head } : {}),
  };
}

export function outcomeOf({ patches, tools }: Sized): Outcome {
  return patches.length === 0 && !tools.isWhole ? "passthrough" : "edited";
}

/** The client has begun the answer itself: nothing may stand behind that. */
export function isBegun({ log, path }: Draft): boolean {
  return log.nodes.get(path.seqAt(path.length - 1) ?? -1)?.role === "assistant";
}
