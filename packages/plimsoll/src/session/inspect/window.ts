/**
 * The picture of a window: every unit in the order in which the model sees it, with its tokens, the edits that changed it, and
 * the handle of any hidden content. It is made from the store alone, so that the service, the commands and the report all show
 * the same picture.
 */

import { shownTokens } from "../../budget/token-scale.ts";
import type { Segment, WindowPicture, WindowUnit } from "../../message/api.ts";
import type { Edit } from "../../message/edit.ts";
import { mergedTag, tagsOf } from "../../message/tag.ts";
import { priorityWith, splitUnits } from "../../message/unit.ts";
import type { NodeRecord, Store, TurnRecord } from "../../store/store.ts";
import { looseChainOf } from "../log/log.ts";
import type { Gap, Range } from "../log/view.ts";
import {
  type LearningWorld,
  learnReplaced,
  learnSketches,
  noneLearned,
  type Replaced,
  type ReplacedMessages,
  replacedKey,
  type Sketches,
} from "./learn-messages.ts";
import { type Sketch, segmentsOf } from "./message-sketch.ts";
import { type PictureOptions, type Place, type PlaceWorld, placeOf } from "./window-at.ts";

export interface PictureWorld extends PlaceWorld, LearningWorld {
  readonly store: Pick<Store, "snapshot" | "turns" | "bodies">;
}

export type Pictures = (session: string, options?: PictureOptions) => Promise<WindowPicture>;

export function createPictures(world: PictureWorld): Pictures {
  // Sketches are kept per wire, because the same bytes can mean something else on another wire.
  const byWire = new Map<string, Sketches>();
  const replaced: ReplacedMessages = noneLearned();
  const take = async (session: string, options: PictureOptions): Promise<Drawn> => {
    const place = await placeOf(world, session, options);
    const { wire, nodes, log, view } = place;
    const inner = view.expansions.flatMap((expansion) =>
      expansion.inner.flatMap((seq) => log.nodes.get(seq) ?? []),
    );
    const sketches: Sketches = byWire.get(wire.name) ?? noneLearned();
    byWire.set(wire.name, sketches);
    await learnSketches(world, { session, wire, nodes: [...nodes, ...inner] }, sketches);
    await learnReplaced(world, place, replaced);
    const sketchOf = ({ hash }: NodeRecord): Sketch => sketches.get(hash) ?? unknownSketch;
    return draw(place, {
      sketches: nodes.map(sketchOf),
      sketchOf,
      replacedAt: (index) =>
        view.replacements.has(index) ? replaced.get(replacedKey(place, index)) : undefined,
    });
  };
  const scaled = async (session: string, options: PictureOptions): Promise<WindowPicture> => {
    const drawn = await take(session, options);
    if (options.at === undefined || drawn.size !== undefined) return toSize(drawn, drawn);
    // The size of an earlier view is not remembered, so it is drawn to the scale of the current one.
    const { at: _, ...now } = options;
    return toSize(drawn, await take(session, { ...now, branch: drawn.picture.branch }));
  };
  // Callers that ask for the same picture at the same time share one result. The map never has more entries than there are
  // waiting callers.
  const underWay = new Map<string, Promise<WindowPicture>>();
  return (session, options = {}) => {
    const key = JSON.stringify([session, options]);
    const taken =
      underWay.get(key) ?? scaled(session, options).finally(() => void underWay.delete(key));
    underWay.set(key, taken);
    return taken;
  };
}

const unknownSketch: Sketch = {
  bones: { role: "user", parts: [] },
  shares: [{ kind: "user", share: 1 }],
  type: "other",
  begins: "",
};

interface Learned {
  /** Sketches of the nodes, in the same order. */
  readonly sketches: readonly Sketch[];
  readonly sketchOf: (node: NodeRecord) => Sketch;
  readonly replacedAt: (index: number) => Replaced | undefined;
}

/** A picture whose units are counted one by one, and the known size of the whole window. */
interface Drawn {
  readonly picture: WindowPicture;
  readonly size: number | undefined;
  readonly place: Place;
}

/**
 * The picture with units that add up to the known size of the window. `measured` is a picture of the same conversation whose size
 * is known.
 */
function toSize({ picture, place }: Drawn, measured: Drawn): WindowPicture {
  const { size, picture: counted } = measured;
  const factor = size === undefined || counted.tokens === 0 ? 1 : size / counted.tokens;
  const units = scaledUnits(picture.units, factor);
  const tokens = sumOf(units);
  return {
    ...picture,
    tokens,
    ...cachedIn(units, place.view.edits, place.lastTurn),
    takenOutTokens: units.reduce(
      (sum, unit) => sum + Math.max(0, (unit.originalTokens ?? unit.tokens) - unit.tokens),
      0,
    ),
    units,
  };
}

/** Rounds the end of each segment, not its length, so that rounding errors do not add up. */
function scaledUnits(units: readonly WindowUnit[], factor: number): readonly WindowUnit[] {
  if (factor === 1) return units;
  let counted = 0;
  return units.map((unit) => {
    const segments = unit.segments.map(({ kind, tokens }) => {
      const start = Math.round(counted * factor);
      counted += tokens;
      return { kind, tokens: Math.round(counted * factor) - start };
    });
    const { originalTokens } = unit;
    return {
      ...unit,
      segments,
      tokens: sumOf(segments),
      ...(originalTokens === undefined
        ? {}
        : { originalTokens: Math.round(originalTokens * factor) }),
    };
  });
}

function sumOf(parts: readonly { readonly tokens: number }[]): number {
  return parts.reduce((sum, { tokens }) => sum + tokens, 0);
}

function draw(place: Place, learned: Learned): Drawn {
  const { session, branch, lastTurn, size } = place;
  const units = [...headUnits(place, learned), ...conversationUnits(place, learned)];
  const { priority } = lastTurn ?? {};
  const picture: WindowPicture = {
    session,
    branch,
    model: lastTurn?.model ?? "",
    window: lastTurn?.window ?? 0,
    ...(lastTurn?.isWindowGuess === true ? { isWindowGuess: true } : {}),
    limit: lastTurn?.limit ?? 0,
    ...(lastTurn?.headTokens === undefined ? {} : { headTokens: lastTurn.headTokens }),
    ...(lastTurn?.windowLimit === undefined ? {} : { windowLimit: lastTurn.windowLimit }),
    tokens: sumOf(units),
    certainty: lastTurn?.measurement.certainty ?? "estimate",
    ...(priority === undefined ? {} : { priority }),
    takenOutTokens: 0,
    units,
  };
  return { picture, size, place };
}

/**
 * The preamble of the last turn. If the wire has the system prompt or the tools among the messages, they are shown there instead.
 * Only the leading system messages are part of the measured system prompt. Later ones are part of the conversation.
 */
function headUnits(
  { lastTurn, nodes, scale }: Place,
  { sketchOf: sketch }: Learned,
): readonly WindowUnit[] {
  const { system = 0, skills = 0, tools = 0 } = lastTurn?.measurement ?? {};
  const split = nodes.findIndex(({ role }) => role !== "system");
  const leading = nodes.slice(0, split < 0 ? nodes.length : split);
  const among = (some: readonly NodeRecord[], kind: "system" | "tools"): number =>
    some
      .filter((node) => node.role === "system" && sketch(node).shares[0]?.kind === kind)
      .reduce((sum, node) => sum + shownTokens(node.tokens, scale), 0);
  const head = [
    { kind: "system", tokens: system - among(leading, "system"), begins: "System prompt" },
    { kind: "skills", tokens: skills, begins: "Skills" },
    { kind: "tools", tokens: tools - among(nodes, "tools"), begins: "Tools" },
  ] as const;
  return head
    .filter(({ tokens }) => tokens > 0)
    .map(({ kind, tokens, begins }) => ({
      id: kind,
      segments: [{ kind, tokens }],
      tokens,
      begins,
    }));
}

function conversationUnits(place: Place, learned: Learned): readonly WindowUnit[] {
  const { view } = place;
  const bones = learned.sketches.map((sketch) => sketch.bones);
  const gapAt = new Map(view.gaps.map((gap) => [gap.first, gap]));
  const inserts = insertsByIndex(place);
  const visibleUnits: WindowUnit[] = [...(inserts.get(-1) ?? [])];
  let index = 0;
  for (const { first, last } of splitUnits(bones)) {
    // A gap may begin in the middle of a unit and end in a later unit.
    for (let from = Math.max(index, first); from <= last; from = index) {
      const gap = gapAt.get(from);
      const to = gap === undefined ? endBefore(gapAt, from, last) : gap.last;
      visibleUnits.push(
        gap === undefined ? unitOf(place, learned, { first: from, last: to }) : gapUnit(place, gap),
      );
      for (let at = from; at <= to; at++) visibleUnits.push(...(inserts.get(at) ?? []));
      index = to + 1;
    }
  }
  return visibleUnits;
}

function endBefore(gapAt: ReadonlyMap<number, Gap>, from: number, last: number): number {
  for (let index = from + 1; index <= last; index++) if (gapAt.has(index)) return index - 1;
  return last;
}

function unitOf(place: Place, learned: Learned, range: Range): WindowUnit {
  const { first, last } = range;
  const own = place.nodes.slice(first, last + 1);
  const sketches = learned.sketches.slice(first, last + 1);
  const segments = [...ownSegments(place, learned, range), ...innerSegments(place, learned, range)];
  const edits = editsTouching(place, range);
  const originalTokens = own.reduce((sum, node) => sum + shownTokens(node.tokens, place.scale), 0);
  const tags = tagsOf(
    place.log.memory.tags,
    own.map(({ seq }) => seq),
  );
  const ofAreas = sketches.flatMap(({ priority }) => priority ?? []).toSorted()[0];
  const isRanked = ofAreas !== undefined || tags.some((tag) => tag !== undefined);
  const handle = handleIn(edits);
  const isPinned = place.view.pins.some((pin) => pin.first <= last && first <= pin.last);
  return {
    id: `m${own[0]?.seq ?? first}`,
    segments: merged(segments),
    tokens: segments.reduce((sum, segment) => sum + segment.tokens, 0),
    first: own[0]?.seq ?? 0,
    last: own.at(-1)?.seq ?? 0,
    type: mergedTag(tags)?.type ?? sketches[largestOf(own)]?.type ?? "other",
    ...(isRanked ? { priority: priorityWith(tags, ofAreas) } : {}),
    ...(isPinned ? { isPinned } : {}),
    ...(edits.length === 0 ? {} : { edits: edits.map(({ seq }) => seq), originalTokens }),
    ...(handle === undefined ? {} : { handle }),
    begins: sketches[0]?.begins ?? "",
  };
}

function largestOf(nodes: readonly NodeRecord[]): number {
  const sizes = nodes.map(({ tokens }) => tokens);
  return sizes.indexOf(Math.max(...sizes));
}

/** Segments of the messages in this range as the model sees them, after edits have replaced parts of them. */
function ownSegments(
  { nodes, scale }: Place,
  { sketches, replacedAt }: Learned,
  { first, last }: Range,
): readonly Segment[] {
  return nodes.slice(first, last + 1).flatMap((node, offset) => {
    const index = first + offset;
    const tokens = shownTokens(replacedAt(index)?.tokens ?? node.tokens, scale);
    return segmentsOf(sketches[index] ?? unknownSketch, tokens);
  });
}

/** Segments of the inner rounds before an answer, which the client does not see. */
function innerSegments(
  { log, view, scale, nodes }: Place,
  learned: Learned,
  { first, last }: Range,
): readonly Segment[] {
  const own = view.expansions.filter(
    (expansion) => first <= expansion.first && expansion.last <= last,
  );
  return own.flatMap((expansion) => {
    const inner = expansion.inner.flatMap((seq) => log.nodes.get(seq) ?? []);
    const clientNodes = nodes.slice(expansion.first, expansion.last + 1);
    const sum = (some: readonly NodeRecord[]): number =>
      some.reduce((all, { tokens }) => all + tokens, 0);
    // The inner messages include the answer itself, so its tokens are subtracted.
    let more = Math.max(0, sum(inner) - sum(clientNodes));
    return inner.flatMap((node) => {
      const tokens = Math.min(more, node.tokens);
      more -= tokens;
      return tokens === 0 ? [] : segmentsOf(learned.sketchOf(node), shownTokens(tokens, scale));
    });
  });
}

function gapUnit({ nodes, scale }: Place, { first, last, text, edit }: Gap): WindowUnit {
  const own = nodes.slice(first, last + 1);
  // Messages that left no mark behind are not in the window at all.
  const tokens = text === "" ? 0 : shownTokens(edit.tokensAfter, scale);
  const handle = handleIn([edit]);
  return {
    id: `e${edit.seq}`,
    segments: [{ kind: edit.action.kind === "fold" ? "summary" : "handle", tokens }],
    tokens,
    first: own[0]?.seq ?? 0,
    last: own.at(-1)?.seq ?? 0,
    edits: [edit.seq],
    originalTokens: own.reduce((sum, node) => sum + shownTokens(node.tokens, scale), 0),
    ...(handle === undefined ? {} : { handle }),
    begins: beginningOf(text),
  };
}

/** The texts that Plimsoll inserts, by the index of the message before them. */
function insertsByIndex(place: Place): ReadonlyMap<number, readonly WindowUnit[]> {
  const { view, indexOf, scale } = place;
  const inserts = new Map<number, WindowUnit[]>();
  for (const edit of view.edits) {
    const { action, seq } = edit;
    const index = action.kind === "insert" ? indexOf(action.after) : undefined;
    if (action.kind !== "insert" || index === undefined || action.text === "") continue;
    const tokens = shownTokens(edit.tokensAfter, scale);
    const unit: WindowUnit = {
      id: `e${seq}`,
      segments: [{ kind: "summary", tokens }],
      tokens,
      edits: [seq],
      originalTokens: 0,
      ...(action.handle === undefined ? {} : { handle: action.handle }),
      begins: beginningOf(action.text),
    };
    inserts.set(index, [...(inserts.get(index) ?? []), unit]);
  }
  return inserts;
}

function editsTouching({ nodes, replacing }: Place, { first, last }: Range): readonly Edit[] {
  return nodes.slice(first, last + 1).flatMap((node) => replacing.get(looseChainOf(node)) ?? []);
}

function handleIn(edits: readonly Edit[]): string | undefined {
  return edits.flatMap(({ action }) => ("handle" in action ? (action.handle ?? []) : []))[0];
}

/**
 * Number of tokens at the beginning of the window that are in the provider's cache. They end at the first unit that was edited
 * since the last turn, or at the last answer, which the provider has not cached yet.
 */
function cachedIn(
  units: readonly WindowUnit[],
  edits: readonly Edit[],
  lastTurn: TurnRecord | undefined,
): Pick<WindowPicture, "cachedTokens"> {
  const read = lastTurn?.cachedTokens ?? lastTurn?.usage?.cacheReadTokens;
  if (lastTurn === undefined || read === undefined) return {};
  const since = new Set(edits.filter(({ at }) => at > lastTurn.endedAt).map(({ seq }) => seq));
  const tip = lastTurn.requestTip ?? Number.POSITIVE_INFINITY;
  let before = 0;
  for (const { tokens, first = 0, edits: own = [] } of units) {
    if (first > tip || own.some((seq) => since.has(seq))) break;
    before += tokens;
  }
  return { cachedTokens: Math.min(read, before) };
}

function merged(segments: readonly Segment[]): readonly Segment[] {
  const all: Segment[] = [];
  for (const segment of segments) {
    const last = all.at(-1);
    if (last?.kind === segment.kind)
      all[all.length - 1] = { kind: last.kind, tokens: last.tokens + segment.tokens };
    else all.push(segment);
  }
  return all;
}

function beginningOf(text: string): string {
  return text.slice(0, 400).replaceAll(/\s+/g, " ").trim().slice(0, 100);
}
