/** Decides which units no strategy may remove, and which are removed last. */

import type { Message, Part } from "../../message/message.ts";
import type { Proposal, VisibleConversation } from "../../message/strategy.ts";
import type { Unit } from "../../message/unit.ts";
import { isSpoken, spokenUnits } from "./head.ts";

export function fixedUnits({ units, messages, mustAlternate }: VisibleConversation): {
  /** Every word of the unit stays. */
  readonly isFixed: (index: number) => boolean;
  /** The unit is removed last. */
  readonly isDear: (index: number) => boolean;
  /** The unit opens a loop of tool calls. It may be shortened, and is removed last. */
  readonly isLoopStart: (index: number) => boolean;
  /** The unit contains something that Plimsoll does not understand. It may be shortened, but is never removed. */
  readonly holdsUnknown: (index: number) => boolean;
} {
  const messagesOf = (unit: Unit): readonly Message[] =>
    messages.slice(unit.first, unit.last + 1).map(({ message }) => message);
  const { firstUser, lastUser } = spokenUnits(
    messages.map(({ message }) => message),
    units,
  );
  // A user message without words is included too, because for the provider it is still the user's turn.
  const lastTurn = units.findLastIndex((unit) =>
    messagesOf(unit).some(({ role, parts }) => role === "user" && !parts.some(isResult)),
  );
  /**
   * A system message inside the conversation is valid only after a user message and before an answer, so both neighbours must
   * stay.
   */
  const isInstruction = (index: number): boolean =>
    index > firstUser && messages[units[index]?.first ?? -1]?.message.role === "system";
  const isFixed = (index: number): boolean => {
    const unit = units[index];
    if (unit === undefined || index <= firstUser || index === lastUser) return true;
    if (index === lastTurn) return true;
    if (index === units.length - 1) return true;
    if (mustAlternate && [index - 1, index + 1].some(isInstruction)) return true;
    return messages
      .slice(unit.first, unit.last + 1)
      .some(
        ({ isPinned, mayGiveWay, message }) =>
          (isPinned && mayGiveWay !== true) || message.stays === "whole" || isLoadBearing(message),
      );
  };
  const holdsUnknown = (index: number): boolean => {
    const unit = units[index];
    return unit !== undefined && messagesOf(unit).some(({ stays }) => stays !== undefined);
  };
  // A user message that also contains results does not end a loop of tool calls.
  const lastQuestion = units.findLastIndex(({ first, last }) =>
    messages
      .slice(first, last + 1)
      .some(({ message }) => isSpoken(message) && !message.parts.some(isResult)),
  );
  /** Some providers require an open loop of tool calls to begin with its original thinking. */
  const isLoopStart = (index: number): boolean =>
    mustAlternate &&
    index === lastQuestion + 1 &&
    startsWithThinking(messages[units[index]?.first ?? -1]?.message);
  const isPinned = (index: number): boolean =>
    messages
      .slice(units[index]?.first, (units[index]?.last ?? -1) + 1)
      .some((message) => message.isPinned);
  const isDear = (index: number): boolean =>
    index === firstUser + 1 ||
    units[index]?.priority === 1 ||
    isLoopStart(index) ||
    isPinned(index);
  return { isFixed, isDear, isLoopStart, holdsUnknown };
}

/**
 * True if a proposal would remove content that Plimsoll does not understand. Such a proposal is rejected, whichever strategy made
 * it.
 */
export function takesUnknown({ messages }: VisibleConversation, proposal: Proposal): boolean {
  switch (proposal.kind) {
    case "remove":
    case "fold":
      return messages
        .slice(proposal.first, proposal.last + 1)
        .some(({ message }) => message.stays !== undefined);
    case "replace": {
      const message = messages[proposal.message]?.message;
      // The unknown content may be inside this result. Replacing the whole result would then remove it.
      const isWhole = proposal.inner === undefined && isResult(message?.parts[proposal.part]);
      return message?.stays === "whole" || (message?.stays === "there" && isWhole);
    }
    case "insert":
    case "summary":
      return false;
  }
}

function isResult(part: Part | undefined): boolean {
  return part?.kind === "tool-result";
}

function startsWithThinking(message: Message | undefined): boolean {
  const first = message?.parts[0];
  return (
    first?.kind === "reasoning" || (first?.kind === "opaque" && first.type.includes("thinking"))
  );
}

/** True for system messages inside the conversation, and for the provider's own summaries of earlier messages. */
function isLoadBearing({ role, parts }: Message): boolean {
  return (
    role === "system" ||
    parts.some((part) => part.kind === "opaque" && part.type.includes("compaction"))
  );
}
