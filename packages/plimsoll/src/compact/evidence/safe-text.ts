/** Makes text safe to repeat in another place: on one line, without invisible characters, and quoted if it is data. */

import { withoutHandles } from "../../message/handle.ts";
import { oneSeenLine } from "../../text/unseen.ts";

/** The visible text on one line, without handles. Handles are removed because only Plimsoll may issue them. */
export function clean(text: string): string {
  return withoutHandles(oneSeenLine(text));
}

/** Like `clean`, but line by line. */
export function cleanLines(text: string): readonly string[] {
  return text
    .split(/\r\n|[\n\r\u0085\u2028\u2029]/)
    .map(clean)
    .filter((line) => line !== "");
}

/** For comparison only: ignores case, white space and the shape of quotation marks. */
export function plain(text: string): string {
  return clean(text)
    .toLowerCase()
    .replace(/[`´ˋ‘’‛′]/g, "'")
    .replace(/[“”„«»]/g, '"')
    .replace(/\s+/g, " ");
}

/** Puts the text in backticks. Backticks inside are replaced, so the text cannot end its own quotation. */
export function quoted(text: string): string {
  return `\`${text.replaceAll("`", "'")}\``;
}

/** Shortens the text to at most `maxChars` characters, and cuts between words if possible. */
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
