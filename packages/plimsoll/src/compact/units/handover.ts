/**
 * The handover of a fresh start is worth as much as a unit of priority 1. Later compactions write their text before it and leave
 * it as it is, until the next fresh start writes a new one.
 */

import type { CountTokens, Goal, Proposal, VisibleConversation } from "../../message/strategy.ts";
import { resumingOpening } from "../../text/document-texts.ts";
import { handoverOpening } from "../../text/for-models.ts";

/** The handover may take this share of the room that the messages which must stay leave. If it is larger, its first line stays. */
const handoverShare = 0.5;

const openings = [handoverOpening, resumingOpening];

export interface SplitSummary {
  /** The text of the newest compaction. It may be empty. */
  readonly rest: string;
  /** From its opening, which names the task, to the end. Empty if there was no fresh start. */
  readonly handover: string;
}

/** The handover is always at the end of Plimsoll's text. */
export function splitSummary(summary: string): SplitSummary {
  const starts = openings.flatMap((opening) => {
    if (summary.startsWith(opening)) return [0];
    const at = summary.indexOf(`\n${opening}`);
    return at < 0 ? [] : [at + 1];
  });
  const start = starts.length === 0 ? summary.length : Math.min(...starts);
  return { rest: summary.slice(0, start).trimEnd(), handover: summary.slice(start) };
}

export interface KeptHandover {
  /** The conversation as strategies may see it: the handover is among the tokens that they cannot save. */
  readonly conversation: VisibleConversation;
  /** Empty if there is none. */
  readonly handover: string;
}

/** `movableTokens` are the tokens of everything that a strategy could remove, without the summary. */
export function keepHandover(
  conversation: VisibleConversation,
  { limitTokens }: Pick<Goal, "limitTokens">,
  { count, movableTokens }: { readonly count: CountTokens; readonly movableTokens: number },
): KeptHandover {
  const { summary, ...others } = conversation;
  const { rest, handover } = splitSummary(summary ?? "");
  if (summary === undefined || handover === "") return { conversation, handover: "" };
  const room = limitTokens - (conversation.tokens - movableTokens - count(summary));
  if (count(handover) <= room * handoverShare)
    return { conversation: rest === "" ? others : { ...others, summary: rest }, handover };
  const [opening = "", ...lines] = handover.split("\n");
  const body = lines.join("\n");
  // Of a story, the last bracket closes it.
  const merged = /^[^\n]*\n[\s\S]*\]$/.test(rest)
    ? `${rest.slice(0, -1)}\n${body}]`
    : `${rest}\n${body}`;
  return { conversation: { ...others, summary: merged.trim() }, handover: opening };
}

/** Puts the handover after the new text. Without a new text, the old one stays as it is. */
export function withHandover(
  proposals: readonly Proposal[],
  handover: string,
): readonly Proposal[] {
  if (handover === "") return proposals;
  return proposals.map((proposal) =>
    proposal.kind === "summary"
      ? {
          ...proposal,
          textFor: (taken) => `${proposal.textFor(taken)}\n${handover}`.trimStart(),
        }
      : proposal,
  );
}
