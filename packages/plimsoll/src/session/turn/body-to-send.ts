/** Composes the body that Plimsoll sends to the upstream. */

import { errorMessage } from "../../message/error.ts";
import { finalReport } from "../../offload/own-definitions.ts";
import type { BodySlices } from "../../wire/format/slices.ts";
import type { FieldValues, WireRequest } from "../../wire/format/wire.ts";
import { withMarks } from "../draft/cache-marks.ts";
import type { Draft } from "../draft/draft.ts";
import { encodeMessage } from "../draft/encode.ts";
import { type Patch, patchBody, withPatch } from "../draft/render.ts";
import { type Fitted, shortenedOutput } from "../fit/last-resort.ts";
import { reportDegraded } from "../log/report.ts";
import type { PricesOf } from "../measure/prices.ts";
import type { VisibleTools } from "../tools/own-tools-offer.ts";
import type { InnerRounds } from "./inner-rounds.ts";

export interface Sending {
  readonly request: WireRequest;
  readonly body: Uint8Array;
  readonly slices: BodySlices;
  readonly pricesOf: PricesOf;
}

export interface SendingTurn {
  readonly fitted: Fitted;
  readonly rounds: Pick<InnerRounds, "elements" | "tokens" | "isLast"> | undefined;
}

/** The client's own bytes with the edits spliced in. Undefined if there are no changes to make. */
export function bodyToSend(
  turn: SendingTurn,
  draft: Draft,
  sending: Sending,
): Uint8Array | undefined {
  const tools = toolsToSend(turn, draft);
  const { body, slices } = sending;
  const fields = fieldsToSend(turn, draft, sending);
  const patches = patchesToSend(turn, draft, sending);
  const isUnchanged = patches.length === 0 && tools.elements.length === 0;
  if (isUnchanged && fields.size === 0) return undefined;
  try {
    // If only fields change, the history that the provider stores need not be written out.
    return isUnchanged
      ? patchBody(body, slices, draft.wire, { patches, fields })
      : draft.request.compose({ patches, fields, tools });
  } catch (error) {
    // The first request of a turn can be sent as it came. Later requests must contain the model's lookups, so they cannot.
    if (hasLookedUp(turn)) throw error;
    reportDegraded(draft, "original", `the view could not be written: ${errorMessage(error)}`);
    return undefined;
  }
}

/** The list of tools. If a final turn asks for a report by a tool call, that tool alone, unless the wire wants every called tool. */
function toolsToSend({ fitted }: SendingTurn, { wire, request }: Draft): VisibleTools {
  if (!fitted.isFinal || request.finalTool === undefined) return fitted.tools;
  const elements = [encodeMessage(wire.tools.encode(finalReport))];
  return { elements, isWhole: wire.tools.declaresCalled !== true };
}

/** The patches of the view and of the cache marks, followed by a patch that appends this turn's lookups. */
function patchesToSend(
  { fitted, rounds }: SendingTurn,
  draft: Draft,
  { pricesOf, body }: Pick<Sending, "pricesOf" | "body">,
): readonly Patch[] {
  const marked = withMarks(draft, fitted.patches, { pricesOf, body });
  const elements = rounds?.elements ?? [];
  if (elements.length === 0) return marked;
  const { length } = draft.path;
  return withPatch(marked, { first: length, end: length, elements });
}

function hasLookedUp({ rounds }: SendingTurn): boolean {
  return (rounds?.elements.length ?? 0) > 0;
}

/** The fields that forbid tools, or all tools but the one for the report. */
function lastTools(
  { wire, request: { finalTool } }: Draft,
  isFinal: boolean,
  { body, slices }: Pick<Sending, "body" | "slices">,
): FieldValues {
  return isFinal && finalTool !== undefined
    ? wire.body.onlyTool(body, slices, finalTool)
    : wire.body.noTools(body, slices);
}

/** New values for fields outside the conversation, as JSON text. */
function fieldsToSend(
  { fitted, rounds }: SendingTurn,
  draft: Draft,
  { request, body, slices }: Sending,
): ReadonlyMap<string, string> {
  const { wire, targets } = draft;
  const { target, isFinal } = fitted;
  const isOther = target.model !== targets[0].model;
  const hasTools = request.tools !== undefined || request.toolsInMessage !== undefined;
  const isLast = isFinal || rounds?.isLast === true;
  const shortened = shortenedOutput(draft, fitted, rounds?.tokens);
  const values: FieldValues = new Map([
    ...(isOther && wire.modelPlace === "body" ? [[wire.fields.model, target.model] as const] : []),
    ...(isLast && hasTools ? lastTools(draft, isFinal, { body, slices }) : []),
    ...(shortened === undefined ? [] : wire.body.outputFields(body, slices, shortened.sent)),
  ]);
  return new Map([...values].map(([name, value]) => [name, JSON.stringify(value)]));
}
