/**
 * Finds results that the model has not answered yet and that are too large to show even once, or that must be hidden as a last
 * resort.
 */

import { inProviderTokens, scaleBy, type TokenScale } from "../../budget/token-scale.ts";
import { arrivalBytesOf } from "../../config/levels.ts";
import type { Message, Part, ToolCallPart } from "../../message/message.ts";
import { utf8Bytes } from "../../offload/reference-text.ts";
import { parseJson } from "../../wire/format/slices.ts";
import type { Draft, Sized } from "../draft/draft.ts";
import { type CalibrationWorld, guardOf } from "../draft/projection.ts";
import { startOfNew } from "../log/path.ts";
import { isInside, type View } from "../log/view.ts";
import type { FitWorld } from "./last-resort.ts";

/**
 * A result that exceeds both this size in bytes and this share of the limit is offloaded at once, unless `toolResponseMaxBytes`
 * is set.
 */
const large = { bytes: 50 * 1024, ofLimit: 0.15 };
/** A long text has at most this many bytes per token, so if a result has very many bytes, its tokens need not be counted. */
const tokenBytesMax = 16;
/** Results smaller than this many bytes are not offloaded on arrival. A later compaction may shorten them. */
const usualLeast = 4096;
/** Maximum number of results to check. One message has at most 128 results, but several messages may be new. */
const mostResults = 512;

export interface ArrivingResult {
  readonly bytes: number;
  /** Counts the result in the provider's tokens. Called only if the number of bytes is not enough to decide. */
  readonly tokens: () => number;
}

export interface ArrivalRules {
  readonly limit: number;
  /** The size over which the settings offload a result on arrival. Undefined if they name none. */
  readonly maxBytes: number | undefined;
}

/** Whether a result is too large to be shown even once, regardless of the room left. */
export function isTooLarge(
  { bytes, tokens }: ArrivingResult,
  { limit, maxBytes }: ArrivalRules,
): boolean {
  if (maxBytes !== undefined) return bytes > maxBytes;
  const most = limit * large.ofLimit;
  return bytes > large.bytes && (bytes > most * tokenBytesMax || tokens() > most);
}

interface FreshResult {
  /** Index of the message on the path. */
  readonly index: number;
  readonly part: number;
  readonly inner: number;
  readonly callId: string;
  readonly text: string;
  readonly bytes: number;
  /** Estimated tokens of the result: its share of the message's tokens, by bytes. */
  readonly tokens: number;
}

export interface OversizedResult extends FreshResult {
  readonly reason: string;
}

type RoomWorld = CalibrationWorld & Pick<FitWorld, "config">;

/** Results that are too large on arrival, regardless of the room left. */
export async function oversizedResults(
  world: RoomWorld,
  draft: Draft,
  start: Sized,
): Promise<readonly OversizedResult[]> {
  const maxBytes = arrivalBytesOf(world.config, draft.who);
  const least = leastBytes(world);
  const fresh = await freshResults(draft, start.view, Math.min(least, maxBytes ?? least));
  if (fresh.length === 0) return [];
  const { limit, scale } = roomOf(world, draft);
  const isLarge = ({ bytes, tokens }: FreshResult): boolean =>
    isTooLarge({ bytes, tokens: () => inProviderTokens(tokens, scale) }, { limit, maxBytes });
  return fresh.filter(isLarge).map((result) => ({
    ...result,
    reason: `The result has ${result.bytes} bytes, more than the ${maxBytes ?? large.bytes} that the model may see at once.`,
  }));
}

/**
 * The results to hide when nothing else can be removed: the largest first, until enough
 * is saved. A result that is no larger than its reference stays.
 */
export async function resultsInTheWay(
  world: RoomWorld,
  draft: Draft,
  start: Sized,
  overTokens: number,
): Promise<readonly OversizedResult[]> {
  const { scale } = roomOf(world, draft);
  const { window } = draft.targets[0].limit;
  const fresh = await freshResults(draft, start.view, 0);
  const taken: OversizedResult[] = [];
  let saved = 0;
  for (const result of fresh.toSorted((one, other) => other.tokens - one.tokens)) {
    const saves = inProviderTokens(result.tokens, scale) - referenceTokens;
    if (saved >= overTokens || saves <= 0) break;
    saved += saves;
    const reason = `With this result of ${result.bytes} bytes, the window of ${window} tokens has no room for an answer, and nothing older can be removed.`;
    taken.push({ ...result, reason });
  }
  return taken;
}

function leastBytes({ config }: Pick<RoomWorld, "config">): number {
  return config.agent?.result_offload_threshold ?? usualLeast;
}

interface Room {
  readonly limit: number;
  readonly scale: TokenScale;
}

function roomOf(world: RoomWorld, draft: Draft): Room {
  const { conversation } = world.calibrations.factors(draft.log, draft.targets[0]);
  return { limit: guardOf(world, draft).limit, scale: scaleBy(conversation) };
}

/** The results after the model's last answer, with their texts. */
async function freshResults(
  draft: Draft,
  view: View,
  leastBytes: number,
): Promise<readonly FreshResult[]> {
  const { path } = draft;
  const from = startOfNew(draft);
  const fixed = [...view.gaps, ...view.pins, ...view.expansions];
  const found: FreshResult[] = [];
  for (let index = path.length - 1; index >= from && found.length < mostResults; index--) {
    const { bytes } = path.sumOf({ first: index, last: index });
    if (bytes <= leastBytes || isInside(fixed, index)) continue;
    await path.load();
    const whole = resultsAt(draft, view, index);
    found.push(...whole.filter((result) => result.bytes > leastBytes));
  }
  return found;
}

/** The results in one message that no edit has replaced. */
function resultsAt({ path, wire }: Draft, view: View, index: number): readonly FreshResult[] {
  const { tokens } = path.sumOf({ first: index, last: index });
  const parts = messageAt({ path, wire }, index)?.parts ?? [];
  const texts = parts.flatMap((part, at) => textsOf(part, { index, part: at }));
  const all = texts.reduce((sum, text) => sum + text.bytes, 0);
  const replaced = view.replacements.get(index) ?? [];
  const isWhole = (text: Omit<FreshResult, "tokens">): boolean =>
    !replaced.some(({ part, inner = text.inner }) => part === text.part && inner === text.inner);
  return texts.filter(isWhole).map((text) => ({ ...text, tokens: (tokens * text.bytes) / all }));
}

function messageAt(
  { path, wire }: Pick<Draft, "path" | "wire">,
  index: number,
): Message | undefined {
  const bytes = path.contentAt(index);
  const json = wire.messages.asMessage(parseJson(bytes, { start: 0, end: bytes.length }));
  return json && wire.messages.decode(json);
}

function textsOf(
  part: Part,
  place: { readonly index: number; readonly part: number },
): readonly Omit<FreshResult, "tokens">[] {
  if (part.kind !== "tool-result") return [];
  const { callId } = part;
  return part.content.flatMap((content, inner) =>
    content.kind === "text"
      ? [{ ...place, inner, callId, text: content.text, bytes: utf8Bytes(content.text) }]
      : [],
  );
}

/** Approximate size of a reference, in tokens. */
const referenceTokens = 160;

/**
 * Maximum number of messages to search for the call of a result. The call is in the model's last answer, shortly before the
 * result.
 */
const callsLookedAt = 64;

export function toolOf(draft: Draft, callId: string): string | undefined {
  return callOf(draft, callId)?.name;
}

export function callOf({ path, wire, log }: Draft, callId: string): ToolCallPart | undefined {
  const from = startOfNew({ path, log });
  for (let index = from - 1; index >= Math.max(0, from - callsLookedAt); index--) {
    const call = messageAt({ path, wire }, index)?.parts.find(
      (part) => part.kind === "tool-call" && part.id === callId,
    );
    if (call?.kind === "tool-call") return call;
  }
  return undefined;
}
