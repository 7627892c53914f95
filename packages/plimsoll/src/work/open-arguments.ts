/** Reads the arguments of a call that was cut in the middle of its JSON text. */

/** Names under which write tools get the path of a file, and its content. */
export const pathKeys: ReadonlySet<string> = new Set([
  "path",
  "file_path",
  "filePath",
  "filepath",
  "file",
  "filename",
  "file_name",
  "target_file",
  "absolute_path",
  "relative_path",
]);
export const contentKeys: ReadonlySet<string> = new Set([
  "content",
  "contents",
  "file_text",
  "text",
  "code",
  "code_edit",
  "new_string",
  "newString",
  "new_str",
]);

export interface OpenMember {
  readonly value: string;
  /** False if the text ends before the string does. */
  readonly isClosed: boolean;
}

/**
 * The first string member of a JSON object with one of these names, as far as it arrived. An escape sequence that is cut in the
 * middle is left out.
 */
export function openMember(json: string, names: ReadonlySet<string>): OpenMember | undefined {
  let name: string | undefined;
  for (const { string, isName } of topStrings(json)) {
    if (isName) name = string.value;
    else if (name !== undefined && names.has(name))
      return { value: string.value, isClosed: string.isClosed };
  }
  return undefined;
}

/** The strings that are names or values of the outermost object. */
function* topStrings(
  json: string,
): Generator<{ readonly string: ReadString; readonly isName: boolean }> {
  let depth = 0;
  for (let index = 0; index < json.length; index++) {
    const char = json[index] ?? "";
    if (char === "{" || char === "[") depth++;
    if (char === "}" || char === "]") depth--;
    if (char !== '"') continue;
    const string = readString(json, index);
    const isName = /^\s*:/.test(json.slice(string.end, string.end + 64));
    if (depth === 1) yield { string, isName };
    index = string.end - 1;
  }
}

const escapes: Readonly<Record<string, string>> = {
  n: "\n",
  t: "\t",
  r: "\r",
  b: "\b",
  f: "\f",
};

interface ReadString extends OpenMember {
  readonly end: number;
}

/** The string that begins with the quotation mark at `start`. `end` is behind its closing mark. */
function readString(json: string, start: number): ReadString {
  const pieces: string[] = [];
  let from = start + 1;
  let index = from;
  for (; index < json.length && json[index] !== '"'; index++) {
    if (json[index] !== "\\") continue;
    pieces.push(json.slice(from, index));
    const escaped = json[index + 1];
    const length = escaped === "u" ? 6 : 2;
    // The text ends within this escape sequence.
    if (index + length > json.length)
      return { value: pieces.join(""), end: json.length, isClosed: false };
    pieces.push(unescaped(json.slice(index, index + length)));
    index += length - 1;
    from = index + 1;
  }
  pieces.push(json.slice(from, index));
  const isClosed = index < json.length;
  return { value: pieces.join(""), end: isClosed ? index + 1 : index, isClosed };
}

function unescaped(sequence: string): string {
  const letter = sequence[1] ?? "";
  if (letter === "u") return String.fromCharCode(Number.parseInt(sequence.slice(2), 16));
  return escapes[letter] ?? letter;
}

export function baseName(path: string): string {
  return path.split(/[\\/]/).findLast((piece) => piece !== "") ?? path;
}
