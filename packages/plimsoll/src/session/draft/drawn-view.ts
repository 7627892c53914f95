/**
 * A view as patches, with what they remove and add. As long as messages are only added behind a view, its patches stay the same.
 * So Plimsoll draws a view once, and a later turn takes it over.
 */

import { setImmediate as nextTurn } from "node:timers/promises";
import { addCounts } from "../../budget/measure.ts";
import type { Count } from "../../budget/tokenizer.ts";
import type { Wire } from "../../wire/format/wire.ts";
import type { LogMessage } from "../log/log.ts";
import type { Conversation, Path, Sum } from "../log/path.ts";
import { nothing } from "../log/path.ts";
import type { Range, View } from "../log/view.ts";
import type { FactsReader, Ruler } from "../measure/message-facts.ts";
import { type Patch, type Rendering, renderView } from "./render.ts";

export interface DrawnView {
  readonly patches: readonly Patch[];
  /** Sum of the client's messages that the patches replace. */
  readonly removed: Sum;
  /** Sum of the messages that the patches add. */
  readonly added: Added;
}

interface Added extends Count {
  readonly bytes: number;
  readonly media: number;
}

export interface Drawing {
  readonly path: Path;
  readonly rendering: Rendering;
  readonly ruler: Ruler;
}

interface Kept extends DrawnView {
  readonly rendering: Rendering;
  readonly ruler: string;
  /** Number of messages, from the first on, that the drawing depends on. */
  readonly reach: number;
  readonly keys: readonly object[];
}

/** The newest drawing of each view that is in memory. */
const drawn = new WeakMap<View, Kept>();

export async function drawView(
  facts: Pick<FactsReader, "learn">,
  view: View,
  drawing: Drawing,
): Promise<DrawnView> {
  const known = drawn.get(view);
  if (known !== undefined && isStillRight(known, drawing)) return known;
  const patches = renderView(view, drawing.path, drawing.rendering);
  const messages = await learnAdded(facts, patches, drawing);
  const made = { patches, removed: removedBy(patches, drawing.path), added: sumOf(messages) };
  keep(view, made, messages, drawing);
  return made;
}

function isStillRight(
  { rendering, ruler, reach, keys }: Kept,
  { path, rendering: wanted, ruler: { key } }: Drawing,
): boolean {
  return ruler === key && isSameRendering(rendering, wanted) && beginsAlike(path, keys, reach);
}

function isSameRendering(one: Rendering, other: Rendering): boolean {
  return (
    one.wire === other.wire &&
    one.ownTextPlacement === other.ownTextPlacement &&
    one.lastWords === other.lastWords &&
    one.isWithoutOwnTools === other.isWithoutOwnTools &&
    one.isNative === other.isNative &&
    one.listed === other.listed
  );
}

/** Whether the messages up to `reach` have the bytes that they had then. A list that only grows need not be compared. */
function beginsAlike({ keys: now }: Conversation, then: readonly object[], reach: number): boolean {
  if (now === undefined || now.length < reach) return false;
  if (now === then) return true;
  for (let index = 0; index < reach; index++) if (now[index] !== then[index]) return false;
  return true;
}

/** A drawing is not kept if it may come out differently next time: words behind the last message, guesses, missing lookups. */
function keep(
  view: View,
  made: DrawnView,
  messages: readonly LogMessage[],
  { path, rendering, ruler }: Drawing,
): void {
  const reach = reachOf(view, made.patches);
  if (path.keys === undefined) return;
  const isFinal =
    rendering.lastWords === undefined &&
    reach <= path.keys.length &&
    !messages.some(({ isGuess }) => isGuess === true) &&
    hasLookups(view, path);
  // The empty view belongs to no session, so it must keep no messages of one.
  const keys = reach === 0 ? [] : path.keys;
  if (isFinal) drawn.set(view, { ...made, rendering, ruler: ruler.key, reach, keys });
}

/** What a patch shows may depend on the message behind it, but on none after that. */
function reachOf(
  { gaps, replacements, notes, expansions, contractions }: View,
  patches: readonly Patch[],
): number {
  let last = -1;
  const include = (index: number): void => {
    if (index > last) last = index;
  };
  for (const patch of patches) include(patch.end);
  for (const ranges of [gaps, expansions, contractions] satisfies (readonly Range[])[])
    for (const range of ranges) include(range.last + 1);
  for (const places of [replacements, notes]) for (const index of places.keys()) include(index + 1);
  return last + 1;
}

function hasLookups({ expansions, contractions }: View, { innerAt }: Path): boolean {
  return [...expansions, ...contractions].every(({ inner }) =>
    inner.every((seq) => innerAt(seq) !== undefined),
  );
}

/** The sum of the client's messages that the patches replace. */
function removedBy(patches: readonly Patch[], path: Path): Sum {
  let { tokens, bytes, media } = nothing;
  for (const { first, end } of patches) {
    const removed = path.sumOf({ first, last: end - 1 });
    tokens += removed.tokens;
    bytes += removed.bytes;
    media += removed.media;
  }
  return { tokens, bytes, media };
}

function sumOf(messages: readonly LogMessage[]): Added {
  return {
    ...addCounts(messages),
    bytes: messages.reduce((all, { bytes }) => all + bytes, 0),
    media: messages.reduce((all, { media = 0 }) => all + media, 0),
  };
}

const manyElements = 250;

/** The facts of each message that the patches add. */
async function learnAdded(
  facts: Pick<FactsReader, "learn">,
  patches: readonly Patch[],
  { rendering: { wire }, ruler }: Drawing,
): Promise<readonly LogMessage[]> {
  const elements = patches.flatMap((patch) => patch.elements);
  const known = elements.map((bytes) => learnedOf(bytes, wire, ruler));
  const unknown = elements.filter((_, index) => known[index] === undefined);
  // Reading these elements takes as long as writing them, which Plimsoll has just done. So let other work run first.
  if (unknown.length > manyElements) await nextTurn();
  const learned = unknown.length === 0 ? [] : await facts.learn(wire, unknown, ruler);
  for (const [index, message] of learned.entries())
    keepLearned(unknown[index], { wire, ruler: ruler.key, message });
  const next = learned.values();
  return known.flatMap((message) => message ?? next.next().value ?? []);
}

interface Learned {
  readonly wire: Wire;
  readonly ruler: string;
  readonly message: LogMessage;
}

/** The facts about elements that stay in memory, because a later turn shows them again. */
const learnedElements = new WeakMap<Uint8Array, Learned>();

function learnedOf(bytes: Uint8Array, wire: Wire, ruler: Ruler): LogMessage | undefined {
  const known = learnedElements.get(bytes);
  return known?.wire === wire && known.ruler === ruler.key ? known.message : undefined;
}

/** A guess is not kept, because counting may work the next time. */
function keepLearned(bytes: Uint8Array | undefined, learned: Learned): void {
  if (bytes !== undefined && learned.message.isGuess !== true) learnedElements.set(bytes, learned);
}
