/** Reads the page that Prometheus reads. */

/** The value of a line; NaN where the page does not have it. */
export function figure(page: string, line: string): number {
  const found = page.split("\n").find((one) => one.startsWith(`${line} `));
  return Number(found?.slice(line.length + 1) ?? Number.NaN);
}
