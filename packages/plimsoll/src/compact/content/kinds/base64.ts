/** Replaces base64 and binary data by a description, because nobody can read such data. */

import { grouped } from "../../../text/digits.ts";
import { cutTexts } from "../../../text/for-models.ts";
import { attempt, type Compressor, mistaken } from "../cut/compressor.ts";

const onlyBase64 = /^[A-Za-z0-9+/_=\s-]+$/;
const dataUri = /^data:([\w.+-]+\/[\w.+-]+)?(?:;[\w=.-]+)*;base64,/;
/** Characters that readable text does not contain. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern looks for control characters.
const unreadable = /[\u0000-\u0008\u000e-\u001a\u001c-\u001f\u007f\ufffd]/g;
const unreadableShare = 0.1;
const leastChars = 200;

export const base64Compressor: Compressor = {
  kind: "base64",
  detects: ({ head }) => isBinary(head) || dataUri.test(head) || isBase64(head),
  compress: (text) => {
    const head = text.slice(0, 4_096);
    if (isBinary(head)) return attempt(cutTexts.binary(grouped(text.length), nameOf(head)));
    const uri = dataUri.exec(head.trimStart());
    const data = uri === null ? text : text.slice(uri[0].length);
    const first = data.search(/\S/);
    if (first < 0) return mistaken;
    const bytes = Math.floor((data.length * 3) / 4);
    const type =
      uri?.[1] === undefined ? nameOf(decodeStart(data.slice(first, first + 96))) : `, ${uri[1]}`;
    return attempt(cutTexts.base64(grouped(data.length), grouped(bytes), type));
  },
};

function isBinary(head: string): boolean {
  return (head.match(unreadable)?.length ?? 0) > head.length * unreadableShare;
}

function isBase64(head: string): boolean {
  if (head.length < leastChars || !onlyBase64.test(head)) return false;
  const words = head.trim().split(/\s+/);
  const isWrapped = words.slice(0, -1).every(({ length }) => length >= 60);
  // Hexadecimal dumps and long names do not mix lower case, upper case and digits.
  return isWrapped && /[a-z]/.test(head) && /[A-Z]/.test(head) && /\d/.test(head);
}

function decodeStart(data: string): string {
  try {
    return atob(data.replace(/\s/g, "").replaceAll("-", "+").replaceAll("_", "/").slice(0, 64));
  } catch {
    return "";
  }
}

const beginnings: readonly (readonly [string, string])[] = [
  ["\x89PNG", "PNG image"],
  ["\xff\xd8\xff", "JPEG image"],
  ["GIF8", "GIF image"],
  ["RIFF", "WebP, WAV or AVI"],
  ["%PDF", "PDF"],
  ["PK\x03\x04", "ZIP archive or office document"],
  ["\x1f\x8b", "gzip"],
  ["\x7fELF", "ELF program"],
  ["\u007fELF", "ELF program"],
  ["\ufffdPNG", "PNG image"],
  ["SQLite format 3", "SQLite database"],
  ["\x00asm", "WebAssembly"],
  ["wOF", "font"],
  ["<svg", "SVG image"],
  ["{", "JSON"],
  ["<", "markup"],
];

function nameOf(bytes: string): string {
  const known = beginnings.find(([beginning]) => bytes.startsWith(beginning));
  return known === undefined ? "" : `, ${known[1]}`;
}
