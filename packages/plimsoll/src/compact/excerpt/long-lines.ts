/** Cuts long lines into segments, and estimates the tokens of a text. */

const segment = { least: 90, most: 160 };

/** The best places to cut a long line, in this order: at escaped line breaks, between elements, sentences and words. */
const joints: readonly RegExp[] = [
  /(?<!\\)(?:\\\\)*(?=\\n)/g,
  /[}\]], ?/g,
  /, ?(?=["'{[])/g,
  /[.!?;] /g,
  /,/g,
  /(?=<\/?\w)/g,
  /\s/g,
  // Between a word and a sign, as in a long address.
  /[^\w\\](?=\w)/g,
];

/** Cuts a very long line into segments of about a hundred characters. No escape and no character is split. */
export function segmentsOf(line: string): readonly string[] {
  const segments: string[] = [];
  let at = 0;
  while (line.length - at > segment.most + segment.least) {
    const wanted = at + segment.least + jointIn(line.slice(at + segment.least, at + segment.most));
    const end = untorn(line, at, wanted);
    segments.push(line.slice(at, end));
    at = end;
  }
  return [...segments, line.slice(at)];
}

function jointIn(window: string): number {
  for (const joint of joints) {
    joint.lastIndex = 0;
    const match = joint.exec(window);
    if (match !== null) return match.index + match[0].length;
  }
  return Math.floor(window.length / 2);
}

const lowHalf = /^\\u[dD][c-fC-F][0-9a-fA-F]{2}/;
const highHalf = /\\u[dD][89abAB][0-9a-fA-F]{2}$/;

/**
 * Moves the end past an escape such as \n or \u00e9, and past both halves of a character. `from` must not be inside an escape or
 * a character.
 */
function untorn(line: string, from: number, end: number): number {
  const whole = behindEscape(line, from, end);
  const isEscapedHalf =
    highHalf.test(line.slice(Math.max(from, whole - 6), whole)) &&
    lowHalf.test(line.slice(whole, whole + 6));
  if (isEscapedHalf) return whole + 6;
  return /[\uD800-\uDBFF]/.test(line[whole - 1] ?? "") ? whole + 1 : whole;
}

function behindEscape(line: string, from: number, end: number): number {
  const near = line.slice(Math.max(from, end - 5), end);
  const slash = near.lastIndexOf("\\");
  if (slash < 0) return end;
  const at = end - near.length + slash;
  let first = at;
  while (first > from && line[first - 1] === "\\") first--;
  const length = line[at + 1] === "u" ? 6 : 2;
  const opensEscape = (at - first) % 2 === 0;
  return opensEscape && at + length > end ? Math.min(line.length, at + length) : end;
}

const run = /[A-Za-z]+|\d+|\s+|[^\sA-Za-z\d]+/g;

/**
 * About the count of a tokenizer, in a fraction of the time. Precision matters little, because there are many pieces and they are
 * only compared with each other. `density` corrects the estimate by the known cost of the whole text.
 */
export function estimateTokens(text: string, density = 1): number {
  let tokens = 0;
  for (const [match] of text.matchAll(run)) tokens += runTokens(match);
  return tokens * density;
}

/**
 * Estimates one token for a word with the space before it, for three digits, and for two signs. A long word has several tokens.
 */
function runTokens(match: string): number {
  const { length } = match;
  const code = match.charCodeAt(0);
  if (code <= 32) return length === 1 ? 0 : 1;
  if (code >= 48 && code <= 57) return Math.ceil(length / 3);
  const isWord = (code | 32) >= 97 && (code | 32) <= 122;
  if (isWord) return length <= 7 ? 1 : Math.ceil(length / 5);
  return Math.ceil(length / 2);
}
