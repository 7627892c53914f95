/** Finds members and elements inside a JSON text and returns their exact text. */

/** The text of a member of an object; undefined if there is none. Contract: the input is valid JSON. */
export function memberText(object: string, name: string): string | undefined {
  for (const [start, end] of partsOf(object)) {
    const part = object.slice(start, end);
    const colon = endOfString(part, 0);
    if (JSON.parse(part.slice(0, colon)) !== name) continue;
    return part.slice(part.indexOf(":", colon) + 1).trim();
  }
  return undefined;
}

/** The texts of the elements of an array. Contract: the input is valid JSON. */
export function elementTexts(array: string): readonly string[] {
  return partsOf(array).map(([start, end]) => array.slice(start, end));
}

/** The text of an array from its beginning to the end of its first `count` elements. */
export function prefixOfArray(array: string, count: number): string {
  return array.slice(0, count === 0 ? 0 : (partsOf(array)[count - 1]?.[1] ?? array.length));
}

/** The texts between the commas of the outermost object or array. */
function partsOf(json: string): readonly (readonly [start: number, end: number])[] {
  const parts: [number, number][] = [];
  const close = (start: number, end: number): void => {
    const text = json.slice(start, end);
    if (text.trim() === "") return;
    const leading = text.length - text.trimStart().length;
    parts.push([start + leading, start + text.trimEnd().length]);
  };
  let depth = 0;
  let start = 0;
  for (let at = 0; at < json.length; at += 1) {
    switch (json[at]) {
      case '"':
        at = endOfString(json, at) - 1;
        break;
      case "{":
      case "[":
        depth += 1;
        if (depth === 1) start = at + 1;
        break;
      case "}":
      case "]":
        depth -= 1;
        if (depth === 0) close(start, at);
        break;
      case ",":
        if (depth !== 1) break;
        close(start, at);
        start = at + 1;
        break;
      default:
    }
  }
  return parts;
}

/** The index after the closing quote. */
function endOfString(json: string, start: number): number {
  let at = start + 1;
  while (json[at] !== '"') at += json[at] === "\\" ? 2 : 1;
  return at + 1;
}
