/** Lists the parts that can be left out of a program, and writes the marks in their place. */

import { grouped } from "../../../text/digits.ts";
import { cutTexts } from "../../../text/for-models.ts";
import type { Language } from "./languages.ts";
import type { Item, LineIndex, Region } from "./outline.ts";

export interface CodeEdit {
  readonly start: number;
  readonly end: number;
  /** The lines that the edit removes. Undefined if the edit removes only a part of a line. */
  readonly lines?: { readonly first: number; readonly last: number };
  readonly prefix: string;
  readonly tail: string;
  /** If less text has to be removed, the edit may begin at one of these later positions. Its mark then needs this prefix. */
  readonly later?: { readonly starts: readonly number[]; readonly prefix: string };
}

export interface Candidate {
  /** Candidates of a lower tier are removed first. */
  readonly tier: number;
  readonly edits: readonly CodeEdit[];
  readonly chars: number;
}

export interface Outline {
  readonly lines: LineIndex;
  readonly language: Language;
  readonly root: Region;
  readonly isProtected: (line: number) => boolean;
  /** False if only whole lines may be removed. */
  readonly allowsInline: boolean;
}

const leastGain = 24;
/** Approximate length of a mark without its prefix. */
export const markChars = 16;

export function candidatesOf(outline: Outline): readonly Candidate[] {
  const candidates: Candidate[] = [];
  const add = (tier: number, edits: readonly CodeEdit[]): void => {
    const chars = edits.reduce(
      (sum, { start, end, prefix }) => sum + end - start - prefix.length,
      0,
    );
    if (edits.length > 0 && chars >= leastGain) candidates.push({ tier, edits, chars });
  };
  const pending = [outline.root];
  for (let region = pending.pop(); region !== undefined; region = pending.pop()) {
    addRegion(region, outline, add);
    pending.push(...region.children);
  }
  return candidates.toSorted(
    (one, other) =>
      one.tier - other.tier ||
      other.chars - one.chars ||
      (other.edits[0]?.start ?? 0) - (one.edits[0]?.start ?? 0),
  );
}

type Add = (tier: number, edits: readonly CodeEdit[]) => void;

function addRegion(region: Region, outline: Outline, add: Add): void {
  const { kind } = region;
  if (kind === "function") add(isLeaf(region) ? 0 : 1, listEdits(region, 0, outline));
  else if (kind === "comment" || kind === "string") addInside(region, outline, add);
  else if (kind === "literal") {
    add(isLong(region, outline, 10) ? 0 : 2, listEdits(region, 2, outline));
    add(4, listEdits(region, 1, outline));
  } else if (kind === "members") {
    add(3, listEdits(region, 4, outline));
    add(5, listEdits(region, 0, outline));
  } else if (kind === "root") {
    for (const item of withLeads(region.items)) {
      const isImport = item.role === "import";
      add(isImport ? 7 : 6, runEdits([item], region, outline, { isWhole: false }));
    }
    add(8, listEdits(region, 1, outline));
  }
}

/** True if no inner function is so large that its signature should be shown. */
function isLeaf(region: Region): boolean {
  const pending = [...region.children];
  for (let inner = pending.pop(); inner !== undefined; inner = pending.pop()) {
    if (inner.kind === "function" && inner.end - inner.start > leastNested) return false;
    pending.push(...inner.children);
  }
  return true;
}

const leastNested = 240;

function isLong({ start, end }: Region, { lines }: Outline, least: number): boolean {
  return lines.lineOf(end) - lines.lineOf(start) >= least || end - start > least * 120;
}

/** Adds attributes to the item after them, because they are removed together. */
function withLeads(items: readonly Item[]): readonly Item[] {
  const joined: Item[] = [];
  let prefix: number | undefined;
  for (const item of items) {
    if (item.role === "attribute") {
      prefix ??= item.start;
      continue;
    }
    joined.push({ ...item, start: prefix ?? item.start });
    prefix = undefined;
  }
  return joined;
}

/** Removes runs of adjacent items from a list. The first `kept` items, and items that must stay, are not removed. */
function listEdits(region: Region, kept: number, outline: Outline): readonly CodeEdit[] {
  const { lines, isProtected } = outline;
  const edits: CodeEdit[] = [];
  let run: Item[] = [];
  const left = region.items.filter(({ role }) => role !== "comment").length;
  const isAll = kept === 0 && !region.items.some((item) => stays(item, outline));
  const close = (): void => {
    if (run.length > 0)
      edits.push(...runEdits(run, region, outline, { isWhole: isAll && left > 0 }));
    run = [];
  };
  for (const [index, item] of region.items.entries()) {
    if (index < kept || item.role === "docstring") {
      close();
      continue;
    }
    if (!stays(item, outline)) {
      run.push(item);
      continue;
    }
    close();
    edits.push(...insideItem(item, region, outline));
  }
  close();
  return edits.filter(({ start, end }) => end > start && !touches(start, end, lines, isProtected));
}

function stays({ start, end, role }: Item, { lines, isProtected }: Outline): boolean {
  return role === "docstring" || touches(start, end, lines, isProtected);
}

function touches(
  start: number,
  end: number,
  lines: LineIndex,
  isProtected: Outline["isProtected"],
): boolean {
  const last = lines.lineOf(end);
  for (let line = lines.lineOf(start); line <= last; line++) if (isProtected(line)) return true;
  return false;
}

/** Keeps the structure around protected lines, and removes everything else in the body of the item. */
function insideItem(item: Item, region: Region, outline: Outline): readonly CodeEdit[] {
  return region.children
    .filter(
      ({ kind, start, end }) =>
        start >= item.start &&
        end <= item.end &&
        (kind === "block" || kind === "function" || kind === "members"),
    )
    .flatMap((inner) => listEdits(inner, 0, outline));
}

function runEdits(
  run: readonly Item[],
  region: Region,
  outline: Outline,
  { isWhole }: { readonly isWhole: boolean },
): readonly CodeEdit[] {
  const [first] = run;
  const last = run.at(-1);
  if (first === undefined || last === undefined) return [];
  const { lines, allowsInline } = outline;
  if (touches(first.start, last.end, lines, outline.isProtected)) return [];
  if (!isAlone(first.start, last.end, lines)) {
    const hasComment = outline.language.hasBlockComment;
    const canBeInside = allowsInline && hasComment && region.kind !== "root";
    return canBeInside ? inlineEdits(run, region) : [];
  }
  const starts = run.slice(1).map((item) => item.start);
  return lineEdits({ start: first.start, end: last.end, starts }, outline, isWhole);
}

/** Replaces whole lines with a mark, unless the mark would be longer than the lines. */
function lineEdits(
  gone: { readonly start: number; readonly end: number; readonly starts: readonly number[] },
  { lines, language }: Outline,
  isWhole: boolean,
): readonly CodeEdit[] {
  const range = { first: lines.lineOf(gone.start), last: lines.lineOf(gone.end) };
  const start = lines.startOf(range.first);
  const indent = lines.text.slice(start, gone.start);
  // Where the grammar requires a statement, a comment alone is not enough.
  const body = isWhole && language.emptyBody !== undefined ? `${language.emptyBody}  ` : "";
  const partial = `${indent}${language.lineComment} `;
  const prefix = `${indent}${body}${language.lineComment} `;
  const end = lines.endOf(range.last);
  if (end - start < prefix.length + markChars) return [];
  const later = { starts: gone.starts, prefix: partial };
  return [{ start, end, lines: range, prefix, tail: "", later }];
}

/** True if the lines of this range contain nothing else, except for a separator at the end. */
function isAlone(start: number, end: number, lines: LineIndex): boolean {
  const before = lines.text.slice(lines.startOf(lines.lineOf(start)), start);
  const after = lines.text.slice(end, lines.endOf(lines.lineOf(end)));
  return before.trim() === "" && /^\s*[,;]?\s*$/.test(after);
}

const leastInlineChars = 160;

/**
 * Replaces a part of a line with a mark. This is not possible in literals and member lists, because their separators would be
 * wrong.
 */
function inlineEdits(
  run: readonly Item[],
  { kind, items, starts, start, end }: Region,
): readonly CodeEdit[] {
  const [first] = run;
  const last = run.at(-1);
  // Items that share a line are listed as one item, so the mark can only replace everything between the braces.
  if (first === undefined || last === undefined || items.length !== run.length) return [];
  if (kind === "literal" || kind === "members") return [];
  const span = { start: Math.max(first.start, start + 1), end: Math.min(last.end, end - 1) };
  if (span.end - span.start < leastInlineChars) return [];
  const later = { starts: starts.filter((place) => place > span.start), prefix: "/* " };
  return [{ ...span, prefix: "/* ", tail: " */", later }];
}

const leastInsideLines = 3;

/** Leaves out the middle of a long comment or string. The first line and the end stay. */
function addInside(region: Region, outline: Outline, add: Add): void {
  const { lines, isProtected } = outline;
  const { first, last } = insideOf(region, lines);
  if (last - first + 1 < leastInsideLines) return;
  for (let line = first; line <= last; line++) if (isProtected(line)) return;
  const prefix = leadInside(region, outline, first);
  const later = Array.from({ length: last - first }, (_, index) =>
    lines.startOf(first + 1 + index),
  );
  const edit = {
    start: lines.startOf(first),
    end: lines.endOf(last),
    lines: { first, last },
    prefix,
    tail: "",
    later: { starts: later, prefix },
  };
  add(last - first >= 5 ? 0 : 2, [edit]);
}

function isBlock({ kind, start }: Region, { text }: LineIndex): boolean {
  return kind === "string" || text.startsWith("/*", start);
}

/**
 * The lines between the opening and the closing line. If the opening line of a block comment or string has no words, the next
 * line also stays.
 */
function insideOf(
  region: Region,
  lines: LineIndex,
): { readonly first: number; readonly last: number } {
  const from = lines.lineOf(region.start);
  const to = lines.lineOf(region.end);
  if (!isBlock(region, lines)) return { first: from + 1, last: to };
  const opening = lines.text.slice(region.start, lines.endOf(from));
  const saysNothing = !/[\p{L}\p{N}]/u.test(opening.replace(/^[a-zA-Z]{0,2}["'`]/, ""));
  return { first: saysNothing ? from + 2 : from + 1, last: to - 1 };
}

/** The text to put before a mark inside a comment or string, so that the mark is a part of the comment or string. */
function leadInside(region: Region, { lines, language }: Outline, line: number): string {
  const text = lines.textOf(line);
  const prefix =
    region.kind === "string"
      ? (/^\s*/.exec(text)?.[0] ?? "")
      : (/^\s*(?:\/\/[/!]?|#+!?|\*)?[ \t]?/.exec(text)?.[0] ?? "");
  return isBlock(region, lines) || /\S/.test(prefix) ? prefix : `${prefix}${language.lineComment} `;
}

const leastLeft = 60;

/**
 * Moves the beginning of the edit to a later position, so that less is removed, but still at least `chars` characters. Does
 * nothing if the text that would stay is too short to be worth showing.
 */
export function endOf(edit: CodeEdit, chars: number, lines: LineIndex): CodeEdit {
  const { lines: range, later, end, start } = edit;
  if (later === undefined || end - start < chars + leastLeft) return edit;
  const from = later.starts.findLast((place) => end - place >= chars);
  if (from === undefined) return edit;
  const { later: _, ...rest } = edit;
  if (range === undefined) return { ...rest, start: from };
  const first = lines.lineOf(from);
  return {
    ...rest,
    start: lines.startOf(first),
    lines: { first, last: range.last },
    prefix: later.prefix,
  };
}

/** Drops edits that are inside other edits, and joins adjacent edits. */
export function settle(edits: readonly CodeEdit[], lines: LineIndex): readonly CodeEdit[] {
  const settled: CodeEdit[] = [];
  for (const edit of edits.toSorted(
    (one, other) => one.start - other.start || other.end - one.end,
  )) {
    const before = settled.at(-1);
    if (before === undefined || edit.start > before.end) {
      const joined = before === undefined ? undefined : join(before, edit, lines);
      if (joined === undefined) settled.push(edit);
      else settled[settled.length - 1] = joined;
    } else if (edit.end > before.end && edit.lines !== undefined && before.lines !== undefined) {
      const last = edit.lines.last;
      settled[settled.length - 1] = {
        ...before,
        end: edit.end,
        lines: { first: before.lines.first, last },
      };
    }
  }
  return settled;
}

/**
 * Joins two edits if there is only white space between them and both have the same indentation, because one mark is then enough.
 */
function join(before: CodeEdit, next: CodeEdit, lines: LineIndex): CodeEdit | undefined {
  if (before.lines === undefined || next.lines === undefined || before.prefix !== next.prefix)
    return undefined;
  if (before.prefix.includes("...") || lines.text.slice(before.end, next.start).trim() !== "")
    return undefined;
  return { ...before, end: next.end, lines: { first: before.lines.first, last: next.lines.last } };
}

const earlierMark = /^\W{0,40}… ([\d,]+) lines? …/;

export function markText(
  { start, end, lines: range, prefix, tail }: CodeEdit,
  lines: LineIndex,
): string {
  if (range === undefined)
    return `${prefix}${cutTexts.gap(`${grouped(end - start)} characters`)}${tail}`;
  let count = 0;
  for (let line = range.first; line <= range.last; line++) {
    const earlier = earlierMark.exec(lines.textOf(line).slice(0, 200))?.[1];
    count += earlier === undefined ? 1 : Number(earlier.replaceAll(",", ""));
  }
  return `${prefix}${cutTexts.gap(`${grouped(count)} ${count === 1 ? "line" : "lines"}`)}${tail}`;
}
