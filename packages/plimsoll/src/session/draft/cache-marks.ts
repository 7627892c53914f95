/**
 * Cache marks. A provider looks back from a mark over some twenty blocks for what it has; a turn that brought more would find
 * nothing, and pay for everything: then the place where the last request ended is marked, too. A client's request is marked
 * only where the client marks it itself; a library session, which nobody else marks, at the end of what stays the same as well.
 */

import type { JsonValue } from "../../message/json.ts";
import { type MarkPlace, mustMarkBetween, planMarks } from "../../prompt/cache-plan.ts";
import type { CacheRule } from "../../prompt/price-rows.ts";
import type { BuiltSection } from "../../prompt/sections.ts";
import type { SystemText, Wire } from "../../wire/format/wire.ts";
import { viewOf } from "../log/path.ts";
import type { PricesOf } from "../measure/prices.ts";
import { decoded } from "./conversation-for-strategies.ts";
import type { Draft } from "./draft.ts";
import type { Patch } from "./render.ts";

/** One look at the bytes. Contract: true where there is a mark; also where somebody's text speaks of one. */
export function mayCarryMark({ cache }: Wire, bytes: Uint8Array): boolean {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes(cache.markField);
}

/** The patches of a client's request, and one more where a mark is needed. */
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

/** Where the last request ended, if this one goes on behind it. */
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

/** Of the client's messages and of what the model was told in between. */
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

/** The client's next one behind that place: ours lives as long, so that none that lives longer stands behind it. */
function nextMark({ wire, path }: Draft, last: number): JsonValue | undefined {
  for (let index = last + 1; index < path.length; index++) {
    const mark = wire.cache.markIn(path.bytesAt(index), "first");
    if (mark !== undefined) return mark;
  }
  return undefined;
}

/** How a library's request is marked. */
export interface MarkedPrompt {
  readonly system: readonly SystemText[];
  readonly patches: readonly Patch[];
  /** At the end of the last message. */
  readonly end?: JsonValue;
}

export interface Prompting {
  readonly rule: CacheRule;
  /** Of the request: in another one's words than the conversation's own, only its ends can be found again. */
  readonly wire: Wire;
  readonly sections: readonly BuiltSection[];
  readonly patches: readonly Patch[];
  /** Tokens of what is sent. */
  readonly measured: { readonly system: number; readonly tools: number; readonly total: number };
}

type Place = "end" | "between" | "task" | BuiltSection;

/** The request of a library session, which nobody else marks. */
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
 * The end of the conversation first, then where the last request ended, the last section, and the first message: up to there
 * a compaction changes nothing, and its summary comes behind it. Then the other sections.
 */
function placesFor(
  draft: Draft,
  { rule, wire, sections, measured }: Prompting,
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
  // A summary may be at the end of the first message: then Plimsoll marks that.
  const [first] = between;
  const element = first?.first === 0 && first.end > 0 ? first.elements[0] : undefined;
  if (first === undefined || element === undefined) return withMarkAt(draft, between, 0, mark);
  const marked = draft.wire.cache.withMark(element, mark) ?? element;
  return [{ ...first, elements: [marked, ...first.elements.slice(1)] }, ...between.slice(1)];
}

/** Tools come before the system prompt; of that each section has the part that its length says. */
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
