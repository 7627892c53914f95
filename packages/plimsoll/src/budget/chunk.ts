/** Cuts long text into chunks, where possible at places that no token of a GPT-style tokenizer spans. */

export interface Chunk {
  readonly text: string;
  /** False: the end of the chunk had to be put inside what the tokenizer sees as one piece. */
  readonly isClean: boolean;
}

const wordCharacter = /[\p{L}\p{N}]/u;
const number = /\p{N}/u;
const whiteSpace = /\p{White_Space}/u;
/** What may go on a word that a letter or a number has ended: marks, contractions, half of a character. */
const wordContinuation = /[\p{L}\p{M}\p{N}\p{Cs}']/u;

/** Contract: `maxChars` is at least 2. */
export function* chunksOf(text: string, maxChars: number): Generator<Chunk> {
  let start = 0;
  while (text.length - start > maxChars) {
    const clean = lastCleanCut(text, start, start + maxChars);
    const end = clean ?? wholeCharacters(text, start + maxChars);
    yield { text: text.slice(start, end), isClean: clean !== undefined };
    start = end;
  }
  yield { text: text.slice(start), isClean: true };
}

/** Longer words than this are runs, and cutting stays linear. */
const lookBackChars = 2_048;

function lastCleanCut(text: string, start: number, limit: number): number | undefined {
  const lowest = Math.max(start + 1, limit - lookBackChars);
  for (let end = limit; end >= lowest; end--) {
    if (isCleanCut(text.charAt(end - 1), text.charAt(end))) return end;
  }
  return undefined;
}

/**
 * True where every GPT-style pattern (r50k, cl100k, o200k, and the Llama and Qwen ones made after them) ends a
 * piece: white space before a word may belong to the word, and line ends after a symbol to the symbol.
 */
export function isCleanCut(before: string, after: string): boolean {
  if (after === " ") return !whiteSpace.test(before);
  if (before === "\n") return !whiteSpace.test(after) && after !== "/";
  if (!wordCharacter.test(before)) return false;
  if (!wordContinuation.test(after)) return true;
  return wordCharacter.test(after) && number.test(before) !== number.test(after);
}

function wholeCharacters(text: string, end: number): number {
  const code = text.charCodeAt(end);
  const splitsPair = code >= 0xdc00 && code <= 0xdfff;
  return splitsPair ? end - 1 : end;
}
