/**
 * JSON that says more than it parses to: numbers that no double holds, a key that comes twice. Two such texts may parse to
 * the same value and still be different messages.
 */

/** Whether a number of a JSON text is another one once it was parsed. */
export function isRounded(source: string): boolean {
  const value = Number(source);
  if (!Number.isFinite(value)) return true;
  return digitsOf(source) !== digitsOf(String(value));
}

/** Significant digits and the power of ten of the first of them: the same for `1.50`, `15e-1` and `1.5`. */
function digitsOf(source: string): string {
  const [, whole = "", fraction = "", power = "0"] =
    /^-?(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(source) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, "");
  if (digits === "") return "0";
  const leadingZeros = whole.length + fraction.length - digits.length;
  const exponent = whole.length - leadingZeros + Number(power);
  return `${digits.replace(/0+$/, "")}e${exponent}`;
}

/** What is no string, up to the next one that matters here. */
const token = /"(?:[^"\\]|\\.)*"|[{}[\],]/gsu;

/** Contract: `text` is valid JSON. */
export function repeatsKey(text: string): boolean {
  /** The keys of each object that is open; undefined for a list. */
  const open: (Set<string> | undefined)[] = [];
  let isKeyNext = false;
  for (const [part] of text.matchAll(token)) {
    if (part === "{" || part === "[") {
      isKeyNext = part === "{";
      open.push(isKeyNext ? new Set() : undefined);
    } else if (part === "}" || part === "]") {
      open.pop();
      isKeyNext = false;
    } else if (part === ",") isKeyNext = open.at(-1) !== undefined;
    else if (isKeyNext) {
      const keys = open.at(-1);
      // Two spellings of one key are one key.
      const key = part.includes("\\") ? (JSON.parse(part) as string) : part.slice(1, -1);
      if (keys?.has(key) === true) return true;
      keys?.add(key);
      isKeyNext = false;
    }
  }
  return false;
}
