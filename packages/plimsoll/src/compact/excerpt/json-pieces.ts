/** Cuts JSON into its members and elements. The text stays valid JSON if some of these pieces are left out. */

import { cutTexts } from "../../text/for-models.ts";
import { type JsonNode, readJson } from "../../text/json-tree.ts";
import { estimateTokens, segmentsOf } from "./long-lines.ts";

export interface JsonPieces {
  readonly text: string;
  readonly root: PiecesNode;
  readonly pieces: readonly Piece[];
}

/** Offsets into the text. `from` is the beginning of the key, if there is one. */
interface Span {
  readonly from: number;
  readonly at: number;
  readonly end: number;
}

type PiecesNode =
  | (Span & { readonly kind: "leaf"; readonly pieces: readonly number[] })
  | (Span & { readonly kind: "object" | "array"; readonly children: readonly PiecesNode[] });

/** JSON nested deeper than this is cut by lines, because reading is recursive and must not overflow the stack. */
const deepest = 100;
/** A string of more characters than this is cut into segments. */
const longestString = 300;

/** Returns undefined if the text is not exactly one JSON object or array. */
export function readJsonPieces(text: string, density: number): JsonPieces | undefined {
  const tree = /^\s*[[{]/.test(text) ? readJson(text) : undefined;
  const pieces: Piece[] = [];
  const root = tree === undefined ? undefined : piecesNode(tree, [], { text, density, pieces });
  // An empty object or array has nothing to leave out.
  return root === undefined || root.kind === "leaf" ? undefined : { text, root, pieces };
}

interface Cutting {
  readonly text: string;
  readonly density: number;
  /** The pieces that were cut so far. */
  readonly pieces: Piece[];
}

/** Returns undefined if a value is nested too deep. */
function piecesNode(
  { kind, from, start: at, end, children }: JsonNode,
  frames: readonly Frame[],
  cutting: Cutting,
): PiecesNode | undefined {
  const span = { from, at, end };
  const isContainer = kind === "object" || kind === "array";
  if (isContainer && frames.length >= deepest) return undefined;
  if (!isContainer || children.length === 0)
    return { kind: "leaf", ...span, pieces: cutLeaf(span, frames, cutting) };
  const key = cutting.text.slice(from, at);
  const around = [...frames, { text: key, tokens: estimateTokens(key, cutting.density) + 2 }];
  const inner: PiecesNode[] = [];
  for (const child of children) {
    const node = piecesNode(child, around, cutting);
    if (node === undefined) return undefined;
    inner.push(node);
  }
  return { kind, ...span, children: inner };
}

const commaTokens = 1;

function cutLeaf(
  { from, at, end }: Span,
  frames: readonly Frame[],
  { text, density, pieces }: Cutting,
): readonly number[] {
  const content = text.slice(at, end);
  const isLong = content.length > longestString && content.startsWith('"');
  const texts = isLong ? segmentsOf(content.slice(1, -1)) : [text.slice(from, end)];
  return texts.map((piece) => {
    const tokens = estimateTokens(piece, density) + commaTokens;
    return pieces.push({ text: piece, tokens, line: 0, needsNeighbour: false, frames }) - 1;
  });
}

export function renderJsonPieces(
  { text, root }: JsonPieces,
  { isKept, reference }: PiecesRendering,
): string {
  const inner = renderNode(text, root, isKept);
  const rest = root.kind === "object" ? `"…": "${reference}"` : `"… ${reference}"`;
  if (inner === undefined) return root.kind === "object" ? `{${rest}}` : `[${rest}]`;
  const end = inner.trimEnd().length - 1;
  return `${inner.slice(0, end)}, ${rest}${inner.slice(end)}`;
}

function renderNode(
  text: string,
  node: PiecesNode,
  isKept: (piece: number) => boolean,
): string | undefined {
  const before = text.slice(node.from, node.at);
  if (node.kind === "leaf") {
    const [only] = node.pieces;
    if (node.pieces.length > 1) return renderString(text, node, isKept);
    return only !== undefined && isKept(only) ? text.slice(node.from, node.end) : undefined;
  }
  const kept = node.children.flatMap((child) => renderNode(text, child, isKept) ?? []);
  const [first, second] = node.children;
  if (kept.length === 0 || first === undefined) return undefined;
  const gone = node.children.length - kept.length;
  if (gone > 0 && node.kind === "array") kept.push(cutTexts.excerptElements(gone));
  const comma = second === undefined ? ", " : text.slice(first.end, second.from);
  const opening = text.slice(node.at, first.from);
  const closing = text.slice(node.children.at(-1)?.end, node.end);
  return `${before}${opening}${kept.join(comma)}${closing}`;
}

/** The kept segments of a long string. No segment ends inside an escape, so every escape stays whole. */
function renderString(
  text: string,
  { from, at, pieces, ...span }: Extract<PiecesNode, { kind: "leaf" }>,
  isKept: (piece: number) => boolean,
): string | undefined {
  if (!pieces.some(isKept)) return undefined;
  const segments = segmentsOf(text.slice(at + 1, span.end - 1));
  let out = "";
  let isGap = false;
  for (const [index, piece] of pieces.entries()) {
    if (isKept(piece)) out += `${isGap ? "…" : ""}${segments[index] ?? ""}`;
    isGap = !isKept(piece);
  }
  return `${text.slice(from, at)}"${out}${isGap ? "…" : ""}"`;
}

/** The key and brackets of a container, which must be kept with the pieces inside it. */
export interface Frame {
  readonly text: string;
  readonly tokens: number;
}

export interface Piece {
  readonly text: string;
  /** Estimated number of tokens of the piece. */
  readonly tokens: number;
  readonly line: number;
  /** True for a line, because a line says little without one of its neighbours. */
  readonly needsNeighbour: boolean;
  /** The JSON objects and arrays around the piece, outermost first. Empty if the text is not JSON. */
  readonly frames: readonly Frame[];
}

export interface PiecesRendering {
  readonly isKept: (piece: number) => boolean;
  /** The number of the message, such as `#12`. The first mark shows it, so that the model can read the whole text. */
  readonly reference: string;
}
