/**
 * Mentions: the strings that people and agents use to refer to things. Most of the facts that a later turn needs are mentions.
 */

export type MentionKind = "url" | "email" | "path" | "file" | "date" | "name" | "id" | "number";

const fileEndings = [
  "py pyi ipynb js mjs cjs ts mts tsx jsx vue svelte json jsonl json5 md mdx rst txt toml yaml yml cfg ini conf env",
  "html htm css scss c h cc cpp hpp cs rs go java kt kts swift rb php lua r jl ex exs erl hs ml scala sh bash zsh ps1",
  "bat sql proto graphql xml csv tsv pdf doc docx xls xlsx ppt pptx png jpg jpeg gif svg webp lock log diff patch",
].flatMap((line) => line.split(" "));

/** The order matters: a string gets the first kind whose pattern matches it. */
const patterns: readonly (readonly [MentionKind, RegExp])[] = [
  ["url", /https?:\/\/[^\s"'<>()[\]{}`\\]+/g],
  ["email", /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g],
  ["path", /(?:\.{0,2}\/)?(?:[\w.+@-]+\/)+[\w.+@-]+/g],
  ["file", new RegExp(`\\b[\\w-]+\\.(?:${fileEndings.join("|")})\\b`, "g")],
  ["date", /\b\d{4}-\d\d-\d\d\b/g],
  // snake_case, camelCase, PascalCase
  [
    "name",
    /\b[A-Za-z_][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+\b|\b[a-z]+(?:[A-Z][a-z0-9]+)+\b|\b(?:[A-Z][a-z0-9]+){2,}\b/g,
  ],
  // letters with digits, or all capitals
  ["id", /\b(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{4,}\b|\b[A-Z]{5,}\b/g],
  ["number", /\b\d{3,}(?:\.\d+)?\b|\b\d+\.\d{2,}\b/g],
];

const shortest = 3;
const shortestName = 5;
const longest = 200;
/** Words in capitals that refer to nothing. */
const emphasis = new Set(
  (
    "ERROR ERRORS FAILED FAILURE PASSED WARNING WARNINGS FALSE TRUE SELECT WHERE ORDER GROUP README IMPORTANT " +
    "EXACTLY SHOULD NEVER ALWAYS NOTE CRITICAL THOUGHT DEBUG"
  ).split(" "),
);

/**
 * A run of 256 or more of these characters is data, not a name. It is removed, because otherwise every pattern would be tried
 * again at each character of the run.
 */
const dataRun = /[\w.+@/-]{256,}/g;

/** A line break or tab that was escaped because its text was quoted. A new word begins after it. */
const quotedBreak = /(?<!\\)\\+[nrt]/g;
/** Traces of binary data in text: control characters and their escapes. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern has to match control characters.
const debris = /[\u0000-\u0008\u000e-\u001f\u007f\ufffd]|(?<!\\)\\+(?:u00[01]|x[01])/g;
const mostDebris = 1 / 40;

function isNoise(text: string): boolean {
  let count = 0;
  for (const _ of text.matchAll(debris)) count++;
  return count > text.length * mostDebris;
}

const none: ReadonlyMap<string, MentionKind> = new Map();

/** Contract: runs in time linear in the length of the text. Paths are returned without a leading "./" or "/". */
export function mentionsIn(text: string): ReadonlyMap<string, MentionKind> {
  // This saves time for callers that pass single lines, because a text may have a million blank lines.
  if (text.length < shortest || text.trim() === "") return none;
  const found = new Map<string, MentionKind>();
  if (isNoise(text)) return found;
  const names = text.replaceAll(quotedBreak, " ").replaceAll(dataRun, " ");
  for (const [kind, pattern] of patterns) {
    for (const [match] of names.matchAll(pattern)) {
      const bare = match.replace(/[.,:;]+$/, "");
      const name = kind === "path" ? bare.replace(/^\.{0,2}\//, "") : bare;
      if (isMention(name, kind) && !found.has(name)) found.set(name, kind);
    }
  }
  return found;
}

/** How often a mention occurs, and how many other mentions occur with it. */
export interface Standing {
  /** Number of messages that contain the mention. */
  readonly messages: number;
  /** The smallest number of mentions in any text that contains this mention. */
  readonly fewest: number;
}

/**
 * The worth of a mention. It is high for a mention that occurs in many messages, because the work is probably about it. It is low
 * for a name that only appears in long listings.
 */
export function worthOfStanding({ messages, fewest }: Standing): number {
  return (1 + Math.log(messages)) / fewest ** 0.6;
}

/** Encoded data, such as base64, changes between capitals, small letters and digits all the time. Paths and ids do not. */
const change = /[a-z](?=[A-Z0-9])|[A-Z](?=\d)|\d(?=[A-Za-z])/g;
const shortestEncoded = 20;
const mostChanges = 1 / 5;

function isEncoded(name: string): boolean {
  if (name.length < shortestEncoded || /[._-]/.test(name)) return false;
  return (name.match(change)?.length ?? 0) > name.length * mostChanges;
}

function isMention(name: string, kind: MentionKind): boolean {
  if (name.length < (kind === "name" ? shortestName : shortest) || name.length > longest)
    return false;
  if ((kind === "path" || kind === "id") && isEncoded(name)) return false;
  return kind === "path" ? name.includes("/") : !emphasis.has(name);
}
