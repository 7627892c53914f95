/** Reads and writes lines of JSON. Only one line is in memory at a time, regardless of the file size. */

import { once } from "node:events";
import type { Writable } from "node:stream";
import { PlimsollError } from "../../message/error.ts";
import { type JsonObject, type JsonValue, parseObject } from "../../message/json.ts";

/** Text in chunks of any size, as a stream delivers it. */
export type Input = AsyncIterable<string | Uint8Array>;

/** Maximum number of characters of a line. Each line is read into memory whole, and no recorded conversation has a longer line. */
const lineCharsMax = 256 * 1024 * 1024;

export interface Line {
  readonly item: JsonObject;
  readonly number: number;
}

/**
 * The JSON objects of the input, one per line. Skips blank lines. Contract: throws USAGE with the line number if a line is not a
 * JSON object.
 */
export async function* jsonLines(input: Input): AsyncGenerator<Line> {
  let number = 0;
  for await (const line of linesOf(input)) {
    number += 1;
    if (line.trim() === "") continue;
    const item = parseObject(line);
    if (item === undefined) throw badLine(number, "it is not a JSON object");
    yield { item, number };
  }
}

export async function writeLine(
  output: Writable,
  value: Readonly<Record<string, JsonValue | undefined>>,
): Promise<void> {
  const hasRoom = output.write(`${JSON.stringify(value)}\n`);
  if (!hasRoom) await once(output, "drain");
}

export function badLine(number: number, reason: string): PlimsollError {
  return new PlimsollError("USAGE", `Line ${number} cannot be used: ${reason}.`);
}

/** Splits only at line feeds, because other separators may occur inside JSON strings. */
async function* linesOf(input: Input): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let parts: string[] = [];
  let bufferedChars = 0;
  let number = 1;
  for await (const chunk of input) {
    const text = typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true });
    const lines = text.split("\n");
    for (const [i, line] of lines.entries()) {
      parts.push(line);
      bufferedChars += line.length;
      if (bufferedChars > lineCharsMax) throw badLine(number, "it is too long");
      if (i === lines.length - 1) break;
      yield parts.join("");
      parts = [];
      bufferedChars = 0;
      number += 1;
    }
  }
  parts.push(decoder.decode());
  yield parts.join("");
}
