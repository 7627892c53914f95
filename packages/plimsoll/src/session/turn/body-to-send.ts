/** A turn as bytes: what goes to the upstream now. */

import { errorMessage } from "../../message/error.ts";
import type { BodySlices } from "../../wire/format/slices.ts";
import type { FieldValues, WireRequest } from "../../wire/format/wire.ts";
import { withMarks } from "../draft/cache-marks.ts";
import type { Draft } from "../draft/draft.ts";
import { patchBody, withPatch } from "../draft/render.ts";
import { type Fitted, shortenedOutput } from "../fit/last-resort.ts";
import { reportDegraded } from "../log/report.ts";
import type { PricesOf } from "../measure/prices.ts";
import type { InnerRounds } from "./inner-rounds.ts";

export interface Sending {
  readonly request: WireRequest;
  readonly body: Uint8Array;
  readonly slices: BodySlices;
  readonly pricesOf: PricesOf;
}

export interface SendingTurn {
  readonly fitted: Fitted;
  readonly rounds: InnerRounds | undefined;
}

/** The client's own bytes, with what is edited spliced in; undefined when nothing is. */
export function bodyToSend(
  turn: SendingTurn,
  draft: Draft,
  sending: Sending,
): Uint8Array | undefined {
  const { fitted, rounds } = turn;
  const { wire, path } = draft;
  const { compose } = draft.request;
  const { tools } = fitted;
  const { body, slices, pricesOf } = sending;
  const fields = fieldsToSend(turn, draft, sending);
  const elements = rounds?.elements ?? [];
  const behind = { first: path.length, end: path.length, elements };
  const marked = withMarks(draft, fitted.patches, { pricesOf, body });
  const patches = elements.length === 0 ? marked : withPatch(marked, behind);
  const isSaidAlike = patches.length === 0 && tools.elements.length === 0;
  if (isSaidAlike && fields.size === 0) return undefined;
  try {
    // What the provider holds of the conversation it goes on holding: nothing of it is written out for a field beside it.
    return isSaidAlike
      ? patchBody(body, slices, wire.fields, { patches, fields })
      : compose({ patches, fields, tools });
  } catch (error) {
    // The first request goes as it came; a later one of the same turn would make no sense so.
    if (elements.length > 0) throw error;
    reportDegraded(draft, "original", `the view could not be written: ${errorMessage(error)}`);
    return undefined;
  }
}

/** JSON text of the fields beside the conversation that get another value. */
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
    ...(isOther ? [[wire.fields.model, target.model] as const] : []),
    ...(isLast && hasTools ? wire.body.noTools : []),
    ...(shortened === undefined ? [] : wire.body.outputFields(body, slices, shortened.sent)),
  ]);
  return new Map([...values].map(([name, value]) => [name, JSON.stringify(value)]));
}
