/** Patterns with stars, as in `mcp__*`: a star stands for anything. */

/** Piece by piece, each at its first place: patterns and names come from others, and none of them makes this slow. */
export function matchesWildcard(pattern: string, name: string): boolean {
  const [first = "", ...others] = pattern.split("*");
  const last = others.pop();
  if (last === undefined) return name === pattern;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  for (const piece of others) {
    const found = name.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return name.length - at >= last.length && name.endsWith(last);
}
