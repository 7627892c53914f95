/**
 * The prompts for a model that writes a summary or the story so far: one fixed instruction, and the source in fences that the
 * source cannot close.
 */

import { storyWriterTexts, summaryTexts } from "../../text/for-models.ts";
import { shortened } from "../evidence/safe-text.ts";
import type { Speech } from "../evidence/speech.ts";
import { sections } from "./format.ts";

/** A text of the conversation to put into a fence. */
export type FencedText = Speech;

export interface SummaryPrompt {
  readonly system: string;
  readonly prompt: string;
}

export interface SummaryPromptTask {
  readonly source: readonly FencedText[];
  readonly maxTokens: number;
}

export interface StoryPromptTask extends SummaryPromptTask {
  /** The story as Plimsoll writes it without a model. */
  readonly skeleton: string;
  /** The story of an earlier compaction. */
  readonly earlier?: string | undefined;
}

/** Number of characters that are used from the beginning and the end of a tool result. */
const maxToolChars = { head: 3_000, tail: 1_000 };
const maxSourceChars = 240_000;
const shortestText = 200;

export function summaryPrompt({ source, maxTokens }: SummaryPromptTask): SummaryPrompt {
  const texts = withinBounds(source);
  const boundary = boundaryFor(texts.map(({ text }) => text));
  return {
    system: summaryTexts.instruction(sections.filter((section) => section !== "Said")),
    prompt: [
      summaryTexts.conversation,
      ...fencedMessages(texts, boundary),
      summaryTexts.now(maxTokens),
    ].join("\n\n"),
  };
}

/** The prompt for a model that does not know the conversation. */
export function storyPrompt(task: StoryPromptTask): SummaryPrompt {
  const { skeleton, earlier = "", maxTokens } = task;
  const texts = withinBounds(task.source);
  const boundary = boundaryFor([...texts.map(({ text }) => text), earlier, skeleton]);
  const known =
    earlier.trim() === ""
      ? []
      : [storyWriterTexts.earlier, fence(storyWriterTexts.earlierFence, earlier, boundary)];
  return {
    system: [storyWriterTexts.role, storyWriterTexts.material, storyWriterTexts.form].join("\n\n"),
    prompt: [
      ...known,
      summaryTexts.conversation,
      ...fencedMessages(texts, boundary),
      ...draftOf(skeleton, boundary),
      storyWriterTexts.now(maxTokens),
    ].join("\n\n"),
  };
}

/** The question for the session's own model. It follows the conversation, which the model knows. */
export function storyQuestion({
  skeleton,
  maxTokens,
}: Pick<StoryPromptTask, "skeleton" | "maxTokens">): string {
  return [
    storyWriterTexts.question,
    storyWriterTexts.form,
    ...draftOf(skeleton, boundaryFor([skeleton])),
    storyWriterTexts.now(maxTokens),
  ].join("\n\n");
}

function draftOf(skeleton: string, boundary: string): readonly string[] {
  return [storyWriterTexts.draft, fence(storyWriterTexts.draftFence, skeleton, boundary)];
}

function fencedMessages(texts: readonly FencedText[], boundary: string): readonly string[] {
  return texts.map(({ number, speaker, text }) =>
    fence(summaryTexts.messageFence(number, summaryTexts.speakers[speaker]), text, boundary),
  );
}

function fence(label: string, text: string, boundary: string): string {
  return `<<<${boundary} ${label}\n${text}\n${boundary}>>>`;
}

/**
 * The boundary depends on the whole content and does not occur in it. The same content always gets the same boundary, so that a
 * request can be cached and repeated.
 */
export function boundaryFor(texts: readonly string[]): string {
  const hash = (texts.reduce(hashOf, 0x811c9dc5) >>> 0).toString(16).padStart(8, "0");
  for (let attempt = 0; ; attempt++) {
    const boundary = `fence-${hash}-${attempt}`;
    if (!texts.some((text) => text.includes(boundary))) return boundary;
  }
}

/** FNV-1a. Collisions do no harm, because `boundaryFor` checks that the boundary does not occur in the content. */
function hashOf(seed: number, text: string): number {
  let hash = seed;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return Math.imul(hash ^ text.length, 0x01000193);
}

function withinBounds(source: readonly FencedText[]): readonly FencedText[] {
  const cut = source.map((one) => (one.speaker === "tool" ? withinTool(one) : one));
  const chars = cut.reduce((sum, { text }) => sum + text.length, 0);
  if (chars <= maxSourceChars) return cut;
  const share = maxSourceChars / chars;
  return cut.map((one) => {
    const room = Math.max(shortestText, Math.floor(one.text.length * share));
    return one.text.length <= room ? one : { ...one, text: `${shortened(one.text, room)} …` };
  });
}

function withinTool(one: FencedText): FencedText {
  const { head, tail } = maxToolChars;
  if (one.text.length <= head + tail) return one;
  return { ...one, text: `${one.text.slice(0, head)}\n…\n${one.text.slice(-tail)}` };
}
