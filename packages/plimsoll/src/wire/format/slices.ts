/**
 * Reads a request body as slices, which tell where each top-level field, and each element of a top-level array, begins and ends.
 * Nothing is parsed or copied, so a known prefix costs one linear pass.
 *
 * The reader checks the structure (brackets, strings, depth) but not the grammar inside a slice. A caller that needs a value
 * parses its slice. A known slice was parsed when it first appeared.
 */

import { PlimsollError } from "../../message/error.ts";
import type { JsonValue } from "../../message/json.ts";
import {
  closeBrace,
  closeBracket,
  closingQuote,
  colon,
  comma,
  isJsonSpace,
  openBrace,
  openBracket,
  quote,
} from "../../text/json-bytes.ts";

/** Half-open range of bytes in the body. */
export interface Slice {
  readonly start: number;
  readonly end: number;
}

export interface BodySlices {
  /** The value of each top-level field. If a field occurs twice, the last value is used, as in JSON.parse. */
  readonly fields: ReadonlyMap<string, Slice>;
  /** The elements of each top-level field that is an array. */
  readonly elements: ReadonlyMap<string, readonly Slice[]>;
}

/** Maximum nesting depth. V8 parses far deeper, but its JSON.stringify overflows the stack at a few thousand levels. */
export const maxDepth = 200;

const inObject = 1;
const inArray = 2;
const decoder = new TextDecoder();

interface Scan {
  position: number;
  depth: number;
  /** Position where the current string began, or -1 outside strings. */
  stringStart: number;
  /**
   * Start of the current value of a top-level field, and of the current element of a top-level array. -1 means that no value or
   * element is open.
   */
  fieldStart: number;
  elementStart: number;
  /** Position after the last byte that was not white space. */
  significantEnd: number;
  key: string | undefined;
  isAfterColon: boolean;
  hasEnded: boolean;
  readonly stack: Uint8Array;
  readonly fields: Map<string, Slice>;
  readonly elements: Map<string, Slice[]>;
}

export function readSlices(bytes: Uint8Array): BodySlices {
  return finishScan(freshScan(), bytes);
}

/** The first elements of an array in an earlier body. The new body must have the same bytes up to the end of these elements. */
export interface KnownPrefix {
  readonly slices: BodySlices;
  readonly field: string;
  /** Number of known elements, at least one. */
  readonly count: number;
}

/** Reads a body that begins like an earlier one. Scans only the bytes after the known elements. */
export function resumeSlices(bytes: Uint8Array, known: KnownPrefix): BodySlices {
  const array = known.slices.fields.get(known.field);
  const elements = (known.slices.elements.get(known.field) ?? []).slice(0, known.count);
  const last = elements.pop();
  if (array === undefined || last === undefined) return readSlices(bytes);
  const scan = freshScan();
  for (const [name, slice] of known.slices.fields) {
    if (slice.end > array.start) continue;
    scan.fields.set(name, slice);
    const inner = known.slices.elements.get(name);
    if (inner !== undefined) scan.elements.set(name, [...inner]);
  }
  // Sets the state that a scan has directly after the last known element.
  scan.stack.set([0, inObject, inArray]);
  scan.depth = 2;
  scan.key = known.field;
  scan.isAfterColon = true;
  scan.fieldStart = array.start;
  scan.elements.set(known.field, elements);
  scan.elementStart = last.start;
  scan.significantEnd = last.end;
  scan.position = last.end;
  return finishScan(scan, bytes);
}

function freshScan(): Scan {
  return {
    position: 0,
    depth: 0,
    stringStart: -1,
    fieldStart: -1,
    elementStart: -1,
    significantEnd: 0,
    key: undefined,
    isAfterColon: false,
    hasEnded: false,
    stack: new Uint8Array(maxDepth + 1),
    fields: new Map(),
    elements: new Map(),
  };
}

function finishScan(scan: Scan, bytes: Uint8Array): BodySlices {
  scanBytes(scan, bytes);
  if (!scan.hasEnded) throw malformed("the JSON object is not complete");
  return { fields: scan.fields, elements: scan.elements };
}

function scanBytes(scan: Scan, bytes: Uint8Array): void {
  while (scan.position < bytes.length) {
    if (scan.stringStart >= 0) {
      skipString(scan, bytes);
      continue;
    }
    const byte = bytes[scan.position] as number;
    if (!isJsonSpace(byte)) readStructure(scan, byte);
    scan.position++;
  }
}

function readStructure(scan: Scan, byte: number): void {
  if (scan.depth === 0) checkRoot(scan, byte);
  switch (byte) {
    case comma:
      endItem(scan);
      return;
    case closeBrace:
      close(scan, inObject);
      return;
    case closeBracket:
      close(scan, inArray);
      return;
    case colon:
      if (scan.depth === 1) scan.isAfterColon = true;
      return;
    default:
      beginItem(scan);
  }
  switch (byte) {
    case quote:
      scan.stringStart = scan.position;
      return;
    case openBrace:
      open(scan, inObject);
      return;
    case openBracket:
      open(scan, inArray);
      return;
    default:
      scan.significantEnd = scan.position + 1;
  }
}

function checkRoot(scan: Scan, byte: number): void {
  if (scan.hasEnded) throw malformed("there is text after the JSON object");
  if (byte !== openBrace) throw malformed("it must be one JSON object");
}

function isTopLevelArray(scan: Scan): boolean {
  return scan.depth === 2 && scan.stack[2] === inArray;
}

function beginItem(scan: Scan): void {
  if (scan.depth === 1 && scan.isAfterColon && scan.fieldStart < 0) {
    scan.fieldStart = scan.position;
    // The field occurs twice, so its earlier value is ignored.
    scan.elements.delete(scan.key ?? "");
  } else if (scan.elementStart < 0 && isTopLevelArray(scan)) {
    scan.elementStart = scan.position;
  }
}

function endItem(scan: Scan): void {
  if (scan.depth === 1) endField(scan);
  else if (isTopLevelArray(scan)) endElement(scan);
}

function endField(scan: Scan): void {
  if (scan.key === undefined || scan.fieldStart < 0) {
    throw malformed(`a field is incomplete at byte ${scan.position}`);
  }
  scan.fields.set(scan.key, { start: scan.fieldStart, end: scan.significantEnd });
  scan.key = undefined;
  scan.fieldStart = -1;
  scan.isAfterColon = false;
}

function endElement(scan: Scan): void {
  if (scan.elementStart < 0) throw malformed(`an element is missing at byte ${scan.position}`);
  const elements = scan.elements.get(scan.key ?? "");
  elements?.push({ start: scan.elementStart, end: scan.significantEnd });
  scan.elementStart = -1;
}

function open(scan: Scan, kind: number): void {
  if (scan.depth === maxDepth) {
    throw new PlimsollError(
      "BODY_TOO_DEEP",
      `The body nests deeper than ${maxDepth} levels. Flatten it.`,
      { status: 400 },
    );
  }
  scan.depth++;
  scan.stack[scan.depth] = kind;
  if (scan.key !== undefined && isTopLevelArray(scan)) scan.elements.set(scan.key, []);
}

function close(scan: Scan, kind: number): void {
  if (scan.stack[scan.depth] !== kind) {
    throw malformed(`a bracket does not match at byte ${scan.position}`);
  }
  if (scan.depth === 1) {
    if (scan.key !== undefined) endField(scan);
    scan.hasEnded = true;
  } else if (scan.elementStart >= 0 && isTopLevelArray(scan)) {
    endElement(scan);
  }
  scan.depth--;
  scan.significantEnd = scan.position + 1;
}

function skipString(scan: Scan, bytes: Uint8Array): void {
  const end = closingQuote(bytes, scan.stringStart + 1);
  if (end < 0) throw malformed("a string does not end");
  if (scan.depth === 1 && !scan.isAfterColon) scan.key = parseKey(bytes, scan.stringStart, end + 1);
  scan.stringStart = -1;
  scan.significantEnd = end + 1;
  scan.position = end + 1;
}

function parseKey(bytes: Uint8Array, start: number, end: number): string {
  return parseJson(bytes, { start, end }) as string;
}

/** The value of a slice. Contract: throws BODY_INVALID if the slice is not JSON. */
export function parseJson(bytes: Uint8Array, slice: Slice): JsonValue {
  try {
    return JSON.parse(decoder.decode(bytes.subarray(slice.start, slice.end))) as JsonValue;
  } catch (cause) {
    throw malformed(`bytes ${slice.start} to ${slice.end} are not valid JSON`, cause);
  }
}

function malformed(what: string, cause?: unknown): PlimsollError {
  return new PlimsollError("BODY_INVALID", `The body is not valid JSON: ${what}.`, {
    status: 400,
    cause,
  });
}
