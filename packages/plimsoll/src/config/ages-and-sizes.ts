/** Reads ages such as `30d` and sizes such as `2GB`, in the configuration and on the command line. */

const msPer = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;
const bytesPer = { MB: 1e6, GB: 1e9, TB: 1e12 } as const;

/** The age in milliseconds, or undefined if the text is not an age. */
export function millisecondsIn(age: string): number | undefined {
  return measured(age, msPer);
}

/** The size in bytes, or undefined if the text is not a size. */
export function bytesIn(size: string): number | undefined {
  return measured(size, bytesPer);
}

function measured(text: string, units: Readonly<Record<string, number>>): number | undefined {
  const [, count = "", unit = ""] = /^(\d{1,9}(?:\.\d{1,3})?)\s?([A-Za-z]+)$/.exec(text) ?? [];
  const per = Object.hasOwn(units, unit) ? units[unit] : undefined;
  const value = per === undefined ? 0 : Number(count) * per;
  return value > 0 ? value : undefined;
}

export const ageWords = "an age above 0 in minutes, hours, days or weeks, such as 30d or 12h";
