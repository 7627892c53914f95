/** Measures how much of what a query asks for is in a part of a passage. */

import { termsOf } from "../../search/words.ts";
import { readQuestion } from "./read-question.ts";
import { hasRule } from "./rule-places.ts";

/** The returned function counts the words of the query in a text, and a rule if the query asks for rules. */
export function wantedIn(query: string): (text: string) => number {
  const { kind, topic } = readQuestion(query);
  const asked = new Set(termsOf(topic));
  return (text) => {
    const words = new Set(termsOf(text).filter((term) => asked.has(term)));
    return words.size + (kind === "rules" && hasRule(text) ? 1 : 0);
  };
}
