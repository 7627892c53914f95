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
    const isString = part.startsWith('"');
    if (isString && isKeyNext && !addKey(open.at(-1), part)) return true;
    if (!isString) nest(open, part);
    // Behind an opening brace or a comma of an object.
    isKeyNext = (part === "{" || part === ",") && open.at(-1) !== undefined;
  }
  return false;
}

function nest(open: (Set<string> | undefined)[], part: string): void {
  if (part === "}" || part === "]") open.pop();
  else if (part !== ",") open.push(part === "{" ? new Set() : undefined);
}

/** False: it is there already. Two spellings of one key are one key. */
function addKey(keys: Set<string> | undefined, quoted: string): boolean {
  const key = quoted.includes("\\") ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
  if (keys?.has(key) === true) return false;
  keys?.add(key);
  return true;
}
