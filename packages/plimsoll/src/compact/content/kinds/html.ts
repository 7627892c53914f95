/** Turns HTML into the text that a reader would see: title, headings, lists, links and tables. */

import { attempt, type Compressor, type CutOptions, mistaken } from "../cut/compressor.ts";
import { cutLines, type LineVerdicts } from "../cut/lines.ts";

export const htmlCompressor: Compressor = {
  kind: "html",
  detects: ({ head, ending }) => {
    if (
      /^(?:<\?xml[^>]{0,200}>\s{0,20})?(?:<!--[\s\S]{0,500}?-->\s*)?<(?:!doctype html|html)\b/i.test(
        head,
      )
    )
      return true;
    const isNamed = ending === "html" || ending === "htm";
    const tags = head.match(
      /<\/?(?:div|p|span|a|ul|ol|li|table|tr|td|h[1-6]|body|script|section)\b[^<>]{0,300}>/gi,
    );
    const marked = (tags ?? []).reduce((sum, tag) => sum + tag.length, 0);
    return head.trimStart().startsWith("<") && marked > head.length * (isNamed ? 0.05 : 0.2);
  },
  compress: (text, options) => {
    const lines = readable(text);
    if (lines.length === 0) return mistaken;
    const shown = lines.map((line) => line.text).join("\n");
    return attempt(fitReadable(text, shown, lines, options));
  },
};

interface ReadableLine {
  readonly text: string;
  readonly score: number;
}

function fitReadable(
  text: string,
  shown: string,
  lines: readonly ReadableLine[],
  options: CutOptions,
): string {
  const goal = options.count(text) * options.ratio;
  const tokens = options.count(shown);
  if (tokens <= goal) return shown;
  const classify = (pieces: readonly string[]): LineVerdicts => ({
    scores:
      pieces.length === lines.length ? lines.map(({ score }) => score) : pieces.map(scoreOfLine),
    keys: new Set([0]),
  });
  return cutLines(shown, { ...options, ratio: goal / tokens }, classify) ?? shown;
}

const hidden = new Set([
  "script",
  "style",
  "svg",
  "noscript",
  "template",
  "iframe",
  "canvas",
  "object",
]);
const aside = new Set(["nav", "footer", "aside", "header", "form"]);
const breaking = new Set(
  "p div section article main ul ol li table tr br hr h1 h2 h3 h4 h5 h6 pre blockquote dl dt dd title figure figcaption nav footer aside header form body head html tbody thead option".split(
    " ",
  ),
);

interface Reader {
  readonly lines: ReadableLine[];
  line: string;
  asideDepth: number;
  /** The links that are not closed yet. `from` is the position in the line where the text of the link begins. */
  readonly links: { readonly from: number; readonly href: string }[];
}

const maxHrefChars = 200;
/**
 * Maximum number of characters in a line. A page without block elements would otherwise be one very long line, in which the
 * search for links is slow.
 */
const maxLineChars = 2_000;

function readable(text: string): readonly ReadableLine[] {
  const lower = text.toLowerCase();
  const reader: Reader = { lines: [], line: "", asideDepth: 0, links: [] };
  let at = 0;
  while (at < text.length) {
    const open = text.indexOf("<", at);
    if (open !== at) addText(reader, text.slice(at, open < 0 ? text.length : open));
    if (open < 0) break;
    at = skipTag(reader, text, lower, open);
  }
  endLine(reader);
  return reader.lines;
}

/** Returns the position at which reading continues. */
function skipTag(reader: Reader, text: string, lower: string, open: number): number {
  if (lower.startsWith("<!--", open)) return after(lower, "-->", open);
  const name = /^<\/?([a-z][a-z0-9-]*)/.exec(lower.slice(open, open + 40))?.[1];
  if (name === undefined) {
    if (lower.startsWith("<!", open) || lower.startsWith("<?", open))
      return after(lower, ">", open);
    addText(reader, "<");
    return open + 1;
  }
  const end = tagEnd(text, open);
  const isClosing = lower[open + 1] === "/";
  if (hidden.has(name) && !isClosing && lower[end - 2] !== "/")
    return after(lower, ">", after(lower, `</${name}`, end) - 1);
  applyTag(reader, name, isClosing, text.slice(open, end));
  return end;
}

/**
 * Maximum number of characters in a tag. In a longer tag, some quote is probably never closed, and without this limit the tag
 * would include the rest of the page. Such a tag ends at its first `>`.
 */
const maxTagChars = 10_000;

/** The position after the `>` that closes the tag. A `>` inside a quoted attribute does not close it. */
function tagEnd(text: string, open: number): number {
  let quote: string | undefined;
  const limit = Math.min(text.length, open + maxTagChars);
  for (let at = open; at < limit; at++) {
    const sign = text[at];
    if (quote !== undefined) {
      if (sign === quote) quote = undefined;
    } else if (sign === ">") return at + 1;
    else if ((sign === '"' || sign === "'") && text[at - 1] === "=") quote = sign;
  }
  return after(text, ">", open);
}

function after(text: string, what: string, from: number): number {
  const found = text.indexOf(what, from);
  return found < 0 ? text.length : found + what.length;
}

function applyTag(reader: Reader, name: string, isClosing: boolean, tag: string): void {
  if (breaking.has(name)) endLine(reader);
  if (aside.has(name)) reader.asideDepth = Math.max(0, reader.asideDepth + (isClosing ? -1 : 1));
  if (name === "a") applyLink(reader, isClosing, tag);
  else if (!isClosing) beginWith(reader, name, tag);
}

function beginWith(reader: Reader, name: string, tag: string): void {
  const heading = /^h([1-6])$/.exec(name)?.[1];
  if (heading !== undefined) reader.line = `${"#".repeat(Number(heading))} `;
  else if (name === "title") reader.line = "Title: ";
  else if (name === "li") reader.line = "- ";
  else if ((name === "td" || name === "th") && reader.line !== "") reader.line += " | ";
  else if (name === "img") {
    const alt = attribute(tag, "alt");
    if (alt !== "") reader.line += `[image: ${alt}]`;
  }
}

function applyLink(reader: Reader, isClosing: boolean, tag: string): void {
  if (!isClosing) {
    reader.links.push({ from: reader.line.length, href: attribute(tag, "href") });
    return;
  }
  const link = reader.links.pop();
  if (link === undefined || link.href === "" || /^(?:#|javascript:)/i.test(link.href)) return;
  const label = reader.line.slice(link.from).trim();
  if (label === "" || link.href.length > maxHrefChars) return;
  reader.line = `${reader.line.slice(0, link.from)}[${label}](${link.href})`;
}

function attribute(tag: string, name: string): string {
  const found = new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s>]+))`, "i").exec(
    tag.slice(0, 2_000),
  );
  return decode(found?.[1] ?? found?.[2] ?? found?.[3] ?? "").trim();
}

function addText(reader: Reader, text: string): void {
  const words = decode(text).replace(/\s+/g, " ");
  reader.line += reader.line === "" ? words.trimStart() : words;
  if (reader.line.length > maxLineChars) endLine(reader);
}

function endLine(reader: Reader): void {
  const text = reader.line.replace(/ {2,}/g, " ").trim();
  reader.line = "";
  reader.links.length = 0;
  if (text === "" || /^(?:-|#{1,6}|Title:|\||\s)+$/.test(text)) return;
  if (reader.lines.at(-1)?.text === text) return;
  reader.lines.push({ text, score: reader.asideDepth > 0 ? 0 : scoreOfLine(text) });
}

function scoreOfLine(line: string): number {
  if (/^(?:Title:|#)/.test(line)) return 3;
  const isOnlyLink = /^(?:- )?\[[^\]]*\]\([^)]*\)$/.test(line);
  return isOnlyLink ? 0.2 : 0.5 + Math.min(1.5, line.length / 200);
}

const entities: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
  mdash: "—",
  ndash: "–",
  hellip: "…",
  copy: "©",
  reg: "®",
  trade: "™",
  bull: "•",
  middot: "·",
  times: "×",
  deg: "°",
  euro: "€",
  larr: "←",
  rarr: "→",
  lsquo: "‘",
  rsquo: "’",
  ldquo: "“",
  rdquo: "”",
  laquo: "«",
  raquo: "»",
};

function decode(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(
    /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,8}));/gi,
    (all, decimal, hex, name) => {
      if (typeof name === "string") return entities[name.toLowerCase()] ?? all;
      const code = typeof decimal === "string" ? Number(decimal) : Number.parseInt(String(hex), 16);
      return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : all;
    },
  );
}
