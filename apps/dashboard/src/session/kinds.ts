/** The kinds of what fills a window: their names for people, the colours they are drawn in, and their sums. */

import type { SegmentKind, WindowPicture, WindowUnit } from "plimsoll/api";

/** In the order of the legend. */
export const kinds: readonly { readonly kind: SegmentKind; readonly name: string }[] = [
  { kind: "system", name: "System" },
  { kind: "skills", name: "Skills" },
  { kind: "tools", name: "Tools" },
  { kind: "user", name: "User" },
  { kind: "assistant", name: "Assistant" },
  { kind: "results", name: "Results" },
  { kind: "summary", name: "Summaries" },
  { kind: "handle", name: "Handles" },
];

const names = new Map(kinds.map(({ kind, name }) => [kind, name]));

export function kindName(kind: SegmentKind): string {
  return names.get(kind) ?? kind;
}

/** The kind that takes the most of a unit: it stands for it in a list. */
export function mainKind({ segments }: Pick<WindowUnit, "segments">): SegmentKind {
  const largest = segments.reduce<WindowUnit["segments"][number] | undefined>(
    (best, segment) => (best === undefined || segment.tokens > best.tokens ? segment : best),
    undefined,
  );
  return largest?.kind ?? "user";
}

export type KindSums = ReadonlyMap<SegmentKind, number>;

export function sumsOf({ units }: Pick<WindowPicture, "units">): KindSums {
  const sums = new Map<SegmentKind, number>();
  for (const { segments } of units)
    for (const { kind, tokens } of segments) sums.set(kind, (sums.get(kind) ?? 0) + tokens);
  return sums;
}

/** A picture in words, for those who do not see it. */
export function summaryOf(picture: WindowPicture, count: (tokens: number) => string): string {
  const sums = sumsOf(picture);
  const parts = kinds.flatMap(({ kind, name }) => {
    const sum = sums.get(kind) ?? 0;
    return sum === 0 ? [] : [`${name.toLowerCase()} ${count(sum)}`];
  });
  const { units, tokens, limit, window, cachedTokens } = picture;
  const filled = `${count(tokens)} of ${count(limit)} tokens up to the limit, in a window of ${count(window)}`;
  const cached =
    cachedTokens > 0 ? ` The first ${count(cachedTokens)} were read from the cache.` : "";
  return `The window: ${units.length} units, ${filled}; ${parts.join(", ")}.${cached}`;
}
