/**
 * JSON texts that lose something when parsed: numbers that a double cannot represent, and repeated keys. Two such texts can parse
 * to the same value and still be different messages.
 */

/** Whether parsing changes the value of a number in a JSON text. */
export function isRounded(source: string): boolean {
  const value = Number(source);
  if (!Number.isFinite(value)) return true;
  return digitsOf(source) !== digitsOf(String(value));
}

/** The significant digits, and the power of ten of the first digit. The result is the same for `1.50`, `15e-1` and `1.5`. */
function digitsOf(source: string): string {
  const [, whole = "", fraction = "", power = "0"] =
    /^-?(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(source) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, "");
  if (digits === "") return "0";
  const leadingZeros = whole.length + fraction.length - digits.length;
  const exponent = whole.length - leadingZeros + Number(power);
  return `${digits.replace(/0+$/, "")}e${exponent}`;
}

/** Matches strings, brackets, braces and commas. */
const token = /"(?:[^"\\]|\\.)*"|[{}[\],]/gsu;

/** Whether an object in the text has the same key twice. Contract: `text` is valid JSON. */
export function repeatsKey(text: string): boolean {
  /** The keys of each open object. Undefined for an array. */
  const open: (Set<string> | undefined)[] = [];
  let isKeyNext = false;
  for (const [part] of text.matchAll(token)) {
    const isString = part.startsWith('"');
    if (isString && isKeyNext && !addKey(open.at(-1), part)) return true;
    if (!isString) nest(open, part);
    // A key follows an opening brace, or a comma inside an object.
    isKeyNext = (part === "{" || part === ",") && open.at(-1) !== undefined;
  }
  return false;
}

function nest(open: (Set<string> | undefined)[], part: string): void {
  if (part === "}" || part === "]") open.pop();
  else if (part !== ",") open.push(part === "{" ? new Set() : undefined);
}

/** Adds a key, or returns false if the object already has it. A key with escapes equals the same key without them. */
function addKey(keys: Set<string> | undefined, quoted: string): boolean {
  const key = quoted.includes("\\") ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
  if (keys?.has(key) === true) return false;
  keys?.add(key);
  return true;
}
