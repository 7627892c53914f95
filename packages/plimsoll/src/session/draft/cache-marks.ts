/**
 * Sets cache marks. A provider looks back about twenty blocks from a cache mark to find a cached prefix. If a turn added more
 * blocks, the provider would miss its cache and charge for the whole prompt. So Plimsoll also sets a mark where the last request
 * ended. In a client's request, Plimsoll adds such a mark only if the client sets cache marks itself. In a library session, where
 * no client sets marks, Plimsoll also marks the ends of the stable parts.
 */

import type { JsonValue } from "../../message/json.ts";
import { type MarkPlace, mustMarkBetween, planMarks } from "../../prompt/cache-plan.ts";
import type { CacheRule } from "../../prompt/price-rows.ts";
import type { BuiltSection, MarksFirst } from "../../prompt/sections.ts";
import type { SystemText, Wire } from "../../wire/format/wire.ts";
import { viewOf } from "../log/path.ts";
import type { PricesOf } from "../measure/prices.ts";
import { decoded } from "./conversation-for-strategies.ts";
import type { Draft } from "./draft.ts";
import type { Patch } from "./render.ts";

/**
 * Contract: returns true if the bytes contain a cache mark, and perhaps also if a text only mentions one. Reads the bytes once.
 */
export function mayCarryMark({ cache }: Wire, bytes: Uint8Array): boolean {
  const { markField } = cache;
  if (markField === undefined) return false;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes(markField);
}

/** The patches of a client's request, plus a patch that adds a cache mark if one is needed. */
export function withMarks(
  draft: Draft,
  patches: readonly Patch[],
  { pricesOf, body }: { readonly pricesOf: PricesOf; readonly body: Uint8Array },
): readonly Patch[] {
  const { wire, targets } = draft;
  const { cache: rule } = pricesOf(targets[0]);
  const last = lastEnd(draft);
  if (last === undefined || !isOutOfReach(draft, last, rule)) return patches;
  const taken = wire.cache.countMarks(body);
  const mark = taken === 0 ? undefined : nextMark(draft, last);
  const places = [{ place: last, prefixTokens: Number.POSITIVE_INFINITY }];
  const isFree = planMarks(places, { rule, taken }).length > 0;
  return mark === undefined || !isFree ? patches : withMarkAt(draft, patches, last, mark);
}

/** Index of the message at which the last request ended, or undefined if this request does not go beyond that message. */
function lastEnd({ wire, path, branch }: Draft): number | undefined {
  const last = (branch.memory.sentLength ?? 0) - 1;
  return wire.cache.usualMark === undefined || last < 0 || last >= path.length - 1
    ? undefined
    : last;
}

function withMarkAt(
  { wire, path }: Draft,
  patches: readonly Patch[],
  index: number,
  mark: JsonValue,
): readonly Patch[] {
  const bytes = path.bytesAt(index);
  const isEdited = patches.some(({ first, end }) => first <= index && index < end);
  const isMarked = wire.cache.markIn(bytes) !== undefined;
  const marked = isEdited || isMarked ? undefined : wire.cache.withMark(bytes, mark);
  if (marked === undefined) return patches;
  const patch = { first: index, end: index + 1, elements: [marked] };
  return [...patches, patch].toSorted((one, other) => one.first - other.first);
}

/**
 * Whether the last request ended so many blocks ago that the provider would not find its cache. Blocks of inner rounds count too.
 */
function isOutOfReach(draft: Draft, last: number, rule: CacheRule): boolean {
  const { wire, path, log, branch } = draft;
  let blocks = 0;
  const count = (bytes: Uint8Array | undefined): void => {
    blocks += bytes === undefined ? 0 : (decoded(wire, bytes)?.parts.length ?? 1);
  };
  for (let index = last + 1; index < path.length; index++) count(path.bytesAt(index));
  for (const { first, inner } of viewOf(log, branch, path).expansions)
    if (first > last) for (const seq of inner) count(path.innerAt(seq));
  return mustMarkBetween(blocks, rule);
}

/**
 * The client's next mark after the end of the last request. Plimsoll's mark gets
 * the same lifetime, so that no mark with a longer lifetime follows it.
 */
function nextMark({ wire, path }: Draft, last: number): JsonValue | undefined {
  for (let index = last + 1; index < path.length; index++) {
    const mark = wire.cache.markIn(path.bytesAt(index), "first");
    if (mark !== undefined) return mark;
  }
  return undefined;
}

/** A library request with its marks. */
export interface MarkedPrompt {
  readonly system: readonly SystemText[];
  readonly patches: readonly Patch[];
  /** Mark at the end of the last message. */
  readonly end?: JsonValue;
}

export interface Prompting {
  readonly rule: CacheRule;
  /**
   * Wire of the request. If it differs from the conversation's wire, only sections of the system prompt and the end of the
   * conversation get marks.
   */
  readonly wire: Wire;
  readonly sections: readonly BuiltSection[];
  readonly marksFirst: MarksFirst;
  readonly patches: readonly Patch[];
  /** Tokens of the request as sent. */
  readonly measured: { readonly system: number; readonly tools: number; readonly total: number };
}

type Place = "end" | "between" | "task" | BuiltSection;

/** Plans the cache marks for a request of a library session. */
export function markPrompt(draft: Draft, prompting: Prompting): MarkedPrompt {
  const { wire, sections, patches } = prompting;
  const mark = wire.cache.usualMark;
  if (mark === undefined) return { system: sections.map(({ text }) => ({ text })), patches };
  const last = draft.wire === wire ? lastEnd(draft) : undefined;
  const places = placesFor(draft, prompting, last);
  const chosen = new Set(planMarks(places, { rule: prompting.rule, taken: 0 }));
  return {
    system: sections.map((section) => ({
      text: section.text,
      ...(chosen.has(section) ? { mark } : {}),
    })),
    patches: marksAt(draft, { patches, mark, chosen, last }),
    ...(chosen.has("end") ? { end: mark } : {}),
  };
}

/**
 * The places for cache marks, in order of preference: the end of the conversation, the place where the last request ended, the
 * last section, the first message, then the other sections. The first message is a good place because a compaction changes only
 * what comes after it. If the sections come first, all of them come right after the end of the conversation.
 */
function placesFor(
  draft: Draft,
  { rule, wire, sections, marksFirst, measured }: Prompting,
  last: number | undefined,
): readonly MarkPlace<Place>[] {
  const end: MarkPlace<Place> = { place: "end", prefixTokens: measured.total };
  const isBetween = last !== undefined && isOutOfReach(draft, last, rule);
  const between: MarkPlace<Place> = { place: "between", prefixTokens: measured.total };
  const [lastSection, ...others] = prefixes(sections, measured)
    .filter(({ place }) => place.isBreakpoint)
    .toReversed();
  const hasTask = draft.wire === wire && draft.path.length > 1;
  const first = draft.path.sumOf({ first: 0, last: 0 }).tokens;
  const task: MarkPlace<Place> = {
    place: "task",
    prefixTokens: measured.system + measured.tools + first,
  };
  if (marksFirst === "sections" && lastSection !== undefined)
    return [
      end,
      lastSection,
      ...others,
      ...(isBetween ? [between] : []),
      ...(hasTask ? [task] : []),
    ];
  return [
    end,
    ...(isBetween ? [between] : []),
    ...(lastSection === undefined ? [] : [lastSection]),
    ...(hasTask ? [task] : []),
    ...others,
  ];
}

interface Chosen {
  readonly patches: readonly Patch[];
  readonly mark: JsonValue;
  readonly chosen: ReadonlySet<Place>;
  readonly last: number | undefined;
}

function marksAt(draft: Draft, { patches, mark, chosen, last }: Chosen): readonly Patch[] {
  const between =
    last !== undefined && chosen.has("between") ? withMarkAt(draft, patches, last, mark) : patches;
  if (!chosen.has("task")) return between;
  // The first message may already be patched, for example with a summary at its end. Then Plimsoll marks the patched message.
  const [first] = between;
  const element = first?.first === 0 && first.end > 0 ? first.elements[0] : undefined;
  if (first === undefined || element === undefined) return withMarkAt(draft, between, 0, mark);
  const marked = draft.wire.cache.withMark(element, mark) ?? element;
  return [{ ...first, elements: [marked, ...first.elements.slice(1)] }, ...between.slice(1)];
}

/**
 * Estimates how many tokens there are up to the end of each section: all tools, plus a share of the system prompt's tokens that
 * depends on the number of characters so far.
 */
function prefixes(
  sections: readonly BuiltSection[],
  { system, tools }: Prompting["measured"],
): readonly MarkPlace<BuiltSection>[] {
  const all = sections.reduce((sum, { text }) => sum + text.length, 0);
  let chars = 0;
  return sections.map((section) => {
    chars += section.text.length;
    return { place: section, prefixTokens: tools + (system * chars) / Math.max(1, all) };
  });
}
