/** Finds the passages in which the user gives a rule. */

import { isRule } from "../../compact/evidence/sentences.ts";
import { sentencesOf } from "../../compact/evidence/speech.ts";
import type { Place } from "../../search/collect-passages.ts";
import type { Segment } from "./segments.ts";

/** A sentence with these words holds for the rest of the conversation, so it is a rule in any wording. */
const lasting = /\b(?:from (?:now|here) on|as a rule|in (?:the )?future)\b/i;

/**
 * Quotations and pasted output are no rules. Only the whole text shows what is quoted, so the sentences of a passage are looked up
 * among those of its segment.
 */
export function rulePlacesIn(
  segments: readonly Segment[],
  places: readonly Place[],
): ReadonlySet<number> {
  const rules = segments.map(({ role, text }) =>
    role === "user" ? new Set(sentencesIn(text).filter(isLasting)) : undefined,
  );
  const found = places.flatMap(({ message, start, end }, place) => {
    const own = rules[message];
    if (own === undefined || own.size === 0) return [];
    const text = segments[message]?.text.slice(start, end) ?? "";
    return sentencesIn(text).some((sentence) => own.has(sentence)) ? [place] : [];
  });
  return new Set(found);
}

/** Whether a text of the user has a rule, in the user's own words. */
export function hasRule(text: string): boolean {
  return sentencesIn(text).some(isLasting);
}

function isLasting(sentence: string): boolean {
  return isRule(sentence) || lasting.test(sentence);
}

function sentencesIn(text: string): readonly string[] {
  return sentencesOf({ number: 0, speaker: "user", text });
}
