/**
 * Shortens old texts according to their kind. Code, prose and logs are each shortened by their own rules and to their own share.
 */

import type { Part } from "../../message/message.ts";
import type {
  CountTokens,
  Proposal,
  Strategy,
  VisibleConversation,
  VisibleMessage,
} from "../../message/strategy.ts";
import type { Unit } from "../../message/unit.ts";
import { compressContent, detectContent } from "../content/content.ts";
import { fixedUnits } from "../units/fixed-units.ts";
import { noticeTokens, sharedNotice } from "../units/notices.ts";
import {
  type CompressRatios,
  type ContentTypeChunkingSettings,
  defaultRatios,
} from "./compress-ratios.ts";
import { readCalls } from "./file-calls.ts";

/** Share of the units that are not changed because they are the newest, if the settings do not say. */
const usualRecentShare = 0.2;
/** A message of the user or the agent is shortened only if it has at least this many tokens, if the settings do not say. */
const longWords = { user: 400, assistant: 200 };
/** A replacement that saves fewer tokens than this is not worth changing the text. In shorter texts, every token counts. */
const usualLeastSaved = 16;

const reason = "Old content was shortened according to its kind, such as code, text or log.";

export function contentTypeChunking(
  settings: ContentTypeChunkingSettings,
  { count }: { readonly count: CountTokens },
): Strategy {
  return {
    name: "content_type_chunking",
    propose: (conversation, goal) => {
      let left = conversation.tokens + noticeTokens;
      let saved = 0;
      const leastSaved = Math.max(
        1,
        Math.min(usualLeastSaved, settings.least_tokens ?? usualLeastSaved),
      );
      const proposals: Proposal[] = [];
      for (const text of textsOf(settings, conversation, count)) {
        if (left <= goal.tokens) break;
        const shorter = shortened(text, { count, leastSaved });
        if (shorter === undefined) continue;
        left -= shorter.saved;
        saved += shorter.saved;
        proposals.push(replacement(text, shorter.text));
      }
      return saved <= noticeTokens ? [] : [sharedNotice(conversation, reason), ...proposals];
    },
  };
}

interface OldText {
  readonly message: number;
  readonly part: number;
  readonly inner?: number;
  /** `now` is the text as the model sees it at present; `whole` is the original. */
  readonly now: string;
  readonly whole: string;
  readonly ratio: number;
  readonly path?: string;
}

/** The texts that may be shortened, oldest first. */
function textsOf(
  settings: ContentTypeChunkingSettings,
  conversation: VisibleConversation,
  count: CountTokens,
): readonly OldText[] {
  const { units, messages } = conversation;
  const { isFixed } = fixedUnits(conversation);
  const { recent_share: recentShare = usualRecentShare, least_tokens: leastTokens } = settings;
  const recentFrom = units.length - Math.ceil(units.length * recentShare);
  const calls = readCalls(messages.map(({ message }) => message));
  const pathOf = (part: Part): string | undefined => calls.get(part)?.files[0];
  const ratios = settings.compress_ratios ?? {};
  return units.slice(0, recentFrom).flatMap((unit, index) => {
    if (isFixed(index)) return [];
    return messages.slice(unit.first, unit.last + 1).flatMap((visible, offset) =>
      isBound(visible)
        ? []
        : oldTexts(visible, { count, pathOf, leastTokens })
            .map((text) => ({
              ...text,
              message: unit.first + offset,
              ratio: ratioOf(unit, text, ratios),
            }))
            .filter(({ ratio }) => ratio < 1),
    );
  });
}

/** The share of the text that stays. Units of priority 1 are compressed half as much as others. */
function ratioOf(
  { type, priority }: Pick<Unit, "type" | "priority">,
  { whole, path }: FoundText,
  ratios: CompressRatios,
): number {
  if (type === "summary" || type === "placeholder") return 1;
  // A unit that looks like prose may contain code, which cannot be shortened as much.
  const words = detectContent(whole, path) === "code" ? "code" : "text";
  const kind = type === "message" ? words : type;
  const ratio = ratios[kind] ?? defaultRatios[kind];
  return priority === 1 ? (1 + ratio) / 2 : ratio;
}

/** True if the message must not change: it is pinned, a system message, or covered by a signature. */
function isBound({ isPinned, message }: VisibleMessage): boolean {
  const isSigned = (part: Part): boolean =>
    part.kind === "reasoning" && part.signature !== undefined;
  return isPinned || message.role === "system" || message.parts.some(isSigned);
}

type FoundText = Omit<OldText, "message" | "ratio">;

interface Finding {
  readonly count: CountTokens;
  readonly pathOf: (part: Part) => string | undefined;
  readonly leastTokens: number | undefined;
}

function oldTexts(
  { message, original }: VisibleMessage,
  { count, pathOf, leastTokens }: Finding,
): readonly FoundText[] {
  return message.parts.flatMap((part, at): readonly FoundText[] => {
    const source = original?.message.parts[at];
    if (part.kind === "text") {
      const whole = source?.kind === "text" ? source.text : part.text;
      const usual = message.role === "user" ? longWords.user : longWords.assistant;
      const least = leastTokens ?? usual;
      return count(whole) < least ? [] : [{ part: at, now: part.text, whole }];
    }
    if (part.kind !== "tool-result") return [];
    const path = pathOf(part);
    return part.content.flatMap((inner, place) => {
      if (inner.kind !== "text") return [];
      const before = source?.kind === "tool-result" ? source.content[place] : undefined;
      const whole = before?.kind === "text" ? before.text : inner.text;
      const named = path === undefined ? {} : { path };
      return [{ part: at, inner: place, now: inner.text, whole, ...named }];
    });
  });
}

/** Always shortens the original, so that no text is shortened twice. */
function shortened(
  { now, whole, ratio, path }: OldText,
  { count, leastSaved }: { readonly count: CountTokens; readonly leastSaved: number },
): { readonly text: string; readonly saved: number } | undefined {
  const options = { ratio, count, ...(path === undefined ? {} : { path }) };
  const compressed = compressContent(whole, options);
  if (compressed === undefined) return undefined;
  const saved = count(now) - compressed.tokens;
  return saved < leastSaved ? undefined : { text: compressed.text, saved };
}

function replacement({ message, part, inner }: OldText, text: string): Proposal {
  return {
    kind: "replace",
    message,
    part,
    ...(inner === undefined ? {} : { inner }),
    place: inner === undefined ? "undefined" : "no-file-read",
    reason,
    handle: "shared",
    textFor: () => text,
  };
}
