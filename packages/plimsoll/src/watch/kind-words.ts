/** The kinds of content in a window: their names and letters, their sums, and a description in words. Pure. */

import type { SegmentKind, WindowPicture, WindowUnit } from "../message/api.ts";
import { beyondWords, drawWindow } from "./drawn-window.ts";

export interface KindWords {
  readonly kind: SegmentKind;
  readonly name: string;
  /** A letter to show if there is no room for the name. */
  readonly letter: string;
}

/** The kinds in the order of the legend. */
export const kinds: readonly KindWords[] = [
  { kind: "system", name: "System", letter: "S" },
  { kind: "skills", name: "Skills", letter: "K" },
  { kind: "tools", name: "Tools", letter: "T" },
  { kind: "user", name: "User", letter: "U" },
  { kind: "assistant", name: "Assistant", letter: "A" },
  { kind: "results", name: "Results", letter: "R" },
  { kind: "summary", name: "Summaries", letter: "Σ" },
  { kind: "handle", name: "Handles", letter: "H" },
];

const known: ReadonlyMap<SegmentKind, KindWords> = new Map(
  kinds.map((words) => [words.kind, words]),
);

export function kindName(kind: SegmentKind): string {
  return known.get(kind)?.name ?? kind;
}

export function kindLetter(kind: SegmentKind): string {
  return known.get(kind)?.letter ?? "?";
}

/** The kind with the most tokens in a unit. In a list, it represents the unit. */
export function mainKind({ segments }: Pick<WindowUnit, "segments">): SegmentKind {
  const largest = segments.reduce<WindowUnit["segments"][number] | undefined>(
    (best, segment) => (best === undefined || segment.tokens > best.tokens ? segment : best),
    undefined,
  );
  return largest?.kind ?? "user";
}

export interface KindSum extends KindWords {
  readonly tokens: number;
}

/** Number of tokens of each kind in the window, in the order of the legend. Kinds that do not occur are left out. */
export function sumsOf({ units }: Pick<WindowPicture, "units">): readonly KindSum[] {
  const sums = new Map<SegmentKind, number>();
  for (const { segments } of units)
    for (const { kind, tokens } of segments) sums.set(kind, (sums.get(kind) ?? 0) + tokens);
  return kinds.flatMap((words) => {
    const tokens = sums.get(words.kind) ?? 0;
    return tokens === 0 ? [] : [{ ...words, tokens }];
  });
}

/** Tokens of the window by component: the preamble, and everything else. */
export function componentsOf(
  picture: Pick<WindowPicture, "units">,
): Readonly<Record<"system" | "skills" | "tools" | "conversation", number>> {
  const components = { system: 0, skills: 0, tools: 0, conversation: 0 };
  for (const { kind, tokens } of sumsOf(picture))
    if (kind === "system" || kind === "skills" || kind === "tools") components[kind] += tokens;
    else components.conversation += tokens;
  return components;
}

/** Describes the picture of a window in words, for people who cannot see it. */
export function summaryOf(picture: WindowPicture, count: (tokens: number) => string): string {
  const parts = sumsOf(picture).map(({ name, tokens }) => `${name.toLowerCase()} ${count(tokens)}`);
  const { units, tokens, limit, window, cachedTokens = 0 } = picture;
  const filled = `${count(tokens)} of ${count(limit)} tokens up to the limit, in a window of ${count(window)}`;
  const cached =
    cachedTokens > 0 ? ` The first ${count(cachedTokens)} were read from the cache.` : "";
  const beyond = drawWindow(picture).beyond.map(
    (part) => ` ${count(part.tokens)} are ${beyondWords(part)}.`,
  );
  return `The window: ${count(units.length)} units, ${filled}; ${parts.join(", ")}.${cached}${beyond.join("")}`;
}
