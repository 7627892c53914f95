/**
 * Finds the parts of a program that can be left out so that the program still parses: items of lists, and the middle of comments
 * and strings.
 */

import type { Language } from "./languages.ts";
import type { SyntaxNode } from "./parse.ts";

export type RegionKind =
  | "function"
  | "members"
  | "block"
  | "literal"
  | "comment"
  | "string"
  | "root";

/** An element of a list. Adjacent elements that share a line are one item. */
export interface Item {
  readonly start: number;
  readonly end: number;
  readonly role: "plain" | "comment" | "attribute" | "import" | "docstring";
}

export interface Region {
  readonly kind: RegionKind;
  readonly start: number;
  readonly end: number;
  /** The items of a list. Empty for comments and strings. */
  readonly items: readonly Item[];
  /** Where each element of a list begins. Elements that share a line are counted separately. */
  readonly starts: readonly number[];
  readonly children: Region[];
  readonly depth: number;
}

/** Finds the lines of a text by character position, and the positions of lines. */
export class LineIndex {
  readonly text: string;
  readonly starts: readonly number[];

  constructor(text: string) {
    this.text = text;
    const starts = [0];
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
    this.starts = starts;
  }

  lineOf(offset: number): number {
    let low = 0;
    let high = this.starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  startOf(line: number): number {
    return this.starts[line] ?? this.text.length;
  }

  /** The end of the line, before its line break. */
  endOf(line: number): number {
    const next = this.starts[line + 1];
    if (next === undefined) return this.text.length;
    return this.text[next - 2] === "\r" ? next - 2 : next - 1;
  }

  textOf(line: number): string {
    return this.text.slice(this.startOf(line), this.endOf(line));
  }
}

/** A region of fewer characters than this is not worth a mark. */
const leastChars = 30;
/** A region nested deeper than this is not listed separately. It stays a part of the region around it. */
const maxDepth = 64;

export function outlineOf(root: SyntaxNode, language: Language, lines: LineIndex): Region {
  const top: Region = { ...listOf(root, "root", language, lines), depth: 0 };
  const found = findRegions(root, language, lines);
  const open: Region[] = [top];
  for (const region of found) {
    while ((open.at(-1)?.end ?? Number.MAX_SAFE_INTEGER) <= region.start && open.length > 1)
      open.pop();
    const parent = open.at(-1) ?? top;
    const depth = parent.depth + 1;
    if (depth > maxDepth) continue;
    const placed: Region = { ...region, depth };
    parent.children.push(placed);
    open.push(placed);
  }
  return top;
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** All kinds of nodes that may be a region. */
function kindsOf(language: Language): readonly string[] {
  const { functions, classes = [], members, blocks, literals, comments, strings } = language;
  const all = [functions, classes, members, blocks, literals, comments, strings].flat();
  return [...new Set(all)];
}

function findRegions(root: SyntaxNode, language: Language, lines: LineIndex): readonly Region[] {
  const { comments, strings } = language;
  const found = root.findAll({ rule: { any: kindsOf(language).map((kind) => ({ kind })) } });
  const isComment = (node: SyntaxNode): boolean => comments.includes(String(node.kind()));
  const large = found.filter((node) => {
    const { start, end } = spanOf(node);
    return end - start >= leastChars && !isComment(node);
  });
  const bodies = bodiesOf(large, language);
  const regions = large.flatMap((node): readonly Region[] => {
    const kind = String(node.kind());
    const { start, end } = spanOf(node);
    if (strings.includes(kind))
      return isPlainText(node, language, lines) ? [leafRegion("string", start, end)] : [];
    const region = regionKind(kind, language, bodies.get(start));
    return region === undefined ? [] : [listOf(node, region, language, lines)];
  });
  const remarks = commentRegions(found.filter(isComment).map(spanOf), lines);
  return [...regions, ...remarks].toSorted(
    (one, other) => one.start - other.start || other.end - one.end,
  );
}

/** The positions where the bodies of functions and classes begin. */
function bodiesOf(
  nodes: readonly SyntaxNode[],
  { functions, classes = [] }: Language,
): ReadonlyMap<number, RegionKind> {
  const bodies = new Map<number, RegionKind>();
  for (const node of nodes) {
    const kind = String(node.kind());
    const isFunction = functions.includes(kind);
    const body = isFunction || classes.includes(kind) ? node.field("body") : null;
    if (body !== null) bodies.set(spanOf(body).start, isFunction ? "function" : "members");
  }
  return bodies;
}

function regionKind(
  kind: string,
  { members, blocks, literals }: Language,
  asBody: RegionKind | undefined,
): RegionKind | undefined {
  if (blocks.includes(kind)) return asBody ?? "block";
  if (members.includes(kind)) return "members";
  return literals.includes(kind) ? "literal" : undefined;
}

function spanOf(node: SyntaxNode): Span {
  const { start, end } = node.range();
  return { start: start.index, end: end.index };
}

function leafRegion(kind: "string" | "comment", start: number, end: number): Region {
  return { kind, start, end, items: [], starts: [], children: [], depth: 0 };
}

const leastStringLines = 4;

function isPlainText(node: SyntaxNode, { interpolations }: Language, lines: LineIndex): boolean {
  const { start, end } = spanOf(node);
  if (lines.lineOf(end) - lines.lineOf(start) < leastStringLines) return false;
  if (interpolations.length === 0) return true;
  return node.find({ rule: { any: interpolations.map((kind) => ({ kind })) } }) === null;
}

/** Adjacent line comments form one region. */
function commentRegions(nodes: readonly Span[], lines: LineIndex): readonly Region[] {
  const regions: Region[] = [];
  let start = -1;
  let end = -1;
  const close = (): void => {
    if (start >= 0 && end - start >= leastChars) regions.push(leafRegion("comment", start, end));
  };
  for (const node of nodes) {
    // In some grammars a comment includes its line break.
    const nodeEnd = lines.text[node.end - 1] === "\n" ? node.end - 1 : node.end;
    const isAlone =
      lines.text.slice(lines.startOf(lines.lineOf(node.start)), node.start).trim() === "";
    const follows =
      start >= 0 &&
      isAlone &&
      lines.text[node.start + 1] !== "*" &&
      lines.text[start + 1] !== "*" &&
      lines.lineOf(node.start) === lines.lineOf(end) + 1;
    if (!follows) {
      close();
      start = isAlone ? node.start : -1;
    }
    end = nodeEnd;
  }
  close();
  return regions;
}

/** The children of a node. Some grammars put a list between a block and its statements. */
function listedIn(node: SyntaxNode): readonly SyntaxNode[] {
  const children = node.namedChildren();
  const [only] = children;
  const isWrapped = children.length === 1 && String(only?.kind()) === "statement_list";
  return isWrapped && only !== undefined ? only.namedChildren() : children;
}

function listOf(node: SyntaxNode, kind: RegionKind, language: Language, lines: LineIndex): Region {
  const { start, end } = spanOf(node);
  const nodes = listedIn(node);
  const items: Item[] = [];
  for (const [index, child] of nodes.entries()) {
    const item = itemOf(child, index === 0, language, lines.text);
    const last = items.at(-1);
    if (last !== undefined && lines.lineOf(last.end) === lines.lineOf(item.start))
      items[items.length - 1] = { ...last, end: item.end };
    else items.push(item);
  }
  const starts = nodes.map((child) => spanOf(child).start);
  return { kind, start, end, items, starts, children: [], depth: 0 };
}

const docstring = /^[rRuUbB]{0,2}(?:"|')/;

function itemOf(node: SyntaxNode, isFirst: boolean, language: Language, text: string): Item {
  const { start, end } = spanOf(node);
  const kind = String(node.kind());
  const trimmed = text[end - 1] === "\n" ? end - 1 : end;
  const role = language.comments.includes(kind)
    ? "comment"
    : language.attributes.includes(kind)
      ? "attribute"
      : language.imports.includes(kind)
        ? "import"
        : isFirst &&
            language.emptyBody !== undefined &&
            docstring.test(text.slice(start, start + 3))
          ? "docstring"
          : "plain";
  return { start, end: trimmed, role };
}
