/** Puts the part of a cut answer and its continuation together. */

/** A continuation that repeats less than this did not begin again. */
const repeatedLeast = 8;
const repeatedMost = 4000;

/**
 * The whole content. Models continue in three ways: exactly where the part ends, with the last lines of the part again, or with
 * the whole content from its beginning.
 */
export function combine(part: string, continuation: string): string {
  const beginning = part.trimStart().slice(0, 200);
  const beginsAgain =
    continuation.length >= part.length &&
    beginning !== "" &&
    continuation.trimStart().startsWith(beginning);
  if (beginsAgain) return continuation;
  return part + continuation.slice(overlapOf(part, continuation));
}

/** How many characters at the end of the part the continuation repeats. */
function overlapOf(part: string, continuation: string): number {
  const most = Math.min(part.length, continuation.length, repeatedMost);
  for (let length = most; length >= repeatedLeast; length--)
    if (part.endsWith(continuation.slice(0, length))) return length;
  return 0;
}

/** The content of the first code block of an answer, or the whole answer if it has none. */
export function contentOf(text: string): string {
  const block = /^(`{3,}|~{3,})[^\n]*\n([\s\S]*?)(?:^\1[ \t]*$|(?![\s\S]))/m.exec(text);
  return block === null ? text : (block[2] ?? "").replace(/\n$/, "");
}
