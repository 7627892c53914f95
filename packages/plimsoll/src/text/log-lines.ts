/** Recognises log lines, which have a time or a level before their message. */

const stamped =
  /^[\s[(|]*(?:\d{4}[-/.]\d\d[-/.]\d\d[T ,]?|\d\d:\d\d:\d\d|\d{10,13}\b|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d{1,2} )/;
const levelled =
  /^[\s[(<|]*(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL|CRITICAL|npm (?:ERR|warn|error|notice|info))\b|\b(?:level|lvl|severity)=/i;

export function isLogLine(line: string): boolean {
  return stamped.test(line) || levelled.test(line);
}

/** The share of lines that pass the test, from 0 to 1. */
export function shareOfLines(lines: readonly string[], test: (line: string) => boolean): number {
  return lines.filter(test).length / Math.max(1, lines.length);
}
