/** Finds numbers together with the words that explain them, and names: paths, ids and identifiers. */

import { looksLikeHandle } from "../../message/handle.ts";
import { type MentionKind, mentionsIn } from "../../search/mentions.ts";
import { clean } from "./safe-text.ts";

const measured =
  /(?:^|[^\w#.])(?:[$€£¥]\s?\d|v?\d{1,4}\.\d{1,6}\.\d{1,8}\b|\d(?:[\d,.]{0,20}\d)?(?:[x×]|\s?(?:%|ms|µs|s|sec|seconds?|min(?:utes?)?|hours?|days?|[kKMGT]i?B|bytes?|tokens?|USD|EUR|dollars?|euros?|°C?|rows?|items?|files?|lines?|tests?|errors?|warnings?|passed|failed|skipped|requests?|users?|points?|km|kg|px|rps|fps|Hz|GHz))(?!\w))/i;
const labelled = /[\p{L})%"'][\s]{0,3}[:=]\s{0,3}-?[$€£]?\d[\d,.]{0,20}(?=\s|$|[,;)%])/u;
/** Listings, code, diffs and logs. Numbers in them are positions, not figures. */
const listed =
  /[{};]$|^\s{0,80}\d{1,7}[:\t|]|^\s{0,80}(?:def|class|import|from|return|const|let|var|if|for|while|self|assert|print)\b|==|=>|^[-+@]|^\[?\d{4}-\d\d-\d\d|\bexit(?:ed)?\b|^[d-][rwx-]{9}/;
const field = /"[\w -]{2,40}":\s?-?\d[\d.]{0,20}/g;
const shortLineChars = 120;
const maxFigures = { head: 2, tail: 4, fields: 6 };

export function isFigure(sentence: string): boolean {
  return measured.test(sentence) || labelled.test(sentence);
}

/** Figures in a result: a few short lines from its beginning and its end, or fields of JSON. */
export function figuresIn(lines: readonly string[]): readonly string[] {
  const { head, tail, fields } = maxFigures;
  const found = lines
    .filter((line) => line.length <= shortLineChars && !listed.test(line) && isFigure(line))
    .map((line) => clean(line).replace(/,$/, ""));
  const picked =
    found.length <= head + tail ? found : [...found.slice(0, head), ...found.slice(-tail)];
  const long = lines.filter((line) => line.length > shortLineChars && line.includes('":'));
  const inside = long.slice(0, fields).flatMap((line) => line.match(field) ?? []);
  return [...picked, ...inside.slice(0, fields)];
}

export interface Named {
  readonly class: "path" | "id";
  readonly text: string;
}

/** `isUsed` says whether the agent used the name in a call. An identifier that the agent never used is not listed. */
export function namesIn(text: string, isUsed: (atom: string) => boolean): readonly Named[] {
  const atoms = mentionsIn(text);
  const within = segmentsOf(atoms);
  return [...atoms].flatMap(([atom, kind]): readonly Named[] => {
    const found = classOf(atom, kind, isUsed(atom));
    const isPartOfOther = kind === "path" ? within.urls.has(atom) : within.segments.has(atom);
    return found === undefined || isPartOfOther ? [] : [{ class: found, text: atom }];
  });
}

function classOf(atom: string, kind: MentionKind, isUsed: boolean): Named["class"] | undefined {
  switch (kind) {
    case "url":
    case "file":
      return "path";
    case "path":
      return isPath(atom, isUsed) ? "path" : undefined;
    case "email":
      return "id";
    case "id":
      return isUsed ? (/^\d+[a-z]$/.test(atom) ? undefined : "id") : isId(atom) ? "id" : undefined;
    case "name":
      return isUsed && !looksLikeHandle(atom) ? "id" : undefined;
    default:
      return undefined;
  }
}

/** Excludes remains of an escape sequence, such as "2C84". */
function isId(atom: string): boolean {
  return /\d/.test(atom) && atom.length > 4 && !/^\d+[a-z]$/.test(atom);
}

/** Excludes "and/or", "10/12", and parts of a substitution such as "s/old". */
function isPath(atom: string, isUsed: boolean): boolean {
  if (!/[A-Za-z]/.test(atom)) return false;
  if (atom.indexOf("/") !== atom.lastIndexOf("/")) return !/^s\//.test(atom);
  return /\.\w{1,8}$/.test(atom) || (isUsed && atom.indexOf("/") > 1);
}

/** The parts of longer names in the same text. These parts need not be listed separately. */
function segmentsOf(atoms: ReadonlyMap<string, MentionKind>): {
  readonly segments: ReadonlySet<string>;
  readonly urls: ReadonlySet<string>;
} {
  const segments = new Set<string>();
  const urls = new Set<string>();
  for (const [atom, kind] of atoms) {
    if (kind === "url") urls.add(atom.replace(/^https?:\/\/|\/$/g, ""));
    if (kind !== "url" && kind !== "path" && kind !== "email") continue;
    for (const segment of atom.split(/[/@?&=]/)) {
      segments.add(segment);
      segments.add(segment.replace(/\.\w+$/, ""));
    }
  }
  return { segments, urls };
}
