/**
 * Cuts JSON into records, members and elements. The text stays valid JSON if some of these pieces are left out, and an object or
 * array that lost something says so itself.
 */

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
/** An object or array of at most this many tokens is a record: it stays whole or goes. */
const recordTokens = 100;

/** Returns undefined if the text is not exactly one JSON object or array. */
export function readJsonPieces(text: string, density: number): JsonPieces | undefined {
  const tree = /^\s*[[{]/.test(text) ? readJson(text) : undefined;
  const pieces: Piece[] = [];
  const root =
    tree === undefined
      ? undefined
      : piecesNode(tree, { frames: [], company: [] }, { text, density, pieces });
  // An empty object or array has nothing to leave out.
  return root === undefined || root.kind === "leaf" ? undefined : { text, root, pieces };
}

interface Cutting {
  readonly text: string;
  readonly density: number;
  /** The pieces that were cut so far. */
  readonly pieces: MutablePiece[];
}

/** While an object is read, the members that identify it are not all known yet. So its pieces share a list that still grows. */
type MutablePiece = Piece & { readonly company: readonly number[] };

/** What is around a piece: the containers, outermost first, and the pieces that identify them. */
interface Surroundings {
  readonly frames: readonly Frame[];
  readonly company: readonly (readonly number[])[];
}

/** Returns undefined if a value is nested too deep. */
function piecesNode(
  node: JsonNode,
  around: Surroundings,
  cutting: Cutting,
): PiecesNode | undefined {
  const { kind, from, start: at, end, children } = node;
  const span = { from, at, end };
  const isContainer = kind === "object" || kind === "array";
  if (isContainer && around.frames.length >= deepest) return undefined;
  const isRecord = around.frames.length > 0 && isSmall(span, cutting);
  if (!isContainer || children.length === 0 || isRecord)
    return { kind: "leaf", ...span, pieces: cutLeaf(span, around, cutting) };
  const inner = childNodes(node, around, cutting);
  return inner && { kind, ...span, children: inner };
}

function childNodes(
  { from, start, children }: JsonNode,
  around: Surroundings,
  cutting: Cutting,
): readonly PiecesNode[] | undefined {
  const key = cutting.text.slice(from, start);
  const frame = { text: key, tokens: estimateTokens(key, cutting.density) + frameTokens };
  const company: number[] = [];
  const inside = {
    frames: [...around.frames, frame],
    company: [...around.company, company],
  };
  const nodes: PiecesNode[] = [];
  let [ids, outcomes] = [0, 0];
  for (const child of children) {
    const made = piecesNode(child, inside, cutting);
    if (made === undefined) return undefined;
    nodes.push(made);
    if (made.kind !== "leaf") continue;
    if (identifies(child) && ids < mostIdentifying) ids++;
    else if (isOutcome(child) && outcomes < mostOutcomes) outcomes++;
    else continue;
    company.push(...made.pieces.slice(0, 1));
  }
  return nodes;
}

function isSmall({ from, end }: Span, { text, density }: Cutting): boolean {
  const longest = recordTokens * 8;
  return end - from <= longest && estimateTokens(text.slice(from, end), density) <= recordTokens;
}

/** Members that say which thing an object describes. They stay with any other member of the object. */
const identifying =
  /^"(?:id|_id|uid|uuid|key|name|title|number|code|sku|slug|login|email|path|file|url)"$|(?:_id|Id|_name|_number)"$/;
const mostIdentifying = 2;
/** Members that say what came of something. They stay too. */
const telling = /^"(?:status|state|error|success|ok|result|outcome|reason|message)"$/;
const mostOutcomes = 2;
const longestIdentifying = 80;

function identifies(node: JsonNode): boolean {
  return isShort(node) && identifying.test(node.key ?? "");
}

function isOutcome(node: JsonNode): boolean {
  return isShort(node) && telling.test(node.key ?? "");
}

function isShort({ kind, start, end }: JsonNode): boolean {
  const isScalar = kind === "string" || kind === "scalar";
  return isScalar && end - start <= longestIdentifying;
}

/** Brackets, and the mark for members that are left out. */
const frameTokens = 8;
const commaTokens = 1;

function cutLeaf(
  { from, at, end }: Span,
  { frames, company }: Surroundings,
  { text, density, pieces }: Cutting,
): readonly number[] {
  const content = text.slice(at, end);
  const isLong = content.length > longestString && content.startsWith('"');
  const texts = isLong ? segmentsOf(content.slice(1, -1)) : [text.slice(from, end)];
  return texts.map((piece) => {
    const tokens = estimateTokens(piece, density) + commaTokens;
    const made: MutablePiece = {
      text: piece,
      tokens,
      line: 0,
      lastLine: 0,
      needsNeighbour: false,
      frames,
      get company() {
        return company.flat();
      },
    };
    return pieces.push(made) - 1;
  });
}

export function renderJsonPieces(
  { text, root }: JsonPieces,
  { isKept, reference }: PiecesRendering,
): string {
  const isCut = root.kind !== "leaf" && !root.children.every((child) => hasKept(child, isKept));
  let unsaid = reference;
  const where = (node?: PiecesNode): string => {
    if (isCut && node !== root) return "";
    const now = unsaid;
    unsaid = "";
    return now;
  };
  const rendered = renderNode(root, { text, isKept, where });
  if (rendered !== undefined) return rendered;
  const all = root.kind === "leaf" ? 1 : root.children.length;
  const mark = gapMark(root.kind, all, reference);
  return root.kind === "object" ? `{${mark}}` : `[${mark}]`;
}

interface NodeRendering {
  readonly text: string;
  readonly isKept: (piece: number) => boolean;
  /** The number of the message, for one mark: that of the whole text, or the first one if the whole text has none. */
  readonly where: (node?: PiecesNode) => string;
}

function hasKept(node: PiecesNode, isKept: (piece: number) => boolean): boolean {
  return node.kind === "leaf"
    ? node.pieces.some(isKept)
    : node.children.some((child) => hasKept(child, isKept));
}

function gapMark(kind: PiecesNode["kind"], gone: number, where: string): string {
  const place = where === "" ? "" : ` in ${where}`;
  return kind === "object" ? cutTexts.moreMembers(gone, place) : cutTexts.moreElements(gone, place);
}

function renderNode(node: PiecesNode, rendering: NodeRendering): string | undefined {
  const { text, isKept, where } = rendering;
  const before = text.slice(node.from, node.at);
  if (node.kind === "leaf") {
    const [only] = node.pieces;
    if (node.pieces.length > 1) return renderString(node, rendering);
    return only !== undefined && isKept(only) ? text.slice(node.from, node.end) : undefined;
  }
  const kept = node.children.flatMap((child) => renderNode(child, rendering) ?? []);
  const [first, second] = node.children;
  if (kept.length === 0 || first === undefined) return undefined;
  const gone = node.children.length - kept.length;
  if (gone > 0) kept.push(gapMark(node.kind, gone, where(node)));
  const comma = second === undefined ? ", " : text.slice(first.end, second.from);
  const opening = text.slice(node.at, first.from);
  const closing = text.slice(node.children.at(-1)?.end, node.end);
  return `${before}${opening}${kept.join(comma)}${closing}`;
}

/** The kept segments of a long string. No segment ends inside an escape, so every escape stays whole. */
function renderString(
  { from, at, pieces, ...span }: Extract<PiecesNode, { kind: "leaf" }>,
  { text, isKept, where }: NodeRendering,
): string | undefined {
  if (!pieces.some(isKept)) return undefined;
  const segments = segmentsOf(text.slice(at + 1, span.end - 1));
  let out = "";
  let isGap = false;
  for (const [index, piece] of pieces.entries()) {
    if (isKept(piece))
      out += `${isGap ? `${cutTexts.inLine(where())} ` : ""}${segments[index] ?? ""}`;
    isGap = !isKept(piece);
  }
  return `${text.slice(from, at)}"${out}${isGap ? ` ${cutTexts.inLine(where())}` : ""}"`;
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
  /** Its first and last line in the text. */
  readonly line: number;
  readonly lastLine: number;
  /** True for a line, because a line says little without one of its neighbours. */
  readonly needsNeighbour: boolean;
  /** The JSON objects and arrays around the piece, outermost first. Empty if the text is not JSON. */
  readonly frames: readonly Frame[];
  /** Pieces that are kept whenever this piece is kept, because they say which thing it belongs to. */
  readonly company: readonly number[];
}

export interface PiecesRendering {
  readonly isKept: (piece: number) => boolean;
  /** The number of the message, such as `#12`. The first mark shows it, so that the model can read the whole text. */
  readonly reference: string;
  /** True for an argument of a call, whose mark is a whole sentence. */
  readonly isArgument?: boolean;
}
