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

/**
 * About the count of a tokenizer, in a fraction of the time. Precision matters little, because there are many pieces and they are
 * only compared with each other. `density` corrects the estimate by the known cost of the whole text.
 */
export function estimateTokens(text: string, density = 1): number {
  let tokens = 0;
  for (let start = 0; start < text.length; ) {
    const first = text.charCodeAt(start);
    const kind = kindOf(first);
    let end = start + 1;
    while (end < text.length && kindOf(text.charCodeAt(end)) === kind) end++;
    tokens += runTokens(first, kind, end - start);
    start = end;
  }
  return tokens * density;
}

/** The characters of a run are of one kind. Plain numbers, because this is the innermost loop of an excerpt. */
const [letter, digit, space, sign] = [0, 1, 2, 3];

function kindOf(code: number): number {
  if (code >= 128) return isWideSpace(code) ? space : sign;
  if ((code | 32) >= 97 && (code | 32) <= 122) return letter;
  if (code >= 48 && code <= 57) return digit;
  return code === 32 || (code >= 9 && code <= 13) ? space : sign;
}

/** The spaces of `\s` beyond ASCII. */
function isWideSpace(code: number): boolean {
  if (code < 0x16_80) return code === 0xa0;
  return (
    code === 0x16_80 ||
    (code >= 0x20_00 && code <= 0x20_0a) ||
    code === 0x20_28 ||
    code === 0x20_29 ||
    code === 0x20_2f ||
    code === 0x20_5f ||
    code === 0x30_00 ||
    code === 0xfe_ff
  );
}

/**
 * Estimates one token for a word with the space before it, for three digits, and for two signs. A long word has several tokens.
 */
function runTokens(first: number, kind: number, length: number): number {
  if (first <= 32) return length === 1 ? 0 : 1;
  if (kind === digit) return Math.ceil(length / 3);
  if (kind === letter) return length <= 7 ? 1 : Math.ceil(length / 5);
  return Math.ceil(length / 2);
}
