/** The title of a session: the first words that are the user's own. Pure. */

import type { Message } from "./message.ts";

const longestTitle = 80;
/** Number of characters of a text to read. Clients put long instructions before the user's words, but not this long. */
const looksAt = 200_000;

/** Blocks that contain the user's own words. */
const ownBlocks = new Set([
  "task",
  "user_message",
  "user_query",
  "feedback",
  "answer",
  "message",
  // Claude Code asks for a title with the user's first words in this block.
  "session",
]);
/** Blocks whose names have neither a hyphen nor an underscore, and that clients write themselves. */
const clientBlock = /^(?:instructions|context|environment|info|summary)$/i;
/** Beginnings of messages that a client writes before the user's first. */
const clientTexts: readonly RegExp[] = [
  /^# AGENTS\.md instructions/,
  /^This is the \w+ (?:CLI|Code)\b/,
  /^Caveat: The messages below/,
  // opencode asks for a title before the conversation begins.
  /^Generate a title for this conversation/,
];

/** Contract: at most 80 characters on one line. Undefined if none of these messages has words of the user's own. */
export function titleOf(messages: readonly Message[]): string | undefined {
  for (const { role, parts } of messages) {
    if (role !== "user") continue;
    const texts = parts.flatMap((part) => (part.kind === "text" ? [part.text] : []));
    const words = texts.map(ownWords).find((text) => text !== "");
    if (words !== undefined) return shortened(words);
  }
  return undefined;
}

function ownWords(text: string): string {
  if (clientTexts.some((pattern) => pattern.test(text.trimStart()))) return "";
  const left = withoutBlocks(text.slice(0, looksAt));
  // Control characters and other characters that nobody sees do not belong in a title.
  return left.replaceAll(/[\s\p{C}]+/gu, " ").trim();
}

const openingTag = /<([A-Za-z][\w-]*)(?:\s[^<>]*)?>/g;

/** Removes the blocks that a client wrote, and the tags around the user's own words. */
function withoutBlocks(text: string): string {
  let kept = "";
  let from = 0;
  for (const { index, 0: tag, 1: name = "" } of text.matchAll(openingTag)) {
    const writer = writerOf(name);
    if (index < from || writer === "unknown") continue;
    kept += text.slice(from, index);
    // A block that does not end is cut off, because its end is beyond the part that was read.
    const end = text.indexOf(`</${name}>`, index);
    if (writer === "user")
      return kept + withoutBlocks(text.slice(index + tag.length, end < 0 ? undefined : end));
    from = end < 0 ? text.length : end + name.length + 3;
  }
  return kept + text.slice(from);
}

/** Who wrote a block of this name. A tag of unknown origin is part of the text around it. */
function writerOf(name: string): "user" | "client" | "unknown" {
  if (ownBlocks.has(name)) return "user";
  return /[-_]/.test(name) || clientBlock.test(name) ? "client" : "unknown";
}

/** Cuts at a space, if there is one near the end. */
function shortened(words: string): string {
  const letters = [...words];
  if (letters.length <= longestTitle) return words;
  const cut = letters.slice(0, longestTitle - 1).join("");
  const space = cut.lastIndexOf(" ");
  return `${(space > cut.length / 2 ? cut.slice(0, space) : cut).trimEnd()}…`;
}
