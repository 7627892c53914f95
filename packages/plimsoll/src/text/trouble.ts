/** Recognises lines that say that something went wrong, or may have. */

const alarm =
  /\b(?:errors?|exceptions?|fatal|panic(?:ked)?|fail(?:ed|ure|ures|s|ing)?|traceback|denied|refused|cannot|can't|unable|abort(?:ed)?|crash(?:ed)?|segmentation fault|not found|no such|invalid|unexpected|timed? ?out|critical)\b|\w(?:Error|Exception)\b/i;
const warning = /\b(?:warn(?:ing)?s?|deprecated|caution|retry(?:ing)?|skipped)\b/i;
const nothingWrong = /\b(?:0|no|zero) (?:errors?|failures?|failed|warnings?|problems?|issues?)\b/i;
const lookedAt = 600;

/**
 * 3: the line says that something went wrong. 2: it warns. 1: it says that nothing went wrong, as in "0 errors". 0: anything
 * else.
 */
export function alarmOf(line: string): number {
  const begin = line.length > lookedAt ? line.slice(0, lookedAt) : line;
  if (alarm.test(begin)) return nothingWrong.test(begin) ? 1 : 3;
  return warning.test(begin) ? 2 : 0;
}

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

/** The line of a check that passed, whatever the check is called. */
const passing = /(?:\.{2,}|\s)(?:passed|ok|success|skipped)\s*$/i;

/** True if the line is itself an error message, and does not merely mention an error. */
export function isErrorLine(line: string): boolean {
  const start = line.slice(0, lookedAt).trimStart();
  if (passing.test(start)) return false;
  return (
    errorLines.some((pattern) => pattern.test(start)) ||
    (line.length <= troubleChars && trouble.test(line))
  );
}
