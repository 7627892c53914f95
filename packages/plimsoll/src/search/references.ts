/** References: the strings by which an agent gets back to things. Paths, addresses, identifiers, dates, numbers. */

/** What can stand around a reference, and not in it. */
const separated = /[^\s"'<>()[\]{}`,;|=\\]+/g;
/** Longer runs are data. A bound also keeps the patterns below linear. */
const maxChars = 200;
const edgePunctuation = /^[.:!?*#-]+(?=[^/])|[.:!?*-]+$/g;
const address = /^[a-z][a-z0-9+.-]*:\/\/\S+$|^[\w.+-]+@[\w-]+\.[\w.]+$/i;
const fileName = /^[\w-]+(?:\.[\w-]+)*\.[a-z][a-z0-9]{0,4}$/i;
const numeric = /^\p{Sc}?(\d{4}-\d{2}-\d{2}|\d{3,}(?:\.\d+)?|\d+\.\d{2,})$/u;
/** Ids such as HAT028 or 9f3c; words in capitals such as EISDIR. */
const idLike = /^(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{4,}$|^[A-Z]{5,}$/;

/**
 * The distinct references of a text, in order. Of a path the file's name and the identifiers in it count
 * too: later mentions are often shorter.
 */
export function referencesOf(text: string): ReadonlySet<string> {
  const found = new Set<string>();
  for (const [run] of text.matchAll(separated)) {
    if (run.length >= 3 && run.length <= maxChars) addReferences(run, found);
  }
  return found;
}

function addReferences(run: string, found: Set<string>): void {
  const token = run.replaceAll(edgePunctuation, "");
  if (address.test(token)) {
    found.add(token);
    return;
  }
  for (const part of token.split(":")) {
    const path = part.replace(/^\.{0,2}\/+/, "");
    if (path.includes("/")) found.add(path);
    for (const segment of path.split("/")) addSegment(segment, found);
  }
}

function addSegment(segment: string, found: Set<string>): void {
  const number = numeric.exec(segment)?.[1];
  if (number !== undefined) {
    found.add(number);
    return;
  }
  if (fileName.test(segment)) found.add(segment);
  for (const word of segment.split(/\W+/)) {
    if (isCompoundName(word) || idLike.test(word) || /^\d{3,}$/.test(word)) found.add(word);
  }
}

/** snake_case, camelCase, PascalCase; shorter ones are mostly local variables. */
function isCompoundName(word: string): boolean {
  return word.length >= 5 && /[A-Za-z]/.test(word) && /_|[a-z0-9][A-Z]/.test(word);
}
