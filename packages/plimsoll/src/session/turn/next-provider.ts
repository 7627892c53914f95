/**
 * The request of a turn for another provider, when its own provider is full (docs/decisions/0019). It contains the stored view of
 * the conversation, without Plimsoll's own tools, in the words of the other wire.
 */

import { seededCounters } from "../../budget/counters.ts";
import { assessAfter } from "../../budget/guard.ts";
import { possibleAnswer } from "../../budget/limit.ts";
import type { Measurement } from "../../budget/measure.ts";
import { projectionOf } from "../../budget/projection.ts";
import { type NextTarget, targetsElsewhere } from "../../config/next-providers.ts";
import type { Config } from "../../config/schema.ts";
import type { JsonObject } from "../../message/json.ts";
import type { Wire } from "../../wire/format/wire.ts";
import { translateRequest } from "../../wire/translate/translate.ts";
import { wireFor } from "../../wire/wires.ts";
import { type Draft, type Sized, sizeView } from "../draft/draft.ts";
import { decodeMessage, encodeMessage } from "../draft/encode.ts";
import type { FitWorld } from "../fit/last-resort.ts";
import { viewOf } from "../log/path.ts";
import type { PreambleReader } from "../measure/preamble.ts";
import type { Target, Targets } from "../measure/target.ts";
import { measureRequest } from "./draft-from-request.ts";
import { readAlone } from "./read-request.ts";

export interface NextProviderWorld extends Pick<FitWorld, "facts"> {
  readonly config: Config;
  readonly targets: Targets;
  readonly heads: PreambleReader;
}

export type NextRequest =
  | {
      readonly kind: "ready";
      readonly target: Target;
      readonly body: JsonObject;
      /** The stored view, in the client's wire. */
      readonly sized: Sized;
      readonly measured: Measurement;
      readonly maxTokens: number;
      readonly isStream: boolean;
      readonly wantsUsage: boolean;
      readonly leftOut: readonly string[];
    }
  /** The end of a sentence. */
  | { readonly kind: "refused"; readonly reason: string };

/** Statuses with which a provider says that it cannot answer now. 529 is Anthropic's "overloaded". */
export const overloadedStatuses: ReadonlySet<number> = new Set([429, 500, 502, 503, 529]);

/** The targets of other providers for this turn, in order. */
export function nextTargets(
  { config }: Pick<NextProviderWorld, "config">,
  draft: Draft,
): readonly NextTarget[] {
  const [{ provider, model }] = draft.targets;
  return targetsElsewhere(config, provider, model);
}

/** The request for this target. Refused if it cannot be translated, or if the target has no room for it either. */
export async function nextRequest(
  world: NextProviderWorld,
  draft: Draft,
  next: NextTarget,
): Promise<NextRequest> {
  const target = targetOf(world, draft, next);
  const maxTokens = longestAnswer(draft, target);
  const { sized, body: whole } = await storedBody(world, draft);
  const between = { from: draft.wire, to: target.wire };
  const made = translateRequest(between, whole, { model: next.model, maxTokens });
  if (made.kind === "refused") return made;
  const measured = await measuredAt(world, target, encodeMessage(made.body));
  if (!hasRoom(target, measured)) return noRoom(measured, target);
  return { ...made, kind: "ready", target, sized, measured, maxTokens };
}

function targetOf(
  { config, targets }: Pick<NextProviderWorld, "config" | "targets">,
  { log, wire }: Draft,
  { provider, model }: NextTarget,
): Target {
  const { tenant } = log.record;
  return targets.resolve(provider, wireOf(config, provider, wire), { model, tenant });
}

/** The length that the client asks for, or the model's own maximum if that is lower. */
function longestAnswer({ request: { output } }: Draft, { limit }: Target): number {
  const asked = output?.maxTokens ?? limit.reserve;
  const most = limit.windowSource === "fallback" ? asked : Math.min(asked, limit.maxOutput);
  return possibleAnswer(most, limit);
}

function wireOf({ providers = {} }: Config, provider: string, from: Wire): Wire {
  const settings = Object.hasOwn(providers, provider) ? providers[provider] : undefined;
  return wireFor(settings?.wire ?? provider, settings?.api, from);
}

/** The request with the stored edits. Edits that were tried and not stored are not in it. */
async function storedBody(
  { facts }: Pick<NextProviderWorld, "facts">,
  draft: Draft,
): Promise<{ readonly sized: Sized; readonly body: JsonObject }> {
  const bare: Draft = { ...draft, tools: { kind: "none" } };
  const { log, branch, path } = draft;
  const sized = await sizeView(facts, bare, viewOf(log, branch, path));
  const { compose, composeForOther = compose } = draft.request;
  const bytes = composeForOther({ patches: sized.patches });
  return { sized, body: decodeMessage(bytes) };
}

/** The size of the translated request, by the other provider's own tokenizer. */
async function measuredAt(
  world: NextProviderWorld,
  { provider, wire, tenant }: Target,
  body: Uint8Array,
): Promise<Measurement> {
  const hints = { isCompacted: false };
  const { head, messages } = await readAlone(world, { tenant, provider, wire, body, hints });
  return measureRequest(head, messages, undefined);
}

function hasRoom({ key: name, limit }: Target, { total, tools }: Measurement): boolean {
  const counters = seededCounters(total, { committed: 0, schema: tools, reasoning: 0 });
  const size = { least: total, most: total, head: 0, preamble: 0, isGuess: true };
  const projection = projectionOf(counters, size);
  return assessAfter({ projection, targets: [{ name, limit }] }).kind === "fits";
}

function noRoom({ total }: Measurement, { limit }: Target): NextRequest {
  return {
    kind: "refused",
    reason: `its window of ${limit.window} tokens has no room for ${total} tokens and an answer`,
  };
}
