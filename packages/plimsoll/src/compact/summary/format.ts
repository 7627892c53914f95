/**
 * The written form of a summary, and how it is read back:
 *
 *   ## Rules
 *   - #3 Never touch the tests.
 *   ## Commands
 *   - #8 `npm test` → exit 1
 *
 * Each item is one line and has the number of its source message. Tool output is in backticks and contains no backticks itself.
 * So no text can leave its line or end its own quotation.
 */

import type { CommandOutcome } from "../evidence/commands.ts";
import { clean, cleanLines, quoted } from "../evidence/safe-text.ts";
import { sentencesOf } from "../evidence/speech.ts";

export const sections = [
  "Goal",
  "Rules",
  "Answered",
  "Changed",
  "Open",
  "Decided",
  "Worked",
  "Failed",
  "State",
  "Next",
  "Files",
  "Commands",
  "Errors",
  "Numbers",
  "Said",
] as const;
export type Section = (typeof sections)[number];
/** Title of the block of facts that the survival gate added. Each line of the block names its section. */
const keptTitle = "Kept facts";

export interface Item {
  readonly section: Section;
  readonly text: string;
  readonly number?: number;
  /** True if the text is quoted, because it comes from a tool or is a name. */
  readonly isData: boolean;
  /** Number of messages that state the item, if more than one. */
  readonly count?: number;
  readonly outcome?: CommandOutcome;
  /** Set if the item is in the block of facts that the survival gate added. */
  readonly isKept?: true;
}

export function formatSummary(items: readonly Item[]): string {
  const lines: string[] = [];
  for (const section of sections) {
    const own = items.filter((item) => item.section === section && item.isKept !== true);
    if (own.length > 0) lines.push(`## ${section}`, ...itemLines(own));
  }
  const kept = items.filter(({ isKept }) => isKept === true);
  if (kept.length > 0) {
    lines.push(`## ${keptTitle}`);
    for (const section of sections)
      lines.push(...itemLines(kept.filter((item) => item.section === section)));
  }
  return lines.join("\n");
}

/** The lines of a section, ordered by source message. Bare names from the same message share a line. */
function itemLines(items: readonly Item[]): readonly string[] {
  const lines: { text: string; names?: string }[] = [];
  const place = ({ number }: Item): number => number ?? Number.POSITIVE_INFINITY;
  for (const item of items.toSorted((one, other) => place(one) - place(other) || 0)) {
    const names = isBareName(item) ? `${item.section} ${item.number ?? ""}` : undefined;
    const last = lines.at(-1);
    if (names !== undefined && last?.names === names) last.text += ` ${bodyOf(item)}`;
    else lines.push({ text: lineOf(item), ...(names === undefined ? {} : { names }) });
  }
  return lines.map(({ text }) => text);
}

function isBareName({ section, text, isData, count, outcome }: Item): boolean {
  const hasNames = section === "Files" || section === "Numbers";
  return hasNames && isData && count === undefined && outcome === undefined && !/\s/.test(text);
}

export function lineOf(item: Item): string {
  const section = item.isKept === true ? `${item.section} ` : "";
  const source = item.number === undefined ? "" : `#${item.number} `;
  return `- ${section}${source}${bodyOf(item)}`;
}

function bodyOf({ text, isData, count, outcome }: Item): string {
  const isQuoted = isData || /^`.*`$/.test(text);
  const often = count === undefined || count < 2 ? "" : ` ×${count}`;
  return `${isQuoted ? quoted(text) : text}${often}${outcome === undefined ? "" : ` → ${outcome}`}`;
}

const maxLines = 2_000;
/**
 * Maximum number of characters in an item that Plimsoll writes. A longer item was written by somebody else, so it is split into
 * sentences.
 */
const maxItemChars = 340;
const title = /^(?:#{1,6}\s*|\*\*)([A-Za-z][A-Za-z ]{1,30}?)(?:\*\*)?:?(?:\*\*)?$/;
const bareTitle = new RegExp(`^(?:${sections.join("|")}):$`, "i");
const inlineTitle = new RegExp(`^(${sections.join("|")}):\\s+(\\S.*)$`, "i");
const bullet = /^(?:[-*+•]|\d{1,3}[.)])\s+/;
const keptSection = new RegExp(`^(${sections.join("|")}) (?=#\\d)`);
const source = /^\[?#(\d{1,9})\]?:?\s+(?=\S)/;
const data = /^`([^`]+)`(?: ×(\d{1,9}))?(?: → (ok|failed|exit -?\d{1,9}))?$/;
const names = /^`[^`\s]+`(?: `[^`\s]+`)+$/;

/** Contract: never fails. A line that is not written like an item becomes an item of the section that it is in. */
export function parseSummary(text: string): readonly Item[] {
  const items: Item[] = [];
  let section: Section = "State";
  let isKept = false;
  for (const line of cleanLines(text).slice(0, maxLines)) {
    const heading = bareTitle.test(line) ? line.slice(0, -1) : title.exec(line)?.[1];
    if (heading !== undefined) {
      isKept = heading === keptTitle;
      section = sectionNamed(heading) ?? "State";
      continue;
    }
    const [, inline, rest] = inlineTitle.exec(line) ?? [];
    const own = sectionNamed(inline ?? "") ?? section;
    items.push(...itemsOfLine(rest ?? line, own, isKept));
  }
  return items;
}

function sectionNamed(name: string): Section | undefined {
  return sections.find((section) => section.toLowerCase() === name.trim().toLowerCase());
}

function itemsOfLine(line: string, section: Section, isKept: boolean): readonly Item[] {
  let body = line.replace(bullet, "");
  const named = isKept ? sectionNamed(keptSection.exec(body)?.[1] ?? "") : undefined;
  if (named !== undefined) body = body.slice(named.length + 1);
  const marked = source.exec(body);
  const frame = {
    section: named ?? section,
    ...(marked === null ? {} : { number: Number(marked[1]) }),
    ...(named === undefined ? {} : { isKept: true as const }),
  };
  body = body.slice(marked?.[0].length ?? 0);
  if (names.test(body))
    return body.split(" ").map((name) => ({ ...frame, isData: true, text: name.slice(1, -1) }));
  const texts =
    data.test(body) || body.length <= maxItemChars
      ? [body]
      : sentencesOf({ number: 0, speaker: "agent", text: body });
  return texts
    .filter((text) => /[^`\s]/.test(text))
    .map((text) => ({ ...frame, ...readBody(text) }));
}

function readBody(body: string): Pick<Item, "text" | "isData" | "count" | "outcome"> {
  const [, inner, count, outcome] = data.exec(body) ?? [];
  if (inner === undefined) return { isData: false, text: body };
  return {
    isData: true,
    text: clean(inner),
    ...(count === undefined ? {} : { count: Number(count) }),
    ...(outcome === undefined ? {} : { outcome: outcome as CommandOutcome }),
  };
}
