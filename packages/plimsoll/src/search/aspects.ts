/** A query in the parts that may each ask for a tool of its own. */

import { sentencesIn } from "../text/sentences.ts";
import { plainWords } from "./words.ts";

/** Each line, and what stands on either side of a semicolon, may ask for something of its own. */
const partEnd = /[\n;；]+/u;
/** Two words are a greeting or the rest of a sentence. */
const leastWords = 3;
/** A query of more sentences is a document: its later ones are found through the whole. */
const aspectsMax = 16;

/** Contract: empty when the query has only one such part: it is then its own and only aspect. */
export function aspectsOf(query: string): readonly string[] {
  const aspects = query
    .split(partEnd)
    .flatMap((part) => sentencesIn(part, "any"))
    .filter((part) => new Set(plainWords(part)).size >= leastWords)
    .slice(0, aspectsMax);
  return aspects.length > 1 ? aspects : [];
}
