/**
 * Truncation as a strategy: truncates to a number of tokens or to a share of the units, and adds a notice that says what was
 * removed.
 */

import type { Proposal, Strategy } from "../../message/strategy.ts";
import { documentTexts, type Wording } from "../../text/document-texts.ts";
import { truncationNotice } from "../../text/for-models.ts";
import { cutToFit } from "../units/cut-to-fit.ts";
import { fixedUnits } from "../units/fixed-units.ts";
import { rangesOf } from "../units/ranges.ts";
import { type Keep, type TruncationRange, truncationRanges } from "../units/truncation-range.ts";

/** The section `truncate` of the configuration. */
export interface TruncateSettings {
  /** Truncation runs only if the strategies before it saved less than this share. */
  readonly enough_saved?: number | undefined;
  /** Truncation also runs if less than this share of the limit is free. Default: 0.2. */
  readonly enough_free?: number | undefined;
  /** "fit" removes the oldest units until the rest fits. The others keep this much of the middle. */
  readonly keep?: Keep | "fit" | undefined;
  /** Whether truncation ends every chain, also one whose order does not name it. Default: true. */
  readonly last_resort?: boolean | undefined;
}

export const truncate: Strategy = truncateToFit();

/** `from`: "limit" if nothing may be removed from a conversation that is within its limit, although it is above the goal. */
export function truncateToFit(texts?: Wording, from: "goal" | "limit" = "goal"): Strategy {
  return {
    name: "truncate",
    isLastResort: true,
    propose: (conversation, goal) =>
      from === "limit" && conversation.tokens <= goal.limitTokens
        ? []
        : cutToFit(conversation, goal).map((range) =>
            removal(
              range,
              "The oldest part was removed to make the conversation short enough.",
              texts,
            ),
          ),
  };
}

/** Truncates to a share of the units instead of a number of tokens. Used if a person asks for it, and for recovery. */
export function truncateKeeping(keep: Keep, texts?: Wording): Strategy {
  return {
    name: `truncate_${keep}`,
    isLastResort: true,
    propose: (conversation) => {
      const { messages, units } = conversation;
      const ranges = truncationRanges(
        messages.map(({ message }) => message),
        units,
        keep,
      );
      const isIn = (first: number, last: number): boolean =>
        ranges.some((range) => range.first <= first && last <= range.last);
      if (messages.some(({ isPinned }, index) => isPinned && isIn(index, index))) return [];
      const { holdsUnknown, isLoopStart } = fixedUnits(conversation);
      const isGone = units.map(
        ({ first, last }, index) =>
          isIn(first, last) && !holdsUnknown(index) && !isLoopStart(index),
      );
      return rangesOf(conversation, isGone, "apart").map((gone) =>
        removal(gone, `The middle was removed (keep: ${keep}).`, texts),
      );
    },
  };
}

function removal(
  { first, last }: TruncationRange,
  reason: string,
  texts: Wording | undefined,
): Proposal {
  const textFor = texts === "documents" ? documentTexts.truncated : truncationNotice;
  return { kind: "remove", first, last, reason, textFor };
}
