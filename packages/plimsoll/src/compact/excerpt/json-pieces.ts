/** Cuts JSON into its members and elements. The text without the left-out ones is still JSON. */

import { estimateTokens, segmentsOf } from "./long-lines.ts";

export interface JsonPieces {
  readonly text: string;
  readonly root: JsonNode;
  readonly pieces: readonly Piece[];
}

/** Offsets into the text. `from` is the beginning of the key, if there is one. */
interface Span {
  readonly from: number;
  readonly at: number;
  readonly end: number;
}

type JsonNode =
  | (Span & { readonly kind: "leaf"; readonly pieces: readonly number[] })
  | (Span & { readonly kind: "object" | "array"; readonly children: readonly JsonNode[] });

/** Deeper JSON is treated as lines, because reading is recursive and must not overflow the stack. */
const deepest = 100;
/** A longer string is cut into segments. */
const longestString = 300;

/** Undefined unless the text is one JSON object or array. */
export function readJsonPieces(text: string, density: number): JsonPieces | undefined {
  if (!/^\s*[[{]/.test(text) || !isJson(text)) return undefined;
  const pieces: Piece[] = [];
  const reader = new JsonReader(text);
  const root = reader.read((span, frames) => {
    const content = text.slice(span.at, span.end);
    const isLong = content.length > longestString && content.startsWith('"');
    const texts = isLong ? segmentsOf(content.slice(1, -1)) : [text.slice(span.from, span.end)];
    return texts.map((piece) => {
      const tokens = estimateTokens(piece, density) + commaTokens;
      pieces.push({ text: piece, tokens, line: 0, needsNeighbour: false, frames });
      return pieces.length - 1;
    });
  }, density);
  // An empty object or array has nothing to leave out.
  return root === undefined || root.kind === "leaf" ? undefined : { text, root, pieces };
}

const commaTokens = 1;

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

type TakeLeaf = (span: Span, frames: readonly Frame[]) => readonly number[];

/** Reads text that is known to be JSON, and only finds where values begin and end. */
class JsonReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(take: TakeLeaf, density: number): JsonNode | undefined {
    this.#skipSpace();
    return this.#value({ from: this.#at, frames: [], take, density });
  }

  #value(place: Place): JsonNode | undefined {
    const at = this.#at;
    const opening = this.#text[at];
    if (opening === "{" || opening === "[") return this.#container(place, opening);
    if (opening === '"') this.#skipString();
    else while (!/[,\]}\s]|^$/.test(this.#text[this.#at] ?? "")) this.#at++;
    return this.#leaf(place, at);
  }

  #leaf({ from, frames, take }: Place, at: number): JsonNode {
    const span = { from, at, end: this.#at };
    return { kind: "leaf", ...span, pieces: take(span, frames) };
  }

  #container(place: Place, opening: "{" | "["): JsonNode | undefined {
    const { from, frames, density } = place;
    if (frames.length >= deepest) return undefined;
    const at = this.#at;
    const key = this.#text.slice(from, at);
    const frame = { text: key, tokens: estimateTokens(key, density) + 2 };
    const children: JsonNode[] = [];
    this.#at++;
    this.#skipSpace();
    while (this.#text[this.#at] !== (opening === "{" ? "}" : "]")) {
      const start = this.#at;
      if (opening === "{") this.#skipKey();
      const child = this.#value({ ...place, from: start, frames: [...frames, frame] });
      if (child === undefined) return undefined;
      children.push(child);
      this.#skipSpace();
      if (this.#text[this.#at] === ",") this.#at++;
      this.#skipSpace();
    }
    this.#at++;
    if (children.length === 0) return this.#leaf(place, at);
    const kind = opening === "{" ? "object" : "array";
    return { kind, from, at, end: this.#at, children };
  }

  #skipKey(): void {
    this.#skipString();
    this.#skipSpace();
    this.#at++;
    this.#skipSpace();
  }

  #skipString(): void {
    this.#at++;
    while (this.#text[this.#at] !== '"') this.#at += this.#text[this.#at] === "\\" ? 2 : 1;
    this.#at++;
  }

  #skipSpace(): void {
    while (/\s/.test(this.#text[this.#at] ?? "")) this.#at++;
  }
}

interface Place {
  readonly from: number;
  readonly frames: readonly Frame[];
  readonly take: TakeLeaf;
  readonly density: number;
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
  node: JsonNode,
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
  if (gone > 0 && node.kind === "array") kept.push(`"… ${gone} more"`);
  const comma = second === undefined ? ", " : text.slice(first.end, second.from);
  const opening = text.slice(node.at, first.from);
  const closing = text.slice(node.children.at(-1)?.end, node.end);
  return `${before}${opening}${kept.join(comma)}${closing}`;
}

/** The kept segments of a long string. No segment ends inside an escape, so every escape stays whole. */
function renderString(
  text: string,
  { from, at, pieces, ...span }: Extract<JsonNode, { kind: "leaf" }>,
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
  /** Estimated tokens. */
  readonly tokens: number;
  readonly line: number;
  /** True for a line, because it says little without one of its neighbours. */
  readonly needsNeighbour: boolean;
  /** The containers around the piece, from the outside in. Empty unless the text is JSON. */
  readonly frames: readonly Frame[];
}

export interface PiecesRendering {
  readonly isKept: (piece: number) => boolean;
  /** Added to the first mark: says where the rest can be found. */
  readonly reference: string;
}
