/** Splits a JSON text into the texts of its members and elements without parsing them, for rules about bytes. */

/** Texts of the members of an object. Contract: the text is valid JSON. */
export function memberTexts(text: string): ReadonlyMap<string, string> {
  const members = new Map<string, string>();
  let at = next(text, text.indexOf("{") + 1);
  while (text[at] === '"') {
    const keyEnd = stringEnd(text, at);
    const start = next(text, next(text, keyEnd) + 1);
    const end = valueEnd(text, start);
    members.set(String(JSON.parse(text.slice(at, keyEnd))), text.slice(start, end));
    at = next(text, next(text, end) + 1);
  }
  return members;
}

/** Texts of the elements of an array. Empty if the text is not an array. */
export function elementTexts(text: string | undefined): readonly string[] {
  const elements: string[] = [];
  if (text === undefined || text[next(text, 0)] !== "[") return elements;
  let at = next(text, text.indexOf("[") + 1);
  while (at < text.length && text[at] !== "]") {
    const end = valueEnd(text, at);
    elements.push(text.slice(at, end));
    const comma = next(text, end);
    at = text[comma] === "," ? next(text, comma + 1) : text.length;
  }
  return elements;
}

/** The text without cache marks, because these may move. Quotes inside strings are escaped, so only members match. */
export function withoutMarks(text: string): string {
  return text
    .replace(/,?\s*"(cache_control|prompt_cache_breakpoint)"\s*:\s*(null|\{[^{}]*\})/g, "")
    .replace(/\{\s*,\s*/g, "{");
}

function next(text: string, start: number): number {
  let at = start;
  while (at < text.length && " \t\r\n".includes(text.charAt(at))) at += 1;
  return at;
}

function stringEnd(text: string, start: number): number {
  let quote = text.indexOf('"', start + 1);
  while (quote >= 0 && isEscaped(text, quote)) quote = text.indexOf('"', quote + 1);
  return quote < 0 ? text.length : quote + 1;
}

function isEscaped(text: string, at: number): boolean {
  let start = at;
  while (text[start - 1] === "\\") start -= 1;
  return (at - start) % 2 === 1;
}

function valueEnd(text: string, start: number): number {
  if (text[start] === '"') return stringEnd(text, start);
  if (!"{[".includes(text.charAt(start))) return scalarEnd(text, start);
  let depth = 0;
  let at = start;
  do {
    const character = text.charAt(at);
    if ("{[".includes(character)) depth += 1;
    if ("}]".includes(character)) depth -= 1;
    at = character === '"' ? stringEnd(text, at) : at + 1;
  } while (depth > 0 && at < text.length);
  return at;
}

function scalarEnd(text: string, start: number): number {
  let at = start;
  while (at < text.length && !",]} \t\r\n".includes(text.charAt(at))) at += 1;
  return at;
}
