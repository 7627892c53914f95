/**
 * Reads JSON text into a tree of positions in that text. Values are never parsed, so they are kept as written, with large
 * numbers, duplicate keys and lone surrogates. Reading is not recursive, so nesting may have any depth.
 */

export type JsonKind = "object" | "array" | "string" | "scalar";

export interface JsonNode {
  readonly kind: JsonKind;
  /** Position where the key begins, or where the value begins if there is no key. */
  readonly from: number;
  readonly start: number;
  end: number;
  /** The key as written, with its quotes. */
  readonly key?: string;
  readonly children: JsonNode[];
}

interface Cursor {
  readonly text: string;
  at: number;
}

const noChildren: JsonNode[] = [];

/** Reads a text that consists of one JSON value, with or without white space around it. Returns undefined for any other text. */
export function readJson(text: string): JsonNode | undefined {
  const cursor = { text, at: 0 };
  const root = readValue(cursor);
  skipSpace(cursor);
  return root !== undefined && cursor.at === text.length ? root : undefined;
}

/** Reads a text with one JSON value per line. Returns undefined for any other text, and if there are fewer than two values. */
export function readJsonLines(text: string): readonly JsonNode[] | undefined {
  const cursor = { text, at: 0 };
  const roots: JsonNode[] = [];
  skipSpace(cursor);
  while (cursor.at < text.length) {
    const root = readValue(cursor);
    if (root === undefined) return undefined;
    roots.push(root);
    const end = cursor.at;
    skipSpace(cursor);
    const isLineEnd = cursor.at === text.length || text.slice(end, cursor.at).includes("\n");
    if (!isLineEnd) return undefined;
  }
  return roots.length > 1 ? roots : undefined;
}

function readValue(cursor: Cursor): JsonNode | undefined {
  const open: JsonNode[] = [];
  let root: JsonNode | undefined;
  do {
    const node = readOne(cursor, open.at(-1));
    if (node === undefined) return undefined;
    root ??= node;
    open.at(-1)?.children.push(node);
    if (node.end < 0) open.push(node);
    if (!closeEnded(cursor, open, node)) return undefined;
  } while (open.length > 0);
  return root;
}

/** The next value, with its key if it is inside an object. A container with content stays open until its end has been read. */
function readOne(cursor: Cursor, parent: JsonNode | undefined): JsonNode | undefined {
  skipSpace(cursor);
  if (parent?.kind !== "object") return readBare(cursor);
  const from = cursor.at;
  const key = readKey(cursor);
  const value = key === undefined ? undefined : readBare(cursor);
  return key === undefined || value === undefined ? undefined : { ...value, from, key };
}

/** Reads a key, and skips the colon and white space after it. */
function readKey(cursor: Cursor): string | undefined {
  const start = cursor.at;
  if (cursor.text[start] !== '"' || !skipString(cursor)) return undefined;
  const key = cursor.text.slice(start, cursor.at);
  skipSpace(cursor);
  if (cursor.text[cursor.at] !== ":") return undefined;
  cursor.at++;
  skipSpace(cursor);
  return key;
}

function readBare(cursor: Cursor): JsonNode | undefined {
  const start = cursor.at;
  const first = cursor.text[start];
  if (first === "{") return openContainer(cursor, "object", "}");
  if (first === "[") return openContainer(cursor, "array", "]");
  const isString = first === '"';
  if (!(isString ? skipString(cursor) : skipScalar(cursor))) return undefined;
  const kind = isString ? "string" : "scalar";
  return { kind, from: start, start, end: cursor.at, children: noChildren };
}

function openContainer(cursor: Cursor, kind: "object" | "array", close: string): JsonNode {
  const start = cursor.at;
  cursor.at++;
  skipSpace(cursor);
  const isEmpty = cursor.text[cursor.at] === close;
  if (isEmpty) cursor.at++;
  return { kind, from: start, start, end: isEmpty ? cursor.at : -1, children: [] };
}

/** After a value: reads a comma, or closes the containers that end here. */
function closeEnded(cursor: Cursor, open: JsonNode[], node: JsonNode): boolean {
  if (node.end < 0) return true;
  for (;;) {
    const container = open.at(-1);
    if (container === undefined) return true;
    skipSpace(cursor);
    const sign = cursor.text[cursor.at];
    cursor.at++;
    if (sign === ",") return true;
    if (sign !== (container.kind === "object" ? "}" : "]")) return false;
    container.end = cursor.at;
    open.pop();
  }
}

function skipSpace(cursor: Cursor): void {
  const { text } = cursor;
  for (;;) {
    const code = text.charCodeAt(cursor.at);
    if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return;
    cursor.at++;
  }
}

const badEscape = /\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/** The position after the quote that closes the string that begins here. -1 if the string is not closed or not valid. */
export function stringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 34) return at + 1;
    if (code < 32) return -1;
    if (code === 92) {
      badEscape.lastIndex = at;
      if (badEscape.test(text)) return -1;
      at++;
    }
  }
  return -1;
}

function skipString(cursor: Cursor): boolean {
  const end = stringEnd(cursor.text, cursor.at);
  if (end >= 0) cursor.at = end;
  return end >= 0;
}

const scalar = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])/y;

function skipScalar(cursor: Cursor): boolean {
  scalar.lastIndex = cursor.at;
  if (!scalar.test(cursor.text)) return false;
  cursor.at = scalar.lastIndex;
  return true;
}
