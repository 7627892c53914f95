/**
 * Shortens JSON and JSON lines by leaving out keys, elements and parts of strings. The result is valid JSON again. One number,
 * the severity, sets how much each array, object and string may keep. A search finds the severity that gives the requested number
 * of tokens.
 */

import { type JsonNode, readJson, readJsonLines } from "../../../text/json-tree.ts";
import {
  attempt,
  type Compressor,
  type CutOptions,
  mistaken,
  type Sample,
  whole,
} from "../cut/compressor.ts";
import { weightsOf } from "../cut/lines.ts";
import { type Limits, type Memory, writeJson, writeJsonLines } from "./write.ts";

export const jsonCompressor: Compressor = {
  kind: "json",
  detects: (sample) => isOneValue(sample) || isLines(sample),
  compress: (text, options, inner) => {
    const root = readJson(text);
    const lines = root === undefined ? readJsonLines(text) : undefined;
    if (root === undefined && lines === undefined) return mistaken;
    const weights = weighNodes(root === undefined ? (lines ?? []) : [root], text, options);
    const memory: Memory = { scores: new Map(), texts: new Map(), weights };
    const write = (limits: Limits): string =>
      root === undefined
        ? writeJsonLines(text, lines ?? [], { limits, options, inner, memory })
        : writeJson(text, root, { limits, options, inner, memory });
    const shorter = search(
      write,
      largestOf(root === undefined ? (lines ?? []) : [root]),
      options,
      text,
    );
    return shorter === undefined ? whole : attempt(shorter);
  },
};

function isOneValue({ head, tail }: Sample): boolean {
  return /^(?:\{\s*["}]|\[\s*["[{\]\d\-tfn])/.test(head) && /[}\]]$/.test(tail);
}

function isLines({ lines, ending }: Sample): boolean {
  const looksLike = lines.filter((line) => /^\{\s*"|^\[\s*["[{\d]/.test(line)).length;
  return (looksLike > 1 && looksLike === lines.length) || ending === "jsonl" || ending === "ndjson";
}

const weighedChars = 400;

/** Weighs each value with its key as one line. A container weighs as much as the heaviest value in it. */
function weighNodes(
  roots: readonly JsonNode[],
  text: string,
  options: CutOptions,
): Memory["weights"] {
  const weights = new Map<JsonNode, number>();
  if (options.weigh === undefined) return weights;
  const order: JsonNode[] = [];
  const parents: number[] = [];
  const pending = roots.map((node) => ({ node, parent: -1 }));
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const index = order.push(next.node) - 1;
    parents.push(next.parent);
    for (const node of next.node.children) pending.push({ node, parent: index });
  }
  const texts = order.map(({ kind, key, start, end }) => {
    const isContainer = kind === "object" || kind === "array";
    const value = isContainer ? "" : text.slice(start, Math.min(end, start + weighedChars));
    return key === undefined ? value : `${key}: ${value}`;
  });
  const own = weightsOf(texts, options);
  const raise = (node: JsonNode, weight: number): void => {
    weights.set(node, Math.max(weights.get(node) ?? 0, weight));
  };
  for (let index = order.length - 1; index >= 0; index--) {
    const node = order[index];
    if (node === undefined) continue;
    raise(node, own[index] ?? 0);
    const parent = order[parents[index] ?? -1];
    if (parent !== undefined) raise(parent, weights.get(node) ?? 0);
  }
  return weights;
}

const steps = 8;

/**
 * Searches for the lowest severity that meets the goal. If no severity meets it, uses the highest severity that makes the text
 * shorter.
 */
function search(
  write: (limits: Limits) => string,
  largest: Limits,
  options: CutOptions,
  text: string,
): string | undefined {
  const before = options.count(text);
  const goal = before * options.ratio;
  let best: string | undefined;
  let mild = 0;
  let hard = 1;
  for (const severity of [0, 1]) {
    const written = write(limitsAt(severity, largest));
    const tokens = options.count(written);
    if (tokens < before) best = written;
    if (tokens <= goal && severity === 0) return best;
    if (tokens > goal && severity === 1) return best;
  }
  for (let step = 0; step < steps; step++) {
    const severity = (mild + hard) / 2;
    const written = write(limitsAt(severity, largest));
    if (options.count(written) <= goal) {
      best = written;
      hard = severity;
    } else mild = severity;
  }
  return best;
}

/**
 * At severity 0 nothing is left out: only white space is dropped, and lists may become tables. As the severity rises to 1, the
 * limits shrink from the largest sizes in the text to fixed minimums.
 */
function limitsAt(severity: number, largest: Limits): Limits {
  const between = (most: number, least: number): number =>
    Math.max(least, Math.round(most * (least / Math.max(most, least)) ** severity));
  return {
    stringChars: between(largest.stringChars, 20),
    items: between(largest.items, 2),
    keys: between(largest.keys, 4),
    depth: between(Math.min(largest.depth, maxDepth), 2),
  };
}

/** A value nested deeper than this is only described, because writing is recursive. */
const maxDepth = 200;

function largestOf(roots: readonly JsonNode[]): Limits {
  let stringChars = 0;
  let items = roots.length;
  let keys = 0;
  let depth = 0;
  const pending = roots.map((node) => ({ node, level: 0 }));
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { node, level } = next;
    depth = Math.max(depth, level);
    if (node.kind === "string") stringChars = Math.max(stringChars, node.end - node.start);
    else if (node.kind === "array") items = Math.max(items, node.children.length);
    else if (node.kind === "object") keys = Math.max(keys, node.children.length);
    for (const child of node.children) pending.push({ node: child, level: level + 1 });
  }
  return { stringChars, items, keys, depth };
}
