/** Results that are too large to be seen even once: which of those that the model has not answered to yet. */

import type { Message, Part } from "../message/message.ts";
import { utf8Bytes } from "../offload/describe.ts";
import { parseJson } from "../wire/slices.ts";
import type { Draft, Sized } from "./draft.ts";
import type { FitWorld } from "./last-resort.ts";
import { type Guard, guardOf, type JudgedView, judged } from "./projection.ts";
import { isInside, type View } from "./view.ts";

/** Larger than both of these, a result leaves at once, unless `toolResponseMaxBytes` says something else. */
const large = { bytes: 50 * 1024, ofLimit: 0.15 };
/** A text of some size never has more bytes per token: what is larger by this need not be counted. */
const tokenBytesMax = 16;
/** Where a request does not fit, what is smaller than this is left to compaction. */
const usualLeast = 4096;
/** What is new may take this much of the limit: for so much a compaction finds room elsewhere. */
const roomForNew = 0.5;
/** Providers take no more calls in one message than 128; several messages of results may be new. */
const mostResults = 512;

export interface ArrivingResult {
  readonly bytes: number;
  /** As the guard counts; asked for only where it matters. */
  readonly tokens: () => number;
}

export interface ArrivalRules {
  readonly limit: number;
  /** `toolResponseMaxBytes`. */
  readonly maxBytes: number | undefined;
}

/** Too large to be seen even once, however much room there is. */
export function isTooLarge(
  { bytes, tokens }: ArrivingResult,
  { limit, maxBytes }: ArrivalRules,
): boolean {
  if (maxBytes !== undefined) return bytes > maxBytes;
  const most = limit * large.ofLimit;
  return bytes > large.bytes && (bytes > most * tokenBytesMax || tokens() > most);
}

interface FreshResult {
  /** On the path. */
  readonly index: number;
  readonly part: number;
  readonly inner: number;
  readonly callId: string;
  readonly text: string;
  readonly bytes: number;
  /** Its share of what its message takes. */
  readonly tokens: number;
}

export interface OversizedResult extends FreshResult {
  readonly reason: string;
}

export async function oversizedResults(
  world: FitWorld,
  draft: Draft,
  start: Sized,
): Promise<readonly OversizedResult[]> {
  const { result_offload_threshold: least = usualLeast } = world.config.agent ?? {};
  const { toolResponseMaxBytes: maxBytes } = world.config.defaults ?? {};
  const fresh = await freshResults(draft, start.view, Math.min(least, maxBytes ?? least));
  if (fresh.length === 0) return [];
  const guard = guardOf(world, draft);
  const before = judged(world, draft, start, guard);
  const scale = before.projection.tokens / Math.max(1, start.measured.total);
  const { limit } = guard;
  const isLarge = ({ bytes, tokens }: FreshResult): boolean =>
    isTooLarge({ bytes, tokens: () => tokens * scale }, { limit, maxBytes });
  const leaving = fresh.filter(isLarge);
  const others = fresh.filter((result) => !isLarge(result) && result.bytes > least);
  const freed = leaving.reduce((sum, { tokens }) => sum + tokens * scale - referenceTokens, 0);
  return [
    ...leaving.map((result) => ({
      ...result,
      reason: `A result of ${result.bytes} bytes, over ${maxBytes ?? large.bytes}, before the model has seen it.`,
    })),
    ...inTheWay(draft, start, others, { guard, before, scale, freed }).map((result) => ({
      ...result,
      reason: `A result of ${result.bytes} bytes, with which the request would not fit into ${limit} tokens.`,
    })),
  ];
}

/** Texts of results behind the model's last word. */
async function freshResults(
  { path, log, wire }: Draft,
  view: View,
  leastBytes: number,
): Promise<readonly FreshResult[]> {
  const from = startOfNew({ path, log });
  const fixed = [...view.gaps, ...view.pins, ...view.expansions];
  const found: FreshResult[] = [];
  for (let index = path.length - 1; index >= from && found.length < mostResults; index--) {
    const { bytes, tokens } = path.sumOf({ first: index, last: index });
    if (bytes <= leastBytes || isInside(fixed, index)) continue;
    await path.load();
    const parts = messageAt({ path, wire }, index)?.parts ?? [];
    const texts = parts.flatMap((part, at) => textsOf(part, { index, part: at }));
    const all = texts.reduce((sum, text) => sum + text.bytes, 0);
    const replaced = view.replacements.get(index) ?? [];
    const wanted = texts.filter(
      (text) =>
        text.bytes > leastBytes &&
        !replaced.some(
          ({ part, inner = text.inner }) => part === text.part && inner === text.inner,
        ),
    );
    found.push(...wanted.map((text) => ({ ...text, tokens: (tokens * text.bytes) / all })));
  }
  return found;
}

function messageAt(
  { path, wire }: Pick<Draft, "path" | "wire">,
  index: number,
): Message | undefined {
  const bytes = path.contentAt(index);
  const json = wire.asMessage(parseJson(bytes, { start: 0, end: bytes.length }));
  return json && wire.decode(json);
}

/** Everything from here on the model has not answered to. */
function startOfNew({ path, log }: Pick<Draft, "path" | "log">): number {
  let from = path.length;
  while (from > 0 && log.nodes.get(path.seqAt(from - 1) ?? -1)?.role !== "assistant") from--;
  return from;
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

interface Fit {
  readonly guard: Guard;
  readonly before: JudgedView;
  /** From our tokens to the provider's. */
  readonly scale: number;
  /** By what leaves anyway. */
  readonly freed: number;
}

/** What a reference takes, about. */
const referenceTokens = 160;

/** The largest, until the request fits with room to spare, or until what is new leaves room for the rest of the conversation. */
function inTheWay(
  { path, log }: Draft,
  { measured }: Sized,
  results: readonly FreshResult[],
  { guard, before, scale, freed }: Fit,
): readonly FreshResult[] {
  if (before.verdict.kind !== "compact") return [];
  const from = Math.max(0, startOfNew({ path, log }) - 1);
  const newest = path.sumOf({ first: from, last: path.length - 1 }).tokens;
  const { own, thresholds } = guard;
  const trigger = own.agentLimit === undefined ? thresholds.compact : thresholds.warn;
  const roomy = guard.limit * trigger;
  let all = before.projection.tokens - freed;
  // What fits is seen once, however little room it leaves.
  if (all <= guard.limit) return [];
  let fixed = (measured.system + measured.tools + newest) * scale - freed;
  const taken: FreshResult[] = [];
  for (const result of results.toSorted((one, other) => other.tokens - one.tokens)) {
    const saved = result.tokens * scale - referenceTokens;
    if (all < roomy || fixed <= guard.limit * roomForNew || saved <= 0) break;
    taken.push(result);
    all -= saved;
    fixed -= saved;
  }
  return taken;
}

/** The call stands in the model's last words: not far before the result. */
const callsLookedAt = 64;

export function toolOf({ path, wire, log }: Draft, callId: string): string | undefined {
  const from = startOfNew({ path, log });
  for (let index = from - 1; index >= Math.max(0, from - callsLookedAt); index--) {
    const call = messageAt({ path, wire }, index)?.parts.find(
      (part) => part.kind === "tool-call" && part.id === callId,
    );
    if (call?.kind === "tool-call") return call.name;
  }
  return undefined;
}
