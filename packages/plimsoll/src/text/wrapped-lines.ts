/** Finds the paragraphs of a text whose lines were wrapped at a fixed width. */

const fence = /^\s*(?:```|~~~)/;
/** A line that begins like this is an item, a heading, a quotation or a row of a table, and never goes on from the line before. */
const opening = /^\s*(?:[-*+•>|#]|\d{1,3}[.)]\s|[│┃✻⎿])/;
/** Lines that are indented so far are code, or a layout. */
const indented = /^(?: {4}|\t)/;
const sentenceEnd = /[.!?:;。！？]["'”’)\]]?\s*$/;
const goesOn = /^\s*[\p{Ll}\d(`]/u;
/** A shorter line was not wrapped, even if the next line begins in lower case. */
const shortest = 40;
/** A line of this length was probably wrapped, even if the next line begins with a capital. */
const surely = 80;

/**
 * First and last line of each paragraph: a line, or several lines of one sentence that was wrapped. Lines of code are never joined.
 */
export function paragraphsOf(lines: readonly string[]): readonly (readonly [number, number])[] {
  const found: (readonly [number, number])[] = [];
  let start = 0;
  let isCode = false;
  for (const [index, line] of lines.entries()) {
    if (fence.test(line)) isCode = !isCode;
    if (!isCode && isWrapped(line, lines[index + 1] ?? "")) continue;
    found.push([start, index]);
    start = index + 1;
  }
  return found;
}

function isWrapped(line: string, next: string): boolean {
  if (line.length < shortest || next.trim() === "" || fence.test(line) || fence.test(next))
    return false;
  if (opening.test(next) || indented.test(next) || indented.test(line)) return false;
  if (sentenceEnd.test(line)) return false;
  return goesOn.test(next) || line.length >= surely;
}
