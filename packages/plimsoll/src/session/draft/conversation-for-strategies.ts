/** A view in the form that strategies receive: neutral messages, and units. */

import { setImmediate as nextTick } from "node:timers/promises";
import { headLength } from "../../compact/units/head.ts";
import type { Message } from "../../message/message.ts";
import { inSteps } from "../../message/steps.ts";
import type { OwnEffects, VisibleConversation, VisibleMessage } from "../../message/strategy.ts";
import { type Priority, type TagInForce, tagsOf } from "../../message/tag.ts";
import { type PriorityArea, type Unit, unitsInSteps } from "../../message/unit.ts";
import { ownToolsBeside } from "../../offload/own-tools.ts";
import { parseJson } from "../../wire/format/slices.ts";
import type { Wire } from "../../wire/format/wire.ts";
import { indexOn, stableLength, startOfNew } from "../log/path.ts";
import { isInside, type View } from "../log/view.ts";
import type { FactsReader } from "../measure/message-facts.ts";
import { type Draft, offerIn, ownTextPlacement, type Sized } from "./draft.ts";
import { replaceParts } from "./render.ts";

/** After this many messages, Plimsoll lets other work run. */
const messagesPerTick = 500;

export interface StrategyInput {
  readonly conversation: VisibleConversation;
  /** Index on the path, for each message. */
  readonly pathIndexes: readonly number[];
  /** The highest priority that a caller gave to a message of the view, or to its session or request. */
  readonly saidPriority?: Priority | undefined;
}

interface SeeingWorld {
  readonly facts: FactsReader;
  readonly areas: readonly PriorityArea[];
  readonly effects?: OwnEffects | undefined;
  readonly usesLearnedWeights?: boolean | undefined;
  readonly protectsAllP1?: boolean | undefined;
  /** Whether removed content is stored. If false, there are no handles. Default: true. */
  readonly hasArchive?: boolean;
}

/** What was read of each view, and what else it depends on. The strategies of a chain read the same view, one after the other. */
const read = new WeakMap<
  Sized,
  Pick<Draft, "log"> & {
    readonly tags: unknown;
    readonly summary: unknown;
    readonly input: StrategyInput;
  }
>();

/**
 * The messages that the model would see, in neutral form. Plimsoll's own texts are left out. A notice inside a message must not
 * make that message look like one from the user.
 */
export async function readVisible(
  world: SeeingWorld,
  draft: Draft,
  sized: Sized,
): Promise<StrategyInput> {
  const { log, branch } = draft;
  const { tags } = log.memory;
  const { summary } = branch.memory;
  const known = read.get(sized);
  if (known?.log === log && known.tags === tags && known.summary === summary) return known.input;
  const input = await readAnew(world, draft, sized);
  read.set(sized, { log, tags, summary, input });
  return input;
}

async function readAnew(world: SeeingWorld, draft: Draft, sized: Sized): Promise<StrategyInput> {
  const shortened = await shortenedIn(world.facts, draft, sized.view);
  const { pathIndexes, messages } = await visibleMessages(draft, sized.view, shortened);
  const tags = tagsOf(
    draft.log.memory.tags,
    pathIndexes.map((index) => draft.path.seqAt(index)),
  );
  const split = await inSteps(
    unitsInSteps(
      messages.map(({ message }) => message),
      world.areas,
      tags,
    ),
    () => nextTick(),
  );
  const units = world.protectsAllP1 === true ? split : compared(split, headLength({ messages }));
  const conversation: VisibleConversation = {
    messages,
    units,
    tokens: sized.measured.total,
    mustAlternate: ownTextPlacement(draft) === "inside",
    hasArchive: world.hasArchive !== false,
    weigh: (wanted) => world.facts.weigh(wanted, draft.targets[0].ruler),
    ...(world.effects === undefined ? {} : { effects: world.effects }),
    ...(world.usesLearnedWeights === true ? { usesLearnedWeights: true } : {}),
    ...ownToolsOf(draft, sized),
    ...summaryOf(sized),
    ...preparedFor(draft),
  };
  return { conversation, pathIndexes, saidPriority: highestSaid(tags) };
}

function highestSaid(tags: readonly (TagInForce | undefined)[]): Priority | undefined {
  return tags.flatMap((tag) => tag?.priority ?? tag?.general ?? []).toSorted()[0];
}

/**
 * Priorities only compare units of one conversation. If everything after the head has priority 1, nothing has to go before it, so
 * Plimsoll treats these units as usual, unless `all_p1` says `protect`. Otherwise a session with priority 1 could only be truncated.
 */
function compared(units: readonly Unit[], head: number): readonly Unit[] {
  const movable = units.filter(({ first }) => first >= head);
  if (movable.length < 2 || movable.some(({ priority }) => priority !== 1)) return units;
  return units.map((unit) => ({ ...unit, priority: 2 }));
}

/** A message in which an edit has replaced some parts. */
interface Shortened {
  readonly bytes: Uint8Array;
  readonly tokens: number | undefined;
}

/** The shortened messages of a view, by their index on the path. */
async function shortenedIn(
  facts: Pick<FactsReader, "learn">,
  { path, wire, targets }: Draft,
  { replacements }: View,
): Promise<ReadonlyMap<number, Shortened>> {
  const replaced = [...replacements].map(([index, parts]) => ({
    index,
    bytes: replaceParts(wire, path.contentAt(index), parts),
  }));
  const bodies = replaced.map(({ bytes }) => bytes);
  const sizes = await facts.learn(wire, bodies, targets[0].ruler);
  return new Map(
    replaced.map(({ index, bytes }, at) => [index, { bytes, tokens: sizes[at]?.tokens }]),
  );
}

async function visibleMessages(
  draft: Draft,
  view: View,
  shortened: ReadonlyMap<number, Shortened>,
): Promise<{
  readonly pathIndexes: readonly number[];
  readonly messages: readonly VisibleMessage[];
}> {
  const { path, wire } = draft;
  const isFixed = fixedOn(draft, view);
  const pathIndexes: number[] = [];
  const messages: VisibleMessage[] = [];
  for (let index = 0; index < path.length; index++) {
    const short = shortened.get(index);
    const bytes = short?.bytes ?? path.contentAt(index);
    const message = isInside(view.gaps, index) ? undefined : decoded(wire, bytes);
    if (message === undefined) continue;
    const whole = path.sumOf({ first: index, last: index }).tokens;
    const mayGiveWay = !isFixed(index, message);
    const isAfterGap = isInside(view.gaps, index - 1);
    pathIndexes.push(index);
    messages.push({
      message,
      tokens: short?.tokens ?? whole,
      bytes: bytes.length,
      isPinned: !mayGiveWay || isInside(view.pins, index),
      mayGiveWay,
      number: path.seqAt(index) ?? index,
      ...(isAfterGap ? { isAfterGap } : {}),
      ...originalOf(short && decoded(wire, path.contentAt(index)), whole),
    });
    if (index % messagesPerTick === 0) await nextTick();
  }
  return { pathIndexes, messages };
}

/** Tells which messages strategies must leave unchanged, regardless of their priority. */
function fixedOn(
  draft: Draft,
  { pins, expansions }: View,
): (index: number, message: Message) => boolean {
  // An expanded answer contains more than the client knows, so an excerpt of the client's version cannot replace it.
  const fixed = [...pins.filter(({ isByHand }) => isByHand), ...expansions];
  // The client rewrites everything from here on with every request, so an edit there would be lost with the next request.
  const stable = stableLength(draft.path, draft.branch);
  // If a caller compacts a list of messages, no model is waiting for the newest result, so it may be shortened too.
  const newFrom = draft.origin === "one-off" ? Number.POSITIVE_INFINITY : startOfNew(draft);
  return (index, message) =>
    index >= stable || isInside(fixed, index) || isUnseen(message, index - newFrom);
}

function originalOf(
  message: Message | undefined,
  tokens: number,
): Pick<VisibleMessage, "original"> {
  return message === undefined ? {} : { original: { message, tokens } };
}

/** The model must see a result in full before it is shortened. Results after the model's last answer are still unseen. */
function isUnseen({ parts }: Message, behind: number): boolean {
  return behind >= 0 && parts.some(({ kind }) => kind === "tool-result");
}

/** The summary that an earlier compaction inserted after the head. */
function summaryOf({ view }: Sized): Pick<VisibleConversation, "summary"> {
  const last = view.edits.findLast(
    ({ action }) => action.kind === "insert" && action.handle !== undefined,
  )?.action;
  return last?.kind === "insert" ? { summary: last.text } : {};
}

/**
 * A stored conversation is read without its tools. If the client has tools, Plimsoll assumes that Plimsoll's own tools are in the
 * list too.
 */
function ownToolsOf(draft: Draft, { tools }: Sized): Pick<VisibleConversation, "ownTools"> {
  const offer = offerIn(draft);
  if (offer === undefined)
    return draft.tools.kind !== "unseen" || draft.measured.tools === 0
      ? {}
      : { ownTools: { readingTool: ownToolsBeside(new Set()).nameOf("read_result"), tokens: 0 } };
  const readingTool = offer.own.nameOf("read_result");
  return { ownTools: { readingTool, tokens: tools.elements.length > 0 ? 0 : offer.count.tokens } };
}

/** The summary that was prepared in the background, if the path still contains the messages that the summary covers. */
function preparedFor({ branch, path, log }: Draft): { readonly prepared?: string } {
  const { summary } = branch.memory;
  const isReady = summary !== undefined && indexOn(path, log)(summary.chain) !== undefined;
  return isReady ? { prepared: summary.text } : {};
}

export function decoded(wire: Wire, bytes: Uint8Array): Message | undefined {
  const json = wire.messages.asMessage(parseJson(bytes, { start: 0, end: bytes.length }));
  return json && wire.messages.decode(json);
}
