/** Reads a JSON file that a user named. */

import { readFileSync, statSync } from "node:fs";
import { errorMessage, PlimsollError } from "../../message/error.ts";

export const maxFileBytes = 256 * 1024 * 1024;

export function readJsonFile(file: string): unknown {
  if (statSync(file).size > maxFileBytes) throw tooLarge(file);
  return parseJson(file, () => readFileSync(file, "utf8"));
}

export function tooLarge(name: string): PlimsollError {
  return new PlimsollError(
    "USAGE",
    `${name} is larger than ${maxFileBytes} bytes. Give a smaller file.`,
  );
}

export function parseJson(name: string, read: () => string): unknown {
  try {
    return JSON.parse(read().replace(/^\uFEFF/, ""));
  } catch (cause) {
    throw new PlimsollError(
      "USAGE",
      `${name} cannot be read as JSON (${errorMessage(cause)}). Give a request body or a list of messages.`,
    );
  }
}
