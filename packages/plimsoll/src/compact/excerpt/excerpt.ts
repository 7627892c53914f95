/**
 * Excerpts in place: of the whole conversation those lines stay that are worth most to later turns, where they stood.
 *
 *   slots ─► duties ─► choice ─► rendered and weighed, until the room is used ─► proposals
 */

import type { EditPlace } from "../../message/edit.ts";
import type { Message } from "../../message/message.ts";
import type { Goal, Proposal, Strategy, VisibleConversation } from "../../message/strategy.ts";
import { headLength } from "../units/head.ts";
import type { TruncationRange } from "../units/truncation-range.ts";
import { ownMessage, Scales } from "./exact-cost.ts";
import { reserveFor, writeSummary } from "./excerpt-summary.ts";
import { Choice } from "./greedy-choice.ts";
import { exactCallsFrom, keepMandatory, oversizedTokens, type Room } from "./must-keep.ts";
import { withHandle } from "./notice-text.ts";
import { type Change, gapText, type RenderedChoice, render } from "./render-choice.ts";
import { readSlots, type Slots } from "./texts-to-cut.ts";

/** So often is the choice weighed and mended. */
const rounds = 8;
/** Less than this is not worth another round. */
const slack = { tokens: 8, share: 0.004 };

/** What an excerpt comes to: plain data, so that it can be made in another thread. */
export interface MadeExcerpt {
  readonly headLength: number;
  readonly changes: readonly (Change & { readonly message: number })[];
  readonly gone: readonly TruncationRange[];
  /** The text behind the head, without its handle. */
  readonly digest: string;
}

/** Undefined: there is none that would be smaller. */
export type MakeExcerpt = (
  conversation: VisibleConversation,
  goal: Goal,
) => Promise<MadeExcerpt | undefined>;

export const makeExcerpt: MakeExcerpt = async (conversation, goal) => {
  const room = await roomOf(conversation, goal);
  const { headLength: head } = room;
  if (room.tokens < smallestRoom || head >= conversation.messages.length) return undefined;
  const slots = readSlots(conversation, {
    headLength: head,
    exactFrom: exactCallsFrom(conversation, room),
    oversizedTokens: oversizedTokens(room),
  });
  let made: Excerpt | undefined;
  for (const strictness of ["usual", "least"] as const) {
    const choice = new Choice({ ...slots, weights: slots.mentionWeights.weights });
    keepMandatory(choice, conversation, slots, { ...room, strictness });
    made = await chooseWithin(choice, conversation, slots, room);
    if (made.left >= 0) break;
  }
  const isSmaller = made !== undefined && room.tokens - made.left < room.nowTokens;
  if (made === undefined || !isSmaller) return undefined;
  const { messages, gone } = made.rendered;
  const changes = [...messages].flatMap(([message, { changes: own }]) =>
    own.map((change) => ({ ...change, message })),
  );
  return { headLength: head, changes, gone, digest: made.digest };
};

/** `make`: here, or wherever else there is time for it. */
export function excerptBy(make: MakeExcerpt): Strategy {
  return {
    name: "excerpt",
    propose: async (conversation, goal) => {
      const made = await make(conversation, goal);
      return made === undefined ? [] : proposalsFor(conversation, made);
    },
  };
}

export const excerpt: Strategy = excerptBy(makeExcerpt);

/** With less room than this there is nothing to choose. */
const smallestRoom = 60;

/** A summary that stands there makes room: the new one takes its place. */
async function roomOf(conversation: VisibleConversation, goal: Goal): Promise<Room> {
  const { messages, tokens, summary, weigh } = conversation;
  const [summed = 0] = summary === undefined ? [] : await weigh([ownMessage(summary)]);
  const head = headLength(conversation);
  const history = messages.slice(head);
  const now = history.reduce((sum, visible) => sum + visible.tokens, 0);
  return {
    headLength: head,
    historyTokens: history.reduce(
      (sum, visible) => sum + (visible.original?.tokens ?? visible.tokens),
      0,
    ),
    nowTokens: now + summed,
    tokens: Math.min(goal.tokens, goal.limitTokens) - (tokens - now - summed),
  };
}

interface Excerpt {
  readonly rendered: RenderedChoice;
  readonly digest: string;
  /** Of the room; below zero: what had to stay was too much. */
  readonly left: number;
}

/** Fills the room as far as exact counts allow; the estimate of a piece may be off, their sum must not. */
async function chooseWithin(
  choice: Choice,
  conversation: VisibleConversation,
  slots: Slots,
  room: Room,
): Promise<Excerpt> {
  const scales = new Scales(conversation);
  const reserve = reserveFor(conversation, room, render(choice, conversation, slots));
  const leftNow = async (): Promise<number> =>
    room.tokens - reserve.tokens - (await scales.tokensOf(render(choice, conversation, slots)));
  let left = await leftNow();
  for (let round = 0; round < rounds; round++) {
    if (left >= 0 && left < Math.max(slack.tokens, room.tokens * slack.share)) break;
    const isChanged = left < 0 ? choice.drop(-left) > 0 : choice.fill(left) === "filled";
    if (!isChanged) break;
    left = await leftNow();
  }
  while (left < 0 && choice.drop(-left) > 0) left = await leftNow();
  const rendered = render(choice, conversation, slots);
  const tokens = Math.floor(reserve.tokens + left);
  const digest = await writeSummary(scales, choice, rendered, {
    conversation,
    slots,
    room,
    reserve,
    tokens,
  });
  const spent = digest === "" ? 0 : await scales.weighText(digest);
  return { rendered, digest, left: left + reserve.tokens - spent };
}

const reason =
  "Of a conversation that did not fit, the lines stay that later turns are most likely to need.";

function proposalsFor(
  conversation: VisibleConversation,
  { headLength: head, changes, gone, digest }: MadeExcerpt,
): readonly Proposal[] {
  const removals = gone.map(
    (range): Proposal => ({
      kind: "remove",
      ...range,
      reason,
      handle: "shared",
      textFor: () => gapText(conversation, range),
    }),
  );
  const replacements = changes.flatMap((change): readonly Proposal[] => {
    const { message, part, inner, text } = change;
    const now = textNow(conversation.messages[message]?.message, change);
    if (now === text) return [];
    return [
      {
        kind: "replace",
        message,
        part,
        ...(inner === undefined ? {} : { inner }),
        place: placeOf(change),
        reason,
        handle: "shared",
        textFor: () => text,
      },
    ];
  });
  const edits = [...removals, ...replacements];
  if (edits.length === 0) return [];
  const summary: Proposal = {
    kind: "summary",
    after: Math.max(0, head - 1),
    reason,
    textFor: ({ handle }) => withHandle(digest, handle),
  };
  return [summary, ...edits];
}

function textNow(message: Message | undefined, { part, inner }: Change): string | undefined {
  const found = message?.parts[part];
  if (found?.kind === "text") return found.text;
  if (found?.kind === "tool-call") return found.input;
  const content = found?.kind === "tool-result" ? found.content[inner ?? 0] : undefined;
  return content?.kind === "text" ? content.text : undefined;
}

function placeOf({ inner }: Change): EditPlace {
  return inner === undefined ? "undefined" : "no-file-read";
}
