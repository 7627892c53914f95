/** Finds the lines in a text that say what went wrong. */

import { clean, shortened } from "./safe-text.ts";

const errorLines: readonly RegExp[] = [
  // ValueError: …, the last line of a traceback
  /^(?:E\s{1,8})?[\w.$]{0,100}(?:Error|Exception|Failure)(?:\s?\[[\w-]{1,40}\])?(?::|$)/,
  // error: …, fatal: …, error[E0382]: …, error TS2304: …
  /^(?:\S{1,60}\s)?(?:error|fatal|panic|fatal error)(?:\[\w{1,12}\]|\sTS\d{1,6})?:/i,
  /^(?:[[\d:.,TZ\-\]]{1,40}\s){0,3}\[?(?:ERROR|FATAL|CRITICAL)\]?[\s:]/,
  /^(?:FAILED|FAIL|not ok|✗|✘|--- FAIL:|npm ERR!)\s+\S/,
  // a.c:3:5: error: …, a.ts(3,5): error …
  /^\S{1,200}(?::\d{1,7}(?::\d{1,7})?:|\(\d{1,7},\d{1,7}\):)\s(?:fatal\s)?error\b/,
];
const trouble =
  /\b(?:command not found|no such file or directory|permission denied|is not recognized as|cannot find module|segmentation fault|connection refused|timed out|out of memory)\b/i;
const troubleChars = 240;
const fragment = /"(?:error|message)":\s?"([^"\\]{3,200})"/;
/** Says that there is an error, but not which. */
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
  const isOne =
    errorLines.some((pattern) => pattern.test(start)) ||
    (line.length <= troubleChars && trouble.test(line));
  if (isOne && /\p{L}{2}.*\p{L}{2}/u.test(start.replace(bareWord, "")))
    return shortened(clean(start.replace(/^E\s+/, "")), maxErrorChars);
  return start.includes('"error"') ? fragment.exec(start)?.[0] : undefined;
}

/** Addresses, times, durations and plain numbers differ each time the same error occurs. Codes, names and line numbers do not. */
const fleeting =
  /0x[0-9a-f]+|\d{4}-\d\d-\d\d[T ]?|\d\d:\d\d:\d\d(?:[.,]\d+)?|\d+(?:\.\d+)?\s?m?s\b|(?<=\s)\d+(?![\w:/])/gi;

/** The same message with other numbers is the same error. */
export function errorKey(error: string): string {
  return error.replace(fleeting, "0").toLowerCase();
}
