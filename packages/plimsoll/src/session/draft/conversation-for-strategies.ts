/** A view as strategies are given it: messages in the neutral form, and units. */

import { setImmediate as nextTick } from "node:timers/promises";
import type { Message } from "../../message/message.ts";
import type { SeenConversation, SeenMessage } from "../../message/strategy.ts";
import { type PriorityArea, splitUnits } from "../../message/unit.ts";
import { ownToolsBeside } from "../../offload/own-tools.ts";
import { parseJson } from "../../wire/format/slices.ts";
import type { Wire } from "../../wire/format/wire.ts";
import { indexOn, stableLength, startOfNew } from "../log/path.ts";
import { isInside } from "../log/view.ts";
import type { FactsReader } from "../measure/message-facts.ts";
import { type Draft, offerIn, ownTextStands, type Sized } from "./draft.ts";
import { replaceParts } from "./render.ts";

/** Others get their turn while a long conversation is read. */
const messagesPerTick = 500;

interface Seen {
  readonly conversation: SeenConversation;
  /** Path index of each message. */
  readonly seen: readonly number[];
}

interface SeeingWorld {
  readonly facts: FactsReader;
  readonly areas: readonly PriorityArea[];
  /** False where nothing is kept: then there are no handles. */
  readonly hasArchive?: boolean;
}

/**
 * The messages that the model would see, in the neutral form. Texts of ours are left out: a notice inside a message
 * does not make it one in which the user spoke.
 */
export async function see(world: SeeingWorld, draft: Draft, sized: Sized): Promise<Seen> {
  const { path, wire, targets } = draft;
  const { gaps, replacements, pins, expansions } = sized.view;
  // What is shown in more words than the client's cannot be shortened by the client's words.
  const fixed = [...pins.filter(({ isByHand }) => isByHand), ...expansions];
  const replaced = new Map(
    [...replacements].map(([index, parts]) => [
      index,
      replaceParts(wire, path.contentAt(index), parts),
    ]),
  );
  const sizes = await world.facts.learn(wire, [...replaced.values()], targets[0].ruler);
  const tokensOf = new Map([...replaced.keys()].map((index, at) => [index, sizes[at]?.tokens]));
  const newFrom = startOfNew(draft);
  // An edit on what the client rewrites with every request would be lost with the next one.
  const stable = stableLength(path, draft.branch);
  const isKept = (index: number): boolean => index >= stable || isInside(fixed, index);
  const seen: number[] = [];
  const messages: SeenMessage[] = [];
  for (let index = 0; index < path.length; index++) {
    const bytes = replaced.get(index) ?? path.contentAt(index);
    const message = isInside(gaps, index) ? undefined : decoded(wire, bytes);
    if (message === undefined) continue;
    const whole = path.sumOf({ first: index, last: index }).tokens;
    const isFixed = isKept(index) || isUnseen(message, index - newFrom);
    seen.push(index);
    messages.push({
      message,
      tokens: tokensOf.get(index) ?? whole,
      bytes: bytes.length,
      isPinned: isFixed || isInside(pins, index),
      mayGiveWay: !isFixed,
      number: path.seqAt(index) ?? index,
      ...originalOf(replaced.has(index) ? decoded(wire, path.contentAt(index)) : undefined, whole),
    });
    if (index % messagesPerTick === 0) await nextTick();
  }
  const units = splitUnits(
    messages.map(({ message }) => message),
    world.areas,
  );
  const conversation: SeenConversation = {
    messages,
    units,
    tokens: sized.measured.total,
    mustAlternate: ownTextStands(draft) === "inside",
    hasArchive: world.hasArchive !== false,
    weigh: (wanted) => world.facts.weigh(wanted, targets[0].ruler),
    ...ownToolsOf(draft, sized),
    ...summaryOf(sized),
    ...preparedFor(draft),
  };
  return { conversation, seen };
}

function originalOf(message: Message | undefined, tokens: number): Pick<SeenMessage, "original"> {
  return message === undefined ? {} : { original: { message, tokens } };
}

/** A result is seen whole before it is shortened: one that came behind the model's last word. */
function isUnseen({ parts }: Message, behind: number): boolean {
  return behind >= 0 && parts.some(({ kind }) => kind === "tool-result");
}

/** The text behind the head that an earlier step left. */
function summaryOf({ view }: Sized): Pick<SeenConversation, "summary"> {
  const last = view.edits.findLast(
    ({ action }) => action.kind === "insert" && action.handle !== undefined,
  )?.action;
  return last?.kind === "insert" ? { summary: last.text } : {};
}

/** A conversation in the store is looked at without its tools, but where its client has some, ours are beside them. */
function ownToolsOf(draft: Draft, { tools }: Sized): Pick<SeenConversation, "ownTools"> {
  const offer = offerIn(draft);
  if (offer === undefined)
    return draft.tools.kind !== "unseen" || draft.measured.tools === 0
      ? {}
      : { ownTools: { readingTool: ownToolsBeside(new Set()).nameOf("read_result"), tokens: 0 } };
  const readingTool = offer.own.nameOf("read_result");
  return { ownTools: { readingTool, tokens: tools.elements.length > 0 ? 0 : offer.count.tokens } };
}

/** Only where the path still passes through what it was made of. */
function preparedFor({ branch, path, log }: Draft): { readonly prepared?: string } {
  const { summary } = branch.memory;
  const isReady = summary !== undefined && indexOn(path, log)(summary.chain) !== undefined;
  return isReady ? { prepared: summary.text } : {};
}

export function decoded(wire: Wire, bytes: Uint8Array): Message | undefined {
  const json = wire.messages.asMessage(parseJson(bytes, { start: 0, end: bytes.length }));
  return json && wire.messages.decode(json);
}
