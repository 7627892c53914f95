/** Splits a query into parts, each of which may ask for a different tool. */

import { sentencesIn } from "../text/sentences.ts";
import { plainWords } from "./words.ts";

/** Line breaks and semicolons separate parts of a query. */
const partEnd = /[\n;；]+/u;
/** Minimum number of words in a part. Shorter parts are greetings or leftovers of a sentence. */
const leastWords = 3;
/** Maximum number of parts. A query with more sentences is a document, and the search for the whole text covers the others. */
const aspectsMax = 16;

/** Contract: returns an empty list if the query has only one part, because that part is the query itself. */
export function aspectsOf(query: string): readonly string[] {
  const aspects = query
    .split(partEnd)
    .flatMap((part) => sentencesIn(part, "any"))
    .filter((part) => new Set(plainWords(part)).size >= leastWords)
    .slice(0, aspectsMax);
  return aspects.length > 1 ? aspects : [];
}
