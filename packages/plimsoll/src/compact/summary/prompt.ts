/** The prompt for a model that writes a summary: one fixed instruction, and the source in fences that the source cannot close. */

import { summaryTexts } from "../../text/for-models.ts";
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
  /** The text of the summary that the new summary replaces. */
  readonly earlier?: string;
  readonly maxTokens: number;
}

/** Number of characters that are used from the beginning and the end of a tool result. */
const maxToolChars = { head: 3_000, tail: 1_000 };
const maxSourceChars = 240_000;
const shortestText = 200;

export function summaryPrompt({ source, earlier, maxTokens }: SummaryPromptTask): SummaryPrompt {
  const texts = withinBounds(source);
  const before = earlier === undefined || earlier.trim() === "" ? undefined : earlier;
  const boundary = boundaryFor([...texts.map(({ text }) => text), before ?? ""]);
  const fenced = texts.map(({ number, speaker, text }) =>
    fence(summaryTexts.messageFence(number, summaryTexts.speakers[speaker]), text, boundary),
  );
  const known =
    before === undefined
      ? []
      : [summaryTexts.earlierMemory, fence(summaryTexts.memoryFence, before, boundary)];
  return {
    system: summaryTexts.instruction(sections),
    prompt: [...known, summaryTexts.conversation, ...fenced, summaryTexts.now(maxTokens)].join(
      "\n\n",
    ),
  };
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
