/** Writes a JSON tree within limits. A string in place of the left-out elements says how many there were. */

import { grouped } from "../../../text/digits.ts";
import { cutTexts } from "../../../text/for-models.ts";
import type { JsonNode } from "../../../text/json-tree.ts";
import { alarmOf } from "../../../text/trouble.ts";
import type { CompressInner, CutOptions } from "../cut/compressor.ts";
import { outlierScores } from "../cut/outliers.ts";
import { cutJsonString } from "./cut-string.ts";

export interface Limits {
  readonly stringChars: number;
  /** Maximum number of elements in an array. */
  readonly items: number;
  /** Maximum number of members in an object. */
  readonly keys: number;
  readonly depth: number;
}

export interface Writing {
  readonly limits: Limits;
  readonly options: CutOptions;
  readonly inner: CompressInner;
  readonly memory: Memory;
}

/** Results that do not depend on the severity, so they are computed only once. */
export interface Memory {
  readonly scores: Map<readonly JsonNode[], readonly number[]>;
  /** Shortened texts by position and ratio. */
  readonly texts: Map<string, string>;
  /** For each node, the weight of the heaviest value in it, from 0 (does not matter) to 1. */
  readonly weights: ReadonlyMap<JsonNode, number>;
}

interface Context extends Writing {
  readonly text: string;
}

function weightOf(node: JsonNode, { memory }: Context): number {
  return memory.weights.get(node) ?? 0;
}

export function writeJson(text: string, root: JsonNode, writing: Writing): string {
  return writeNode(root, 0, { ...writing, text });
}

export function writeJsonLines(text: string, roots: readonly JsonNode[], writing: Writing): string {
  const context = { ...writing, text };
  const end = text.endsWith("\n") ? "\n" : "";
  return chosen(roots, context, (root) => writeNode(root, 1, context)).join("\n") + end;
}

function writeNode(node: JsonNode, depth: number, context: Context): string {
  const { limits, text } = context;
  if (node.kind === "scalar") return text.slice(node.start, node.end);
  if (node.kind === "string") return writeString(node, context);
  const isTooDeep = depth > hardDepth || (depth > limits.depth && weightOf(node, context) === 0);
  const isSmall = node.end - node.start <= smallChars;
  if (isTooDeep && !isSmall) return `"${describe(node)}"`;
  if (node.kind === "object") return writeObject(node, depth, context);
  const table = asTable(node, depth, context);
  const list = `[${chosen(node.children, context, (child) => writeNode(child, depth + 1, context)).join(",")}]`;
  return table !== undefined && table.length < list.length ? table : list;
}

/** Maximum depth at which values are written, because writing is recursive and the call stack is limited. */
const hardDepth = 200;
/** A value of at most this many characters is shown and not described, because a description would be as long. */
const smallChars = 40;

function describe({ kind, children }: JsonNode): string {
  if (kind === "array") return cutTexts.jsonArray(grouped(children.length));
  return cutTexts.jsonObject(grouped(children.length), keyNames(children));
}

const namedKeys = 6;
const namedKeyChars = 40;

/** The first few keys, for a description. Leaves out keys that are long or contain escapes. */
function keyNames(children: readonly JsonNode[]): string {
  const names = children
    .slice(0, namedKeys)
    .map(({ key }) => key?.slice(1, -1) ?? "")
    .filter((key) => key.length <= namedKeyChars && !key.includes("\\"));
  return names.join(", ") + (children.length > namedKeys ? ", …" : "");
}

const innerFromChars = 400;
/** A string that contains a whole text, such as a file, may keep this many times as many characters as other strings. */
const innerFactor = 3;

function writeString(node: JsonNode, context: Context): string {
  const { text, limits } = context;
  const liking = 1 + 3 * weightOf(node, context);
  const limit = limits.stringChars * liking;
  const length = node.end - node.start;
  if (length <= limit) return text.slice(node.start, node.end);
  const raw = text.slice(node.start, node.end);
  const isText = length >= innerFromChars && /\\n|^"\s*[[{<]/.test(raw.slice(0, 2_000));
  if (isText) {
    // The ratio is rounded down to a power of two, so that only few different ratios occur and their results can be reused.
    const ratio = 2 ** Math.floor(Math.log2(Math.min(1, (limit * innerFactor) / length)));
    const written = writeText(raw, `${node.start}:${ratio}`, ratio, context);
    if (written.length < raw.length) return written;
  }
  return cutJsonString(raw, limit);
}

function writeText(raw: string, name: string, ratio: number, context: Context): string {
  const { options, inner, memory } = context;
  const known = memory.texts.get(name);
  if (known !== undefined) return known;
  const shorter = inner(String(JSON.parse(raw)), { ...options, ratio });
  const written = shorter === undefined ? raw : JSON.stringify(shorter);
  memory.texts.set(name, written);
  return written;
}

function writeObject(node: JsonNode, depth: number, context: Context): string {
  const { keys } = context.limits;
  const kept =
    node.children.length <= keys + 1
      ? undefined
      : best(node.children, memberScores(node.children, context), keys);
  const parts: string[] = [];
  const left: JsonNode[] = [];
  for (const [index, child] of node.children.entries()) {
    if (kept !== undefined && !kept.has(index)) left.push(child);
    else parts.push(`${child.key ?? ""}:${writeNode(child, depth + 1, context)}`);
  }
  if (left.length > 0) parts.push(cutTexts.jsonMembers(grouped(left.length), keyNames(left)));
  return `{${parts.join(",")}}`;
}

/** Prefers short values, which say more per token, and the first members, which often name the object. */
function memberScores(children: readonly JsonNode[], context: Context): readonly number[] {
  const { text } = context;
  return children.map((child, index) => {
    const { start, end, key } = child;
    const weight = weightOf(child, context);
    const value = text.slice(start, Math.min(end, start + 200));
    const alarm = alarmOf(key ?? "") > 0 && !/^(?:null|false|0|""|\[\]|\{\})$/.test(value) ? 3 : 0;
    return weight * 20 + alarm + alarmOf(value) / 3 + 1 / (1 + index) + 20 / (20 + end - start);
  });
}

function best(
  children: readonly JsonNode[],
  scores: readonly number[],
  count: number,
): ReadonlySet<number> {
  const order = children
    .map((_, index) => index)
    .toSorted((one, other) => (scores[other] ?? 0) - (scores[one] ?? 0) || one - other);
  return new Set(order.slice(0, count));
}

/** The elements that stay. In each gap, a string says how many elements are missing. */
function chosen(
  children: readonly JsonNode[],
  context: Context,
  write: (child: JsonNode) => string,
): readonly string[] {
  const { items } = context.limits;
  if (children.length <= items + 1) return children.map(write);
  const kept = best(children, elementScores(children, context), items);
  const parts: string[] = [];
  let left = 0;
  const closeGap = (): void => {
    if (left > 0) parts.push(cutTexts.jsonElements(grouped(left)));
    left = 0;
  };
  for (const [index, child] of children.entries()) {
    const isEarlierGap = !kept.has(index);
    if (isEarlierGap) {
      left += standsFor(child, context.text);
      continue;
    }
    closeGap();
    parts.push(write(child));
  }
  closeGap();
  return parts;
}

/**
 * The number of elements that a value represents. A string from an earlier compression represents the elements that it replaced.
 */
function standsFor({ kind, start, end }: JsonNode, text: string): number {
  if (kind !== "string" || end - start > 40) return 1;
  const earlier = /^"… ([\d,]+) more like these"$/.exec(text.slice(start, end))?.[1];
  return earlier === undefined ? 1 : Number(earlier.replaceAll(",", ""));
}

/** Prefers elements that matter to the conversation, then the first and last, errors, rare shapes and unusual numbers. */
function elementScores(children: readonly JsonNode[], context: Context): readonly number[] {
  const { text, memory } = context;
  const known = memory.scores.get(children);
  if (known !== undefined) return known;
  const shapes = children.map(({ kind, children: members }) =>
    kind === "object" ? members.map(({ key }) => key ?? "").join(",") : kind,
  );
  const counts = new Map<string, number>();
  for (const shape of shapes) counts.set(shape, (counts.get(shape) ?? 0) + 1);
  const rare = Math.max(1, children.length * 0.05);
  const unlike = outlierScores(children.map((child) => cellsOf(child, text)));
  const scores = children.map((child, index) => {
    const edge = index === 0 ? 6 : index === children.length - 1 ? 5 : 0;
    const isRare =
      (counts.get(shapes[index] ?? "") ?? 0) <= rare && counts.size < children.length / 4;
    const alarm = alarmOf(text.slice(child.start, Math.min(child.end, child.start + 400)));
    return (
      20 * weightOf(child, context) +
      edge +
      (isRare ? 2 : 0) +
      (unlike[index] ?? 0) +
      errorScore(alarm, child, text)
    );
  });
  memory.scores.set(children, scores);
  return scores;
}

function errorScore(alarm: number, child: JsonNode, text: string): number {
  const bad = child.children.some(
    ({ key, start, end }) =>
      /^"(?:status|status_?code|code|exit_?code|returncode)"$/i.test(key ?? "") &&
      /^(?:[45]\d\d|[1-9]\d?)$/.test(text.slice(start, end)),
  );
  return alarm / 2 + (bad ? 2 : 0);
}

const cellChars = 40;

function cellsOf(node: JsonNode, text: string): readonly string[] {
  const values = node.kind === "object" ? node.children : [node];
  return values.map(({ kind, start, end, children }) =>
    kind === "object" || kind === "array"
      ? String(children.length)
      : text.slice(start, Math.min(end, start + cellChars)),
  );
}

const leastRows = 3;

/** Writes objects as a table if all have the same distinct keys in the same order, and only plain values. */
function asTable(node: JsonNode, depth: number, context: Context): string | undefined {
  const [first] = node.children;
  if (first?.kind !== "object" || node.children.length < leastRows || depth >= hardDepth - 2)
    return undefined;
  const columns = first.children.map(({ key }) => key ?? "");
  if (columns.length === 0 || new Set(columns).size !== columns.length) return undefined;
  const isRow = (row: JsonNode): boolean =>
    row.kind === "object" &&
    row.children.length === columns.length &&
    row.children.every(
      ({ key, kind, children }, index) =>
        key === columns[index] && (kind === "string" || kind === "scalar" || children.length === 0),
    );
  if (!node.children.every(isRow) || columns.length > context.limits.keys + 1) return undefined;
  const rows = chosen(
    node.children,
    context,
    (row) => `[${row.children.map((cell) => writeNode(cell, depth + 3, context)).join(",")}]`,
  );
  return `{"columns":[${columns.join(",")}],"rows":[${rows.join(",")}]}`;
}
