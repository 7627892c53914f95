/**
 * If the model has already answered a large result, replaces the result with a reference that has its own handle. No content is
 * lost, so this comes before the strategies that lose content. If there is room to spare afterwards, the references to the newest
 * of these results also show their first and last lines.
 */

import type { Message, Part } from "../message/message.ts";
import type {
  Proposal,
  Strategy,
  VisibleConversation,
  VisibleMessage,
} from "../message/strategy.ts";
import type { Wording } from "../text/document-texts.ts";
import { anyHandle, describeResult, utf8Bytes } from "./reference-text.ts";
import { leastTruncated, truncateText } from "./result-preview.ts";

export interface AnsweredResultsOptions {
  /** `result_offload_threshold` of the configuration. A result with more bytes than this is replaced. */
  readonly threshold?: number | undefined;
  /**
   * If true, references are proposed only if they alone meet the goal. If they do not, none is proposed, because the next
   * strategy makes excerpts of the original results, with one handle for all of them, and references would prevent that.
   */
  readonly isAllOrNothing?: boolean;
  readonly texts?: Wording | undefined;
}

const defaultThreshold = 4096;

/** Maximum size of the lines shown after a reference, as a share of the result and in bytes. */
const preview = { ofResult: 0.8, bytes: 16 * 1024 };

export function answeredResults(options: AnsweredResultsOptions = {}): Strategy {
  const { threshold = defaultThreshold, isAllOrNothing = false, texts } = options;
  return {
    name: "offload_results",
    propose: async (conversation, goal) => {
      const { hasArchive, ownTools, tokens: before } = conversation;
      // If the model has no tool to read handles, an excerpt is more useful to it than a reference.
      if (!hasArchive || ownTools === undefined || before <= goal.tokens) return [];
      const { readingTool } = ownTools;
      const leaving = resultsIn(conversation, threshold).map((result) => {
        const described = { ...result, handle: anyHandle, readingTool, texts };
        return {
          ...result,
          reference: describeResult(described),
          intro: describeResult({ ...described, followedBy: "ends" }),
        };
      });
      const tokens = await tokensAfter(conversation, leaving);
      if (isAllOrNothing && tokens > goal.tokens) return [];
      return withPreviews(conversation, goal.floorTokens - tokens, leaving).map(
        proposalFor(threshold),
      );
    },
  };
}

function proposalFor(threshold: number): (result: LeavingResult) => Proposal {
  return ({ message, part, inner, bytes, reference }) => ({
    kind: "replace",
    message,
    part,
    inner,
    place: "no-file-read",
    reason: `The model has already answered this result. It has ${bytes} bytes, which is more than ${threshold}.`,
    handle: "own",
    textFor: ({ handle }) => reference.replace(anyHandle, handle),
  });
}

interface LargeResult {
  readonly message: number;
  readonly part: number;
  readonly inner: number;
  readonly text: string;
  readonly bytes: number;
  readonly tool: string | undefined;
}

interface LeavingResult extends LargeResult {
  /** The text that replaces the result. */
  readonly reference: string;
  /** The reference to use if lines of the result follow it. */
  readonly intro: string;
}

/**
 * The large results that may be replaced. Excludes pinned messages, messages of priority 1, and results that are already
 * shortened.
 */
function resultsIn(
  { messages, units }: VisibleConversation,
  threshold: number,
): readonly LargeResult[] {
  const isKept = messages.map(({ isPinned }) => isPinned);
  for (const { first, last, priority } of units)
    if (priority === 1) isKept.fill(true, first, last + 1);
  const tools = new Map<string, string>();
  return messages.slice(0, answeredBefore(messages)).flatMap((visible, message) => {
    for (const part of visible.message.parts)
      if (part.kind === "tool-call") tools.set(part.id, part.name);
    const texts = isKept[message] === true ? [] : textsOf(visible);
    return texts
      .filter(({ bytes }) => bytes > threshold)
      .map(({ callId, ...found }) => ({ ...found, message, tool: tools.get(callId) }));
  });
}

/**
 * Index of the model's last answer. All results before it are answered. An answer at the very end of the conversation may be
 * unfinished, so it is ignored, and the results that it answers stay.
 */
function answeredBefore(messages: readonly VisibleMessage[]): number {
  const isModel = (visible: VisibleMessage | undefined): boolean =>
    visible?.message.role === "assistant";
  let end = messages.length;
  while (end > 0 && isModel(messages[end - 1])) end--;
  const last = messages.findLastIndex((visible, index) => index < end && isModel(visible));
  return Math.max(0, last);
}

type ResultText = Omit<LargeResult, "message" | "tool"> & { readonly callId: string };

function textsOf({ message, original }: VisibleMessage): readonly ResultText[] {
  return message.parts.flatMap((part, at) => {
    if (part.kind !== "tool-result") return [];
    const source = original?.message.parts[at];
    return part.content.flatMap((content, inner): readonly ResultText[] => {
      if (content.kind !== "text" || isReplaced(content.text, source, inner)) return [];
      const { text } = content;
      return [{ part: at, inner, text, bytes: utf8Bytes(text), callId: part.callId }];
    });
  });
}

function isReplaced(text: string, source: Part | undefined, inner: number): boolean {
  if (source === undefined) return false;
  const before = source.kind === "tool-result" ? source.content[inner] : undefined;
  return before?.kind !== "text" || before.text !== text;
}

/** Tokens of the request if references replaced all of these results. */
async function tokensAfter(
  { messages, tokens, weigh, ownTools }: VisibleConversation,
  leaving: readonly LeavingResult[],
): Promise<number> {
  const texts = new Map(
    leaving.map(({ message, part, inner, reference }) => [
      `${message}.${part}.${inner}`,
      reference,
    ]),
  );
  const changed = [...new Set(leaving.map(({ message }) => message))];
  const after = await weigh(
    changed.flatMap((index) => {
      const visible = messages[index];
      return visible === undefined
        ? []
        : [replaced(visible.message, (part, inner) => texts.get(`${index}.${part}.${inner}`))];
    }),
  );
  const before = changed.reduce((sum, index) => sum + (messages[index]?.tokens ?? 0), 0);
  return after.reduce((sum, own) => sum + own, tokens - before + (ownTools?.tokens ?? 0));
}

function replaced(
  { role, parts }: Message,
  textAt: (part: number, inner: number) => string | undefined,
): Message {
  return {
    role,
    parts: parts.map((part, at): Part => {
      if (part.kind !== "tool-result") return part;
      const content = part.content.map((own, inner): Part => {
        const text = textAt(at, inner);
        return text === undefined ? own : { kind: "text", text };
      });
      return { ...part, content };
    }),
  };
}

/** Adds the first and last lines to the references, newest results first, as far as there is room. */
function withPreviews(
  { messages }: VisibleConversation,
  room: number,
  leaving: readonly LeavingResult[],
): readonly LeavingResult[] {
  let left = room;
  return leaving
    .toReversed()
    .map((result) => {
      const perByte = tokensPerByte(messages[result.message]);
      const most = Math.min(preview.bytes, result.bytes * preview.ofResult, left / perByte);
      if (most < leastTruncated) return result;
      const lines = truncateText(result.text, Math.floor(most));
      left -= utf8Bytes(lines) * perByte;
      return { ...result, reference: `${result.intro}\n${lines}` };
    })
    .toReversed();
}

/**
 * The average tokens per byte of the whole message. It need not be exact, because an error only changes the number of lines
 * shown.
 */
function tokensPerByte(visible: VisibleMessage | undefined): number {
  return Math.max(0.05, (visible?.tokens ?? 1) / Math.max(1, visible?.bytes ?? 1));
}
