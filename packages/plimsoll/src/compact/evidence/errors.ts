/** Finds the lines in a text that say what went wrong. */

import { isErrorLine } from "../../text/trouble.ts";
import { clean, shortened } from "./safe-text.ts";

const fragment = /"(?:error|message)":\s?"([^"\\]{3,200})"/;
/** A word that says that there is an error, but not which error. */
const bareWord = /^\[?(?:error|fatal|failed|fail|exception|critical)\]?[:\s]*/i;
const maxErrors = 12;
const maxErrorChars = 300;

/** The distinct errors in a text, in order. */
export function errorsIn(lines: readonly string[], isError: boolean): readonly string[] {
  const found = new Map<string, string>();
  for (const line of lines) {
    const error = errorIn(line.trim());
    if (error === undefined) continue;
    const key = errorKey(error);
    if (!found.has(key)) found.set(key, error);
    if (found.size >= maxErrors) break;
  }
  if (found.size === 0 && isError) {
    const first = clean(lines.find((line) => line.trim() !== "") ?? "");
    if (first !== "") return [shortened(first, maxErrorChars)];
  }
  return [...found.values()];
}

function errorIn(line: string): string | undefined {
  const start = line.slice(0, 600);
  if (isErrorLine(line) && /\p{L}{2}.*\p{L}{2}/u.test(start.replace(bareWord, "")))
    return shortened(clean(start.replace(/^E\s+/, "")), maxErrorChars);
  return start.includes('"error"') ? fragment.exec(start)?.[0] : undefined;
}

/** Addresses, times, durations and plain numbers differ each time the same error occurs. Codes, names and line numbers do not. */
const fleeting =
  /0x[0-9a-f]+|\d{4}-\d\d-\d\d[T ]?|\d\d:\d\d:\d\d(?:[.,]\d+)?|\d+(?:\.\d+)?\s?m?s\b|(?<=\s)\d+(?![\w:/])/gi;

/** Two messages that differ only in addresses, times or plain numbers have the same key, because they report the same error. */
export function errorKey(error: string): string {
  return error.replace(fleeting, "0").toLowerCase();
}
