/**
 * Excerpts: keeps the lines of a conversation that later turns are most likely to need, and leaves them where they were. A story
 * after the head tells what the view no longer shows.
 *
 *   texts-to-cut ─► must-keep, keep-requests ─► greedy-choice ◄─► render-choice, notice-text, exact-cost ─► proposals
 *
 * How the lines are chosen. Each text after the head is cut into pieces: sentences of people and agents, lines of tools, segments
 * of very long lines, or records and members of JSON. The worth of a piece is the weight of the mentions in it: paths, names, ids,
 * figures, and reports of errors and decisions. Plain words add very little. A mention weighs more if the agent used it, if several
 * messages contain it, and if it is recent. A mention in the head weighs nothing (`mention-weights.ts`).
 *
 * First come the pieces that must stay, whatever they are worth: the user's words and the newest exchanges up to a share of the
 * room, pinned messages, and units of priority 1 as long as they leave room for other pieces. Then comes the trail: what the agent
 * said and did, newest first and without a gap, with no more of the results than must stay (`must-keep.ts`). Then come the agent's
 * closing words for each request that stays. A request without room for its closing words leaves the messages, and the story quotes
 * it (`keep-requests.ts`). The remaining room is filled greedily, always with the piece that adds the most weight per token and still
 * fits. A mention that a kept piece already contains adds next to nothing. The price of a piece includes everything that is kept
 * with it: a neighbour for a lone line, lines that would be a hole smaller than its mark, the JSON keys around it, and a mark for a
 * new gap. The first piece of a unit also pays for the unit's frame, for its texts that are never cut, such as short arguments, and
 * for the least that must stay of its other texts (`least-pieces.ts`). Candidates wait in a heap and are priced again when they
 * reach its front, so choosing among n pieces takes about n·log(n) steps (`greedy-choice.ts`).
 *
 * If no piece adds anything, as where the same few words come again and again, but the view would be smaller than the goal allows,
 * the newest units stay whole.
 *
 * Prices are only estimates. So after each fill the messages are rendered and counted exactly, with the story of what they leave
 * out. In up to eight rounds, Plimsoll then fills the remaining room or takes back its last picks. In the end it takes back picks
 * until the excerpt fits.
 *
 * Of a very long history, only the newest calls and results are read (`far-messages.ts`), and in each fill only the most promising
 * pieces are priced (`promising-pieces.ts`). The story is about all messages.
 *
 * Invariant: kept pieces are unchanged and in order, and only picks are taken back, never a piece that must stay. So the excerpt
 * exceeds the room only if the pieces that must stay and the story alone exceed it. No message of an excerpt consists of a mark
 * alone. An excerpt is used only if it makes the view smaller.
 */

import type { EditPlace } from "../../message/edit.ts";
import type { Message } from "../../message/message.ts";
import type { Goal, Proposal, Strategy, VisibleConversation } from "../../message/strategy.ts";
import { isTalk } from "../relevance/task.ts";
import { type Act, readActs } from "../story/acts.ts";
import { headLength } from "../units/head.ts";
import { withOlderCopiesReplaced } from "../units/older-copies.ts";
import { ownMessage, Scales } from "./exact-cost.ts";
import {
  isBrief,
  oversizedTokens,
  type Room,
  type Strictness,
  strictnesses,
} from "./excerpt-room.ts";
import { type Reach, usualReach } from "./far-messages.ts";
import { Choice } from "./greedy-choice.ts";
import { keepOutcomes, type QuotedRequest, quoteUnanswered } from "./keep-requests.ts";
import { exactCallsFrom, keepMandatory } from "./must-keep.ts";
import { digestOf, withHandle } from "./notice-text.ts";
import { type Change, type GoneRange, type RenderedChoice, render } from "./render-choice.ts";
import { readSlots, type Slots } from "./texts-to-cut.ts";

/** Maximum number of rounds in which the kept pieces are counted exactly, and pieces are added or taken back. */
const rounds = 8;
/** If fewer tokens than this, or a smaller share of the room, are left, there is no further round. */
const slack = { tokens: 8, share: 0.004 };

/** Share of the room that the calls of one exchange may take, even if it is the newest one. */
const largestCalls: Readonly<Record<Strictness, number>> = { usual: 0.5, modest: 0.5, least: 0.4 };
/** Tokens of the mark for a run of messages that is left out. */
const gapTokens = { usual: 15, brief: 9, talk: 3 };
/** Share of the room for sentences that say what happened where messages are left out. */
const rangesShare = { usual: 0.08, brief: 0.05 };
/** The sentence about the newest call, if it had to go, may take this share. */
const newestShare = 0.25;

/** A finished excerpt as plain data, so that another thread can make it. */
export interface MadeExcerpt {
  readonly headLength: number;
  readonly changes: readonly (Change & { readonly message: number })[];
  readonly gone: readonly GoneRange[];
  /** Plimsoll's text after the head, without its handle. */
  readonly digest: string;
}

/** Returns undefined if no excerpt would make the view smaller. */
export type MakeExcerpt = (
  conversation: VisibleConversation,
  goal: Goal,
) => Promise<MadeExcerpt | undefined>;

export const makeExcerpt: MakeExcerpt = excerptWithin(usualReach);

/** Makes excerpts that read calls and results only so far back. */
export function excerptWithin(reach: Reach): MakeExcerpt {
  return (conversation, goal) => excerptOf(withOlderCopiesReplaced(conversation), goal, reach);
}

async function excerptOf(
  conversation: VisibleConversation,
  goal: Goal,
  reach: Reach,
): Promise<MadeExcerpt | undefined> {
  const room = await roomOf(conversation, goal);
  const { headLength: head } = room;
  if (room.tokens < smallestRoom || head >= conversation.messages.length) return undefined;
  const acts = readActs(conversation.messages, head, conversation.effects);
  const slots = readSlots(conversation, {
    acts,
    roomTokens: room.tokens,
    headLength: head,
    exactFrom: exactCallsFrom(conversation, room),
    oversizedTokens: oversizedTokens(room),
    reach,
  });
  let made: Excerpt | undefined;
  for (const strictness of strictnesses) {
    const choice = new Choice({
      ...slots,
      weights: slots.mentionWeights.weights,
      gapTokens: gapTokens[isTalk(conversation) ? "talk" : isBrief(room) ? "brief" : "usual"],
      largestCalls: room.tokens * largestCalls[strictness],
    });
    keepMandatory(choice, conversation, { ...slots, room: { ...room, strictness }, acts });
    const isLastTry = strictness === "least" || isBrief(room);
    made = await chooseWithin(choice, { conversation, goal, slots, room, acts, isLastTry });
    if (made.left >= 0) break;
  }
  const isSmaller = made !== undefined && room.tokens - made.left < room.nowTokens;
  if (made === undefined || !isSmaller) return undefined;
  const { messages, gone } = made.rendered;
  const changes = [...messages].flatMap(([message, { changes: own }]) =>
    own.map((change) => ({ ...change, message })),
  );
  return { headLength: head, changes, gone, digest: made.digest };
}

/** The strategy. `make` makes the excerpts, for example in another thread. */
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

/** Stays free, because tokenizers disagree about rare characters. */
const spareTokens = 2;
/** If the excerpt may have fewer tokens than this, there is nothing to choose. */
const smallestRoom = 60;

/**
 * Computes how many tokens the excerpt may have. The tokens of an earlier summary are included, because the new summary replaces
 * it.
 */
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
    tokens: Math.min(goal.tokens, goal.limitTokens) - (tokens - now - summed) - spareTokens,
  };
}

interface ExcerptTask {
  readonly conversation: VisibleConversation;
  readonly goal: Goal;
  readonly slots: Slots;
  readonly room: Room;
  readonly acts: readonly Act[];
  /** True if requests may look open and the story may be left out, because nothing else fits. */
  readonly isLastTry: boolean;
}

interface Excerpt {
  readonly rendered: RenderedChoice;
  readonly digest: string;
  /** Number of tokens that the messages leave to the story. */
  readonly beside: number;
  /** Number of tokens that are left for the excerpt. It is negative if the pieces that must stay do not fit. */
  readonly left: number;
}

/** Renders what is kept now, writes the story about the rest, and counts both exactly. */
type Writer = (quoted: readonly QuotedRequest[], storyTokens?: number) => Promise<Excerpt>;

function writerFor(
  choice: Choice,
  { conversation, goal, slots, room, acts }: ExcerptTask,
  scales: Scales,
): Writer {
  const story = digestOf(conversation, room, acts, goal.coherence);
  const words = {
    acts,
    tokens: room.tokens * rangesShare[isBrief(room) ? "brief" : "usual"],
    newest: room.tokens * newestShare,
    isBrief: isBrief(room),
  };
  return async (quoted, storyTokens) => {
    const rendered = render(choice, conversation, slots, words);
    const beside = room.tokens - (await scales.tokensOf(rendered));
    const digest = story.textFor(rendered, quoted, storyTokens ?? beside);
    return { rendered, digest, beside, left: beside - (await scales.weighText(digest)) };
  };
}

/**
 * Chooses as many pieces as fit by exact counts. The estimate for one piece may be wrong, but the sum must not exceed the room.
 * The story is written anew in each round, because it is about the messages that the view no longer shows.
 */
async function chooseWithin(choice: Choice, task: ExcerptTask): Promise<Excerpt> {
  const { conversation, goal, room, isLastTry } = task;
  const scales = new Scales(conversation);
  const write = writerFor(choice, task, scales);
  const { quoted, made: first } = await placeRequests(choice, task, write);
  // It is known now what must stay. The story keeps the room beside it, however much else is chosen.
  const writeNow = (): Promise<Excerpt> => write(quoted, first.beside);
  let made = first;
  for (let round = 0; round < rounds; round++) {
    const { left } = made;
    if (left >= 0 && left < Math.max(slack.tokens, room.tokens * slack.share)) break;
    if (fillOrDrop(choice, left, goal) === "nothing") break;
    made = await writeNow();
  }
  while (made.left < 0 && choice.drop(-made.left) > 0) made = await writeNow();
  const isDone = made.left >= 0 || conversation.hasArchive || !isLastTry;
  return isDone ? made : withoutDigest(made, scales);
}

/** If no other piece adds anything, and the view is still smaller than the goal's floor, the newest units stay. */
function fillOrDrop(
  choice: Choice,
  left: number,
  { tokens, limitTokens, floorTokens }: Goal,
): "filled" | "dropped" | "nothing" {
  if (left < 0) return choice.drop(-left) > 0 ? "dropped" : "nothing";
  const filled = choice.fill(left);
  const mayBeLeft = Math.min(tokens, limitTokens) - floorTokens;
  return filled === "nothing" && left > mayBeLeft ? choice.fillNewest(left) : filled;
}

/** Shows requests together with their outcomes, as far as there is room. The story quotes the others. */
async function placeRequests(
  choice: Choice,
  { conversation, slots, room, isLastTry }: ExcerptTask,
  write: Writer,
): Promise<{ readonly quoted: readonly QuotedRequest[]; readonly made: Excerpt }> {
  keepOutcomes(choice, conversation, room, (await write([])).left);
  let quoted = quoteUnanswered(choice, conversation, slots, room);
  let made = await write(quoted);
  while (isLastTry && made.left < 0 && quoted.length > 0) {
    reopen(choice, quoted.at(-1));
    quoted = quoted.slice(0, -1);
    made = await write(quoted);
  }
  if (made.left < 0 && conversation.hasArchive && !isBrief(room)) {
    // It does not fit either way, so no request needs to look open.
    quoted = quoteUnanswered(choice, conversation, slots, room);
    made = await write(quoted);
  }
  return { quoted, made };
}

/** As a message, a request takes a little less room than as a quotation in the story. */
function reopen(choice: Choice, request: QuotedRequest | undefined): void {
  choice.open(request?.unit ?? -1);
  for (const [slot, piece] of request?.pieces ?? []) choice.keep(slot, piece);
}

/** Without an archive there is no handle to show, so the text after the head may be left out if there is no room for it. */
async function withoutDigest(made: Excerpt, scales: Scales): Promise<Excerpt> {
  const spent = await scales.weighText(made.digest);
  return { ...made, digest: "", left: made.left + spent };
}

const reason =
  "The conversation did not fit, so only the lines that later turns are most likely to need were kept.";

function proposalsFor(
  conversation: VisibleConversation,
  { headLength: head, changes, gone, digest }: MadeExcerpt,
): readonly Proposal[] {
  const removals = gone.map(
    ({ first, last, text }): Proposal => ({
      kind: "remove",
      first,
      last,
      reason,
      handle: "shared",
      textFor: () => text,
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
