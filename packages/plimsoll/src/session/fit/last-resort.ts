/**
 * Makes the final decision for a request that may not fit: send the view, send it as the final turn, send the client's original,
 * or refuse.
 */

import { assessAfter } from "../../budget/guard.ts";
import type { Measurement } from "../../budget/measure.ts";
import { fitOutput, outputTokensMin } from "../../budget/output-room.ts";
import { grown, type Projection } from "../../budget/projection.ts";
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
  guardOf,
} from "../draft/projection.ts";
import type { ProposalWorld } from "../draft/propose-edits.ts";
import type { Patch } from "../draft/render.ts";
import { validateView } from "../draft/validate-view.ts";
import { reportDegraded, reportEnforced } from "../log/report.ts";
import type { View } from "../log/view.ts";
import type { Calibrations } from "../measure/calibrations.ts";
import type { PricesOf } from "../measure/prices.ts";
import type { Target } from "../measure/target.ts";
import type { SessionSummariser } from "../models/session-summariser.ts";
import type { Summariser } from "../models/summariser.ts";
import type { VisibleTools } from "../tools/own-tools-offer.ts";
import { type Debug, targetFields } from "./debug.ts";
import type { ReportWorld } from "./report-compaction.ts";

export interface FitWorld extends ReportWorld {
  /** The model that writes summaries, or undefined if none is configured. */
  readonly summariser?: Summariser;
  /** Asks the session's own model, or undefined if that is not configured. */
  readonly sessionSummariser?: SessionSummariser;
  /** Aborted when Plimsoll shuts down. */
  readonly closing: AbortSignal;
  /** Counts the tokens of a text roughly, but at once. */
  readonly count: (text: string) => number;
  readonly config: Config;
  readonly pricesOf: PricesOf;
  readonly now: () => number;
  readonly calibrations: Calibrations;
  readonly strategies: readonly Strategy[];
  readonly debug: Debug;
}

export type LastResortWorld = ProposalWorld & CalibrationWorld & Pick<FitWorld, "config" | "debug">;

/** The request to send, and its size. */
export interface Fitted {
  readonly outcome: Outcome;
  /** The view that the patches write. */
  readonly view: View;
  readonly target: Target;
  readonly patches: readonly Patch[];
  /** The list of tools, if it differs from the client's. */
  readonly tools: VisibleTools;
  /** Whether this is the final turn: the request tells the model that it may not call any more tools. */
  readonly isFinal: boolean;
  /** Size of the request as sent, before calibration. */
  readonly measured: Measurement;
  /** Size of the request as sent, in the provider's tokens. */
  readonly measurement: Measurement;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** Size of the request as sent, as an estimate with its bounds. */
  readonly projection: Projection;
  /** The limit that applied to the request. */
  readonly limit: number;
  /** Size of the head in tokens, if the limit was raised because of the head. Otherwise undefined. */
  readonly headTokens?: number;
  /** The limit that the window alone would give. Undefined if no lower limit of the user applies. */
  readonly windowLimit?: number;
  /** The view, if it is so full that a model should write the story of its older messages before the next compaction. */
  readonly summaryDue?: Sized;
  /** Set if the request must not be sent: the tokens it would need, and the tokens available. */
  readonly refusal?: { readonly needTokens: number; readonly limitTokens: number };
}

/**
 * Called when nothing more can be removed, at least not now. If the request leaves room for an answer, Plimsoll sends it. If the
 * window has room for the request but hardly any for an answer, Plimsoll sends it as the final turn. If a failure in Plimsoll
 * prevented the compaction and the request was never edited, Plimsoll sends it too, and the provider decides whether it fits.
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
    reportDegraded(draft, "original", "the request is sent as it came and may be too long");
    return fitted(draft, plain);
  }
  world.debug("context-guard/enforce", () => ({
    forcedFinalTurnReason: "context",
    action: verdict.kind,
    blocked: [{ ...targetFields(target), limit: before.limit, projected: projection.tokens }],
  }));
  if (verdict.kind === "final" || sendsAnyway(world)) {
    reportEnforced(draft, "final", projection.tokens, before.limit);
    return { ...(await closed(world, draft, sized, { before, guard })), isFinal: true };
  }
  if (isOurs) reportDegraded(draft, "overflow", "the edits made so far are not enough");
  reportEnforced(draft, "refused", projection.tokens, before.limit);
  return {
    ...fitted(draft, { ...plain, outcome: "refused" }),
    refusal: {
      // The shortest possible answer is included, because a request that fills the whole window is also too long.
      needTokens: projection.tokens + outputTokensMin,
      limitTokens: target.limit.window,
    },
  };
}

/** Whether a request is sent although the window cannot hold it. */
export function sendsAnyway({ config }: Pick<FitWorld, "config">): boolean {
  return config.agent?.over_window === "send";
}

/** Size of a text that Plimsoll added to a request, in the provider's tokens. */
export function addedTokens(
  { projection }: Pick<AssessedView, "projection">,
  { measured: before }: Sized,
  { measured: after }: Sized,
): number {
  const scale = notBelowOwn(scaleBetween(before.total, projection.tokens));
  return Math.ceil(inProviderTokens(after.total - before.total, scale));
}

/**
 * Adds the closing instruction if the turn has turned out to be the last one because the tool budget is used up. Returns every
 * other request as it is.
 */
export async function closedIfLast(
  world: LastResortWorld,
  draft: Draft,
  sent: Fitted,
): Promise<Fitted> {
  if (sent.outcome !== "final" || sent.isFinal) return sent;
  const guard = guardOf(world, draft);
  const sized = await sizeView(world.facts, draft, sent.view);
  return closed(world, draft, sized, { before: assessView(world, draft, sized, guard), guard });
}

/** The final turn, with the closing instruction if there is room for it. */
async function closed(
  world: LastResortWorld,
  draft: Draft,
  sized: Sized,
  { before, guard }: { readonly before: AssessedView; readonly guard: Guard },
): Promise<Fitted> {
  const [target] = draft.targets;
  const closing = await closingView(world, draft, sized, before.projection);
  const last = closing === sized ? before : assessView(world, draft, closing, guard);
  return fitted(draft, { ...last, sized: closing, target, outcome: "final" });
}

/** Maximum share of the remaining room that the closing instruction may take. The answer gets the other tokens. */
const closingShare = 0.25;

/** Adds the closing instruction after the last message, if there is room. */
async function closingView(
  world: ProposalWorld,
  draft: Draft,
  sized: Sized,
  projection: Projection,
): Promise<Sized> {
  if (isBegun(draft)) return sized;
  const { finalTool } = draft.request;
  const words = finalTool === undefined ? noteTexts.finalTurn : noteTexts.finalReport(finalTool);
  const closing = await sizeView(world.facts, draft, sized.view, words);
  const { window } = draft.targets[0].limit;
  const added = addedTokens({ projection }, sized, closing);
  const hasRoom = added <= (window - projection.least) * closingShare;
  return hasRoom && (await validateView(world, draft, closing)).kind !== "invalid"
    ? closing
    : sized;
}

/** Maximum answer length to ask the provider for. Undefined if the client sets no maximum. */
export function outputToSend(
  { request: { output } }: Pick<Draft, "request">,
  { target, projection }: SentSize,
  lookedUpTokens: number = 0,
): OutputSize | undefined {
  return output && fitOutput(output, target.limit, grown(projection, lookedUpTokens));
}

type SentSize = Pick<Fitted, "target" | "projection">;

export interface ShortenedOutput {
  readonly asked: OutputSize;
  readonly sent: OutputSize;
}

/** The answer length that the client asked for, and the shorter length to send. Undefined if the answer need not be shortened. */
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
    view: sized.view,
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
    ...(settled.windowLimit === undefined ? {} : { windowLimit: settled.windowLimit }),
  };
}

export function outcomeOf({ patches, tools }: Sized): Outcome {
  return patches.length === 0 && !tools.isWhole ? "passthrough" : "edited";
}

/** Whether the client has written the beginning of the assistant's answer itself. If so, nothing may follow that beginning. */
export function isBegun({ log, path }: Draft): boolean {
  return log.nodes.get(path.seqAt(path.length - 1) ?? -1)?.role === "assistant";
}
