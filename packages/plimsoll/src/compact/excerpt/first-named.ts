/**
 * Names that the view uses although the message that introduced them is left out. The story says which message named each of them
 * first, so that the model can read there what it is.
 */

import { type Message, messageText } from "../../message/message.ts";
import type { VisibleConversation } from "../../message/strategy.ts";
import { type MentionKind, mentionsIn } from "../../search/mentions.ts";
import { storyTexts } from "../../text/for-models.ts";
import { clean, quoted } from "../evidence/safe-text.ts";
import { namesTitle } from "../story/read-story.ts";
import { estimateTokens } from "./long-lines.ts";
import type { RenderedChoice } from "./render-choice.ts";

/** Share of the room for these lines. */
const namesShare = 0.1;
/** Aims a little higher than asked, because later rounds of the excerpt choose other lines, and marks explain only in part. */
const margin = 0.08;
/** A number or a date says nothing without its line. */
const unnamed: ReadonlySet<MentionKind | undefined> = new Set(["number", "date"]);

export interface NamesTask {
  readonly rendered: RenderedChoice;
  /** The story so far. It explains the names that it contains. */
  readonly story: string;
  /** Share of the references that should be explained. A reference is a mention of something that an earlier unit mentioned. */
  readonly coherence: number;
  readonly roomTokens: number;
}

/** Writes the lines. They are empty if enough is explained without them. */
export type NamesWriter = (task: NamesTask) => string;

export function namesWriterFor(conversation: VisibleConversation, headLength: number): NamesWriter {
  let first: ReadonlyMap<string, number> | undefined;
  return (task) => {
    first ??= firstMentions(conversation);
    const { references, lost } = lostReferences(conversation, headLength, first, task);
    const allowed = references * (1 - Math.min(1, task.coherence + margin));
    const names = chosenNames(lost, {
      allowed,
      tokens: task.roomTokens * namesShare,
      tools: toolNames(conversation),
    });
    const byNumber = new Map<number, string[]>();
    for (const name of names) {
      const number = conversation.messages[first.get(name) ?? 0]?.number ?? 0;
      const own = byNumber.get(number) ?? [];
      byNumber.set(number, own);
      own.push(quoted(name));
    }
    if (byNumber.size === 0) return "";
    const lines = [...byNumber]
      .toSorted(([one], [other]) => one - other)
      .map(([number, own]) => `- #${number} ${storyTexts.firstNamed(own)}`);
    return [`## ${namesTitle}`, ...lines].join("\n");
  };
}

/** The index of the first message with each mention, also if the view shows less of that message. */
function firstMentions({ messages }: VisibleConversation): ReadonlyMap<string, number> {
  const first = new Map<string, number>();
  for (const [index, { message, original }] of messages.entries())
    for (const name of mentionsIn(messageText(original?.message ?? message)).keys())
      if (!first.has(name)) first.set(name, index);
  return first;
}

type Lost = ReadonlyMap<string, MentionKind>;

function lostReferences(
  { messages, units }: VisibleConversation,
  headLength: number,
  firstIndex: ReadonlyMap<string, number>,
  { rendered, story }: NamesTask,
): { readonly references: number; readonly lost: Lost } {
  const shownAt = (index: number): Message | undefined =>
    (index < headLength ? messages[index] : rendered.messages.get(index))?.message;
  const visible = new Set<string>(mentionsIn(story).keys());
  const lost = new Map<string, MentionKind>();
  let references = 0;
  for (const { first, last } of units) {
    for (const [name, kind] of mentionsOfUnit(first, last, shownAt)) {
      if ((firstIndex.get(name) ?? first) < first) {
        references++;
        if (!visible.has(name)) lost.set(name, kind);
      }
      visible.add(name);
    }
  }
  return { references, lost };
}

interface Choosing {
  /** Number of names that may stay unexplained. */
  readonly allowed: number;
  readonly tokens: number;
  /** The request has a list of the tools, so their names need no explanation. */
  readonly tools: ReadonlySet<string>;
}

function toolNames({ messages }: VisibleConversation): ReadonlySet<string> {
  const calls = messages.flatMap(({ message }) => message.parts);
  return new Set(calls.flatMap((part) => (part.kind === "tool-call" ? [part.name] : [])));
}

function mentionsOfUnit(
  first: number,
  last: number,
  shownAt: (index: number) => Message | undefined,
): ReadonlyMap<string, MentionKind> {
  const mentions = new Map<string, MentionKind>();
  for (let index = first; index <= last; index++) {
    const shown = shownAt(index);
    if (shown === undefined) continue;
    for (const [name, kind] of mentionsIn(messageText(shown))) mentions.set(name, kind);
  }
  return mentions;
}

/** A path comes before other names, because it explains the name of its file too. */
function chosenNames(lost: Lost, { allowed, tokens, tools }: Choosing): readonly string[] {
  const open = new Set(lost.keys());
  const partsOf = (name: string): readonly string[] =>
    [...mentionsIn(name).keys()].filter((part) => open.has(part));
  const candidates = [...lost]
    // Only Plimsoll writes handles, so a name that looks like one is left out.
    .filter(([name, kind]) => !unnamed.has(kind) && !tools.has(name) && clean(name) === name)
    .map(([name]) => ({ name, gain: partsOf(name).length }))
    .toSorted((one, other) => other.gain - one.gain);
  const chosen: string[] = [];
  let left = tokens;
  for (const { name } of candidates) {
    if (open.size <= allowed) break;
    const cost = estimateTokens(`, ${quoted(name)}`);
    const parts = partsOf(name);
    if (parts.length === 0 || cost > left) continue;
    left -= cost;
    for (const part of parts) open.delete(part);
    chosen.push(name);
  }
  return chosen;
}
