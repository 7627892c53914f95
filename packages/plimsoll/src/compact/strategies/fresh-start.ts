/** Recovery: one handover replaces every removable message after the head, and the work continues with the handover. */

import type {
  CountTokens,
  Goal,
  Proposal,
  Strategy,
  VisibleConversation,
} from "../../message/strategy.ts";
import { documentTexts, type Wording } from "../../text/document-texts.ts";
import { handover as handoverText } from "../../text/for-models.ts";
import { summarise } from "../summary/summary.ts";
import { movableUnits, rangesOfUnits } from "../units/movable-units.ts";
import { sharedNotice, summaryBody, tokensIn } from "../units/notices.ts";
import { isBetweenAnswers } from "../units/ranges.ts";

export interface FreshStartSettings {
  /** Why the session starts afresh: nothing else met the limit, somebody asked for it, a milestone, or too many overflows. */
  readonly reason: string;
  /** Name of the task that continues, if the caller gave one. */
  readonly task?: string;
  /** Maximum number of tokens in the handover. Default: 500. */
  readonly tokens?: number;
  readonly texts?: Wording | undefined;
}

const handoverTokens = 500;

/** Units of priority 1 stay as they are if the request fits with them. */
export function freshStart(settings: FreshStartSettings, count: CountTokens): Strategy {
  return {
    name: "fresh_start",
    isLastResort: true,
    writesHandover: true,
    propose: (conversation, goal) => {
      const { others, important } = movableUnits(conversation);
      const protectedly = handover(conversation, new Set(others), settings, count);
      if (fits(conversation, goal, others, settings)) return protectedly;
      return handover(conversation, new Set([...others, ...important]), settings, count);
    },
  };
}

function fits(
  conversation: VisibleConversation,
  { limitTokens }: Goal,
  units: readonly number[],
  { tokens = handoverTokens }: FreshStartSettings,
): boolean {
  const ranges = rangesOfUnits(conversation, new Set(units));
  return conversation.tokens - tokensIn(conversation, ranges) + tokens <= limitTokens;
}

function handover(
  conversation: VisibleConversation,
  units: ReadonlySet<number>,
  { reason, task, tokens = handoverTokens, texts }: FreshStartSettings,
  count: CountTokens,
): readonly Proposal[] {
  const ranges = rangesOfUnits(conversation, units);
  if (ranges.length === 0) return [];
  const messages = ranges.flatMap(({ first, last }) =>
    conversation.messages.slice(first, last + 1),
  );
  const earlier = summaryBody(conversation.summary);
  const { text } = summarise({
    messages,
    tokens: Math.min(tokens, Math.floor(tokensIn(conversation, ranges) / 2)),
    count,
    ...(earlier === undefined ? {} : { earlier }),
    prepared: conversation.prepared,
  });
  const opening = texts === "documents" ? documentTexts.resuming(task) : handoverText(task);
  return [
    sharedNotice(conversation, reason, [opening, text].filter((line) => line !== "").join("\n")),
    ...ranges.map(
      (range): Proposal => ({
        kind: "fold",
        ...range,
        reason,
        handle: "shared",
        textFor: () => (isBetweenAnswers(conversation, range) ? "[…]" : ""),
      }),
    ),
  ];
}
