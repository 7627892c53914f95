/** Detects lines that stand out in any kind of text, because they report an error or a warning. */

const alarm =
  /\b(?:errors?|exceptions?|fatal|panic(?:ked)?|fail(?:ed|ure|ures|s|ing)?|traceback|denied|refused|cannot|can't|unable|abort(?:ed)?|crash(?:ed)?|segmentation fault|not found|no such|invalid|unexpected|timed? ?out|critical)\b|\w(?:Error|Exception)\b/i;
const warning = /\b(?:warn(?:ing)?s?|deprecated|caution|retry(?:ing)?|skipped)\b/i;
const nothingWrong = /\b(?:0|no|zero) (?:errors?|failures?|failed|warnings?|problems?|issues?)\b/i;
const lookedAt = 600;

/** 3: the line reports that something went wrong. 2: it warns. 1: it says that there were no errors. 0: none of these. */
export function alarmOf(line: string): number {
  const begin = line.length > lookedAt ? line.slice(0, lookedAt) : line;
  if (alarm.test(begin)) return nothingWrong.test(begin) ? 1 : 3;
  return warning.test(begin) ? 2 : 0;
}
