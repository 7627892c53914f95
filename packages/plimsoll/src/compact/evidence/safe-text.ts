/** Text that is repeated elsewhere than it was said: in one line, without what a reader cannot see, and as data where it is data. */

import { withoutHandles } from "../../message/handle.ts";
import { oneSeenLine } from "../../text/unseen.ts";

/** One line of what can be seen. A handle is a name for us to give: one that somebody said is not repeated. */
export function clean(text: string): string {
  return withoutHandles(oneSeenLine(text));
}

/** As `clean`, line by line. */
export function cleanLines(text: string): readonly string[] {
  return text
    .split(/\r\n|[\n\r\u0085\u2028\u2029]/)
    .map(clean)
    .filter((line) => line !== "");
}

/** For comparison only: what is left when case, white space and the shape of quotation marks do not matter. */
export function plain(text: string): string {
  return clean(text)
    .toLowerCase()
    .replace(/[`´ˋ‘’‛′]/g, "'")
    .replace(/[“”„«»]/g, '"')
    .replace(/\s+/g, " ");
}

/** In backticks, of which the text itself has none: it ends where we end it. */
export function quoted(text: string): string {
  return `\`${text.replaceAll("`", "'")}\``;
}

/** At most so many characters, cut between words where there are some. */
export function shortened(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const cut = text.slice(0, maxChars);
  const space = cut.lastIndexOf(" ");
  const end = space > maxChars / 2 ? space : maxChars;
  return cut
    .slice(0, end)
    .replace(/[\uD800-\uDBFF]$/, "")
    .trimEnd();
}
