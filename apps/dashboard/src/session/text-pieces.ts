/**
 * Cuts long texts into pieces that a page can handle, and marks the words of a
 * query. No regular expression runs on the texts, because they may be hostile.
 */

export interface Cut {
  readonly text: string;
  /** Number of characters that are not shown. */
  readonly left: number;
}

/** Maximum number of characters to render at once. A megabyte in one line would freeze the page. */
export const shownChars = 65_536;

/** Contract: never cuts a surrogate pair in two. */
export function cutText(text: string, chars: number): Cut {
  if (text.length <= chars) return { text, left: 0 };
  const last = text.charCodeAt(chars - 1);
  const end = last >= 0xd800 && last <= 0xdbff ? chars - 1 : chars;
  return { text: text.slice(0, end), left: text.length - end };
}

const steps = [
  { from: 1024 * 1024, name: "M" },
  { from: 1024, name: "K" },
];

/** A number of characters in short form, such as `64 K` or `3.1 M`. */
export function sizeWords(chars: number): string {
  for (const { from, name } of steps) {
    if (chars < from) continue;
    const size = chars / from;
    return `${size >= 10 || Number.isInteger(size) ? Math.round(size) : size.toFixed(1)} ${name}`;
  }
  return String(chars);
}

export interface Piece {
  readonly text: string;
  readonly isHit: boolean;
}

/** Maximum number of words to mark, and maximum number of marks in one passage. More would not help the reader. */
const wordsMost = 16;
const hitsMost = 500;
const leastWord = 2;

export function wordsOf(query: string): readonly string[] {
  const words = query
    .slice(0, 1000)
    .toLowerCase()
    .split(/[\s"'(),;]+/)
    .filter((word) => word.length >= leastWord);
  return [...new Set(words)].slice(0, wordsMost);
}

/** Marks each occurrence of the words in the text. Joined together, the pieces are the text again. */
export function markWords(text: string, words: readonly string[]): readonly Piece[] {
  const lower = text.toLowerCase();
  // A few letters become longer in lower case, so that positions would not match. In that case the original text is searched.
  const searched = lower.length === text.length ? lower : text;
  const pieces: Piece[] = [];
  let at = 0;
  for (const { from, to } of merged(hitsOf(searched, words))) {
    if (from > at) pieces.push({ text: text.slice(at, from), isHit: false });
    pieces.push({ text: text.slice(from, to), isHit: true });
    at = to;
  }
  if (at < text.length) pieces.push({ text: text.slice(at), isHit: false });
  return pieces;
}

interface Hit {
  readonly from: number;
  readonly to: number;
}

function hitsOf(text: string, words: readonly string[]): Hit[] {
  const hits: Hit[] = [];
  for (const word of words) {
    for (let from = text.indexOf(word); from >= 0; from = text.indexOf(word, from + word.length)) {
      hits.push({ from, to: from + word.length });
      if (hits.length >= hitsMost) return hits;
    }
  }
  return hits;
}

function merged(hits: readonly Hit[]): readonly Hit[] {
  const apart: Hit[] = [];
  for (const hit of hits.toSorted((one, other) => one.from - other.from)) {
    const last = apart.at(-1);
    if (last === undefined || hit.from > last.to) apart.push(hit);
    else apart[apart.length - 1] = { from: last.from, to: Math.max(last.to, hit.to) };
  }
  return apart;
}
