/** Splits text into sentences, in scripts with and without spaces. */

/**
 * The character with which the next sentence may begin. "capital": only a capital letter or similar, as in prose. "any": every
 * character, for questions typed in a hurry.
 */
export type NextSentence = "capital" | "any";

const candidate = /(?<=[.!?。！？])\s+|(?<=[。！？])(?=\S)|\n\s*/gu;
const opening = /[\p{Lu}\p{Lo}\p{N}"'`(*_“„«-]/u;
const continuing = /[\p{Ll}\d(]/u;
/** Number of characters of trailing white space to skip when looking for the last character of a line. */
const trailingChars = 8;

/**
 * Contract: runs in linear time, and joining the sentences gives the text again. White space belongs to the sentence before it. A
 * line break ends a sentence, unless the line was merely wrapped, that is: it has no closing punctuation and the next line starts
 * in lower case.
 */
export function sentencesIn(text: string, next: NextSentence = "capital"): readonly string[] {
  const sentences: string[] = [];
  let start = 0;
  for (const { index, 0: space } of text.matchAll(candidate)) {
    const end = index + space.length;
    if (end >= text.length || !endsAt(text, index, space, next)) continue;
    sentences.push(text.slice(start, end));
    start = end;
  }
  if (start < text.length) sentences.push(text.slice(start));
  return sentences;
}

/** A full stop after one of these does not end a sentence. */
const abbreviation =
  /(?:^|[\s(])(?:Mr|Mrs|Ms|Dr|Prof|St|Hon|Sen|Gov|Rev|vs|No|e\.g|i\.e|cf|approx)\.$/;
const longestTitle = 8;

function endsAt(text: string, index: number, space: string, next: NextSentence): boolean {
  const before =
    text
      .slice(Math.max(0, index - trailingChars), index)
      .trimEnd()
      .at(-1) ?? "";
  const after = String.fromCodePoint(text.codePointAt(index + space.length) ?? 0);
  if (/[。！？]/.test(before)) return true;
  const isLineEnd = space.includes("\n");
  if (!isLineEnd && abbreviation.test(text.slice(Math.max(0, index - longestTitle), index)))
    return false;
  if (/[.!?]/.test(before)) return isLineEnd || next === "any" || opening.test(after);
  return isLineEnd && (/[:;]/.test(before) || !continuing.test(after));
}
