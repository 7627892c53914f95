/** Matches patterns with stars, as in `mcp__*`. A star matches any text. */

/**
 * Looks for each piece at its first possible place, without backtracking. Patterns and names come from outside, and none of them
 * can make this slow.
 */
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
