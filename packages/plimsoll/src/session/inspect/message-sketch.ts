/**
 * A sketch of a message: the facts that a picture of the window needs, without the content. Made once per message, and kept under
 * the message's hash.
 */

import type { Segment, SegmentKind } from "../../message/api.ts";
import { type Message, messageText, type Part } from "../../message/message.ts";
import {
  detectType,
  type Priority,
  type PriorityArea,
  priorityOf,
  type UnitType,
} from "../../message/unit.ts";

export interface Sketch {
  /** Roles, calls and results without their content. That is enough to find exchanges. */
  readonly bones: Message;
  /** The kinds of content in the message, in order, with the share of each. The shares add up to 1. */
  readonly shares: readonly { readonly kind: SegmentKind; readonly share: number }[];
  readonly type: UnitType;
  /** Absent if no area of `priority_areas` names the message. */
  readonly priority?: Priority;
  readonly begins: string;
}

const longestBeginning = 100;
/** Number of characters to read of a text. This is enough to find its beginning and its type. */
const looksAt = 20_000;

export function sketchOf(message: Message, areas: readonly PriorityArea[]): Sketch {
  const text = messageText(message).slice(0, looksAt);
  const priority = priorityOf(text, areas);
  return {
    bones: { role: message.role, parts: message.parts.map(boneOf) },
    shares: sharesOf(message),
    type: detectType(text),
    ...(priority === undefined ? {} : { priority }),
    begins: ownCopy(beginningOf(message, text)),
  };
}

/** Splits `tokens` by the kinds of content in the message, into whole numbers that add up to `tokens`. */
export function segmentsOf(sketch: Sketch, tokens: number): readonly Segment[] {
  let left = tokens;
  return sketch.shares.map(({ kind, share }, index) => {
    const isLast = index === sketch.shares.length - 1;
    const own = isLast ? left : Math.min(left, Math.round(tokens * share));
    left -= own;
    return { kind, tokens: own };
  });
}

function boneOf(part: Part): Part {
  switch (part.kind) {
    case "tool-call":
      return { ...part, input: "" };
    case "tool-result":
      return { ...part, content: [] };
    case "reasoning":
      return { kind: "reasoning", text: "" };
    default:
      return { kind: "text", text: "" };
  }
}

function kindOf(role: Message["role"], part: Part): SegmentKind {
  if (role === "tool" || part.kind === "tool-result") return "results";
  return part.kind === "opaque" && part.isTools === true ? "tools" : role;
}

/**
 * Divides a message by the lengths of its parts. The parts have about the same number of characters per token, because they are
 * mostly in the same language.
 */
function sharesOf({ role, parts }: Message): Sketch["shares"] {
  const sizes: { kind: SegmentKind; size: number }[] = [];
  for (const part of parts) {
    const kind = kindOf(role, part);
    const last = sizes.at(-1);
    if (last?.kind === kind) last.size += sizeOf(part);
    else sizes.push({ kind, size: sizeOf(part) });
  }
  const all = sizes.reduce((sum, { size }) => sum + size, 0);
  if (sizes.length === 0) return [{ kind: role === "tool" ? "results" : role, share: 1 }];
  return sizes.map(({ kind, size }) => ({
    kind,
    share: all === 0 ? 1 / sizes.length : size / all,
  }));
}

function sizeOf(part: Part): number {
  switch (part.kind) {
    case "text":
    case "reasoning":
      return part.text.length;
    case "tool-call":
      return part.name.length + part.input.length;
    case "tool-result":
      return part.content.reduce((sum, inner) => sum + sizeOf(inner), 0);
    default:
      // The cost of media depends on their dimensions, not on their bytes. This is a typical value.
      return 4000;
  }
}

/** A slice of a string keeps the whole string in memory, so a text that is kept for long is copied. */
function ownCopy(text: string): string {
  return Buffer.from(text).toString();
}

function beginningOf({ parts }: Message, text: string): string {
  const firstText = text
    .slice(0, longestBeginning * 4)
    // Skips single spaces, because nearly all whitespace consists of them and they need no change.
    .replaceAll(/\s{2,}|[^\S ]/g, " ")
    .trim();
  if (firstText !== "") return firstText.slice(0, longestBeginning);
  const call = parts.find(({ kind }) => kind === "tool-call");
  if (call?.kind === "tool-call") return `${call.name} ${call.input}`.slice(0, longestBeginning);
  return parts[0]?.kind ?? "";
}
