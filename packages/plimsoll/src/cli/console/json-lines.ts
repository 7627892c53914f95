/** Lines of JSON in and out: one line is held at a time, whatever the size of the file. */

import { once } from "node:events";
import type { Writable } from "node:stream";
import { PlimsollError } from "../../message/error.ts";
import { type JsonObject, type JsonValue, parseObject } from "../../message/json.ts";

/** Text in chunks of any size, as a stream gives it. */
export type Input = AsyncIterable<string | Uint8Array>;

/** A line is held in memory: a longer one is no conversation. */
const lineCharsMax = 256 * 1024 * 1024;

export interface Line {
  readonly item: JsonObject;
  readonly number: number;
}

/** Blank lines are passed over. Contract: a line that is no JSON object throws USAGE with its number. */
export async function* jsonLines(input: Input): AsyncGenerator<Line> {
  let number = 0;
  for await (const line of linesOf(input)) {
    number += 1;
    if (line.trim() === "") continue;
    const item = parseObject(line);
    if (item === undefined) throw badLine(number, "it is no JSON object");
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

/** Splits at line feeds only: other separators may stand inside JSON strings as they are. */
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
