/** HTML in which everything is text unless this code wrote it as markup. So no text of a conversation can become markup. */

import { grouped } from "../../text/digits.ts";

/** Text that is already HTML or SVG. Only `html` and `written` create it. */
export interface Markup {
  readonly markup: string;
}

type Insertion = string | number | Markup | readonly Markup[];

/** Maximum number of characters of one text. A longer text, such as a line of a megabyte, is cut. */
const longestText = 500;

/**
 * Characters that are invisible or change the order of visible ones: controls (except tab and line
 * feed), line and paragraph separators, bidirectional controls, zero-width characters, annotations,
 * lone surrogates. The two common emoji selectors (U+FE0E, U+FE0F) stay.
 */
const unseen =
  /(?!\t|\n|\ufe0e|\ufe0f)[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]/gu;

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Makes a text harmless in HTML and in quoted attributes: shows markup as text, marks hidden characters, and cuts long text. */
export function escapeHtml(text: string, mostChars: number = longestText): string {
  return cut(text, mostChars)
    .replace(unseen, markOf)
    .replaceAll(/[&<>"']/g, (character) => entities[character] ?? "");
}

/** Cuts at whole characters and states the original length. */
function cut(text: string, mostChars: number): string {
  if (text.length <= mostChars) return text;
  const beginning = text.slice(0, mostChars).replace(/[\ud800-\udbff]$/, "");
  return `${beginning}… (${grouped(text.length)} characters)`;
}

/** The visible mark for a hidden character, such as ␛ or ⟦U+202E⟧. */
function markOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  if (code === 0x7f) return "␡";
  return `⟦U+${code.toString(16).toUpperCase().padStart(4, "0")}⟧`;
}

/** Builds markup from a template. Escapes every inserted value that is not markup. */
export function html(parts: TemplateStringsArray, ...insertions: readonly Insertion[]): Markup {
  const texts = parts.map((part, index) => {
    const insertion = insertions[index];
    return insertion === undefined ? part : part + textOf(insertion);
  });
  return { markup: texts.join("") };
}

export const nothing: Markup = { markup: "" };

/** Contract: `markup` was written in this code and contains no text from outside. */
export function written(markup: string): Markup {
  return { markup };
}

/** Escapes a text and cuts it to at most `mostChars` characters, instead of the default maximum. */
export function shortened(text: string, mostChars: number): Markup {
  return { markup: escapeHtml(text, mostChars) };
}

function textOf(insertion: Insertion): string {
  if (typeof insertion === "string") return escapeHtml(insertion);
  if (typeof insertion === "number") return String(insertion);
  return "markup" in insertion ? insertion.markup : insertion.map(({ markup }) => markup).join("");
}

/** An arrow, drawn as SVG because not every font has one. */
export const arrow: Markup = written(
  '<svg class="arrow" width="14" height="9" viewBox="0 0 14 9" fill="none" stroke="currentColor" stroke-width="1.5" role="img" aria-label="to"><path d="M0 4.5h12M8.5 1l3.5 3.5l-3.5 3.5"/></svg>',
);
