/** Finds rows that differ from the others because they contain numbers far from the median, or rare words. */

/** A number is an outlier if its distance from the median is more than this many times the median distance. */
const farAway = 6;
const rareShare = 0.02;
const fewWords = 0.2;
const leastRows = 5;

/** The score of each row: about 1 for each cell that is unusual in its column, and 1 for an unusual number of cells. */
export function outlierScores(rows: readonly (readonly string[])[]): Float64Array {
  const scores = new Float64Array(rows.length);
  if (rows.length < leastRows) return scores;
  const widths = rows.map((row) => row.length).toSorted((one, other) => one - other);
  const width = widths[widths.length >> 1] ?? 0;
  for (const [index, row] of rows.entries())
    if (row.length !== width && row.length > 1) scores[index] = 1;
  for (let column = 0; column < Math.min(width, maxColumns); column++) {
    const cells = rows.map((row) => row[column] ?? "");
    const added = columnScores(cells);
    for (let index = 0; index < scores.length; index++)
      scores[index] = (scores[index] ?? 0) + (added[index] ?? 0);
  }
  return scores;
}

const maxColumns = 64;

function columnScores(cells: readonly string[]): Float64Array {
  const numbers = cells.map((cell) => (cell === "" ? Number.NaN : Number(cell)));
  const known = numbers.filter(Number.isFinite);
  return known.length >= cells.length * 0.6 ? farScores(numbers, known) : rareScores(cells);
}

function farScores(numbers: readonly number[], known: readonly number[]): Float64Array {
  const middle = median(known);
  const usual = median(known.map((number) => Math.abs(number - middle)));
  const scores = new Float64Array(numbers.length);
  // If half of the numbers are equal, the median distance is 0, and every other number would be infinitely far away.
  const scale = usual > 0 ? usual : Math.abs(middle) || 1;
  for (const [index, number] of numbers.entries()) {
    const distance = Math.abs(number - middle) / scale;
    if (distance > farAway) scores[index] = Math.min(2, Math.log10(distance / farAway) + 1);
  }
  return scores;
}

function rareScores(cells: readonly string[]): Float64Array {
  const counts = new Map<string, number>();
  for (const cell of cells) counts.set(cell, (counts.get(cell) ?? 0) + 1);
  const scores = new Float64Array(cells.length);
  if (counts.size > Math.max(2, cells.length * fewWords)) return scores;
  const rare = Math.max(1, cells.length * rareShare);
  for (const [index, cell] of cells.entries())
    if ((counts.get(cell) ?? 0) <= rare) scores[index] = 1;
  return scores;
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((one, other) => one - other)[numbers.length >> 1] ?? 0;
}
