/** A turn as bytes: what goes to the upstream now. */

import { errorMessage } from "../message/error.ts";
import type { BodySlices } from "../wire/slices.ts";
import type { WireRequest } from "../wire/wire.ts";
import { withMarks } from "./cache-marks.ts";
import type { Draft } from "./draft.ts";
import { reportDegraded } from "./edit-log.ts";
import { shortenedOutput } from "./last-resort.ts";
import { withPatch } from "./render.ts";
import type { PricesOf } from "./timing.ts";
import type { Turn } from "./turn.ts";

export interface Sending {
  readonly request: WireRequest;
  readonly body: Uint8Array;
  readonly slices: BodySlices;
  readonly pricesOf: PricesOf;
}

/** The client's own bytes, with what is edited spliced in; undefined when nothing is. */
export function bodyToSend(
  { fitted, rounds }: Turn,
  draft: Draft,
  { request, body, slices, pricesOf }: Sending,
): Uint8Array | undefined {
  const { wire, path, targets, compose } = draft;
  const { target, isFinal, tools } = fitted;
  const fields = new Map<string, string>();
  if (target.model !== targets[0].model) fields.set("model", JSON.stringify(target.model));
  const hasTools = request.tools !== undefined || request.toolsInMessage !== undefined;
  if ((isFinal || rounds?.isLast === true) && hasTools)
    fields.set("tool_choice", JSON.stringify(wire.noTools));
  const shortened = shortenedOutput(draft, fitted, rounds?.tokens);
  if (shortened !== undefined)
    for (const [name, value] of wire.outputFields(body, slices, shortened.sent))
      fields.set(name, JSON.stringify(value));
  const elements = rounds?.elements ?? [];
  const behind = { first: path.length, end: path.length, elements };
  const marked = withMarks(draft, fitted.patches, { pricesOf, body });
  const patches = elements.length === 0 ? marked : withPatch(marked, behind);
  const isSame = patches.length === 0 && fields.size === 0 && tools.elements.length === 0;
  if (isSame) return undefined;
  try {
    return compose({ patches, fields, tools });
  } catch (error) {
    // The first request goes as it came; a later one of the same turn would make no sense so.
    if (elements.length > 0) throw error;
    reportDegraded(draft, "original", `the view could not be written: ${errorMessage(error)}`);
    return undefined;
  }
}
