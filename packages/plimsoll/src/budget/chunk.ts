/** Cuts long text into chunks, if possible at places that no token of a GPT-style tokenizer spans. */

export interface Chunk {
  readonly text: string;
  /** False if the chunk had to end inside a piece that the tokenizer would keep together. */
  readonly isClean: boolean;
}

const wordCharacter = /[\p{L}\p{N}]/u;
const number = /\p{N}/u;
const whiteSpace = /\p{White_Space}/u;
/** Characters that can continue a word after a letter or a number: marks, contractions, half of a surrogate pair. */
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

/** Maximum number of characters to look back for a place to cut. Longer "words" are data. The bound keeps the time linear. */
const lookBackChars = 2_048;

function lastCleanCut(text: string, start: number, limit: number): number | undefined {
  const lowest = Math.max(start + 1, limit - lookBackChars);
  for (let end = limit; end >= lowest; end--) {
    // At the end of a chunk, r50k and p50k keep white space together that they split before a word.
    const isRun = text.charAt(end - 1) === "\n" && whiteSpace.test(text.charAt(end - 2));
    if (!isRun && isCleanCut(text.charAt(end - 1), text.charAt(end))) return end;
  }
  return undefined;
}

/**
 * True if every GPT-style pattern (r50k, cl100k, o200k, and the Llama and Qwen patterns based on them) ends a piece here. White
 * space before a word may belong to the word, and line ends after a symbol may belong to the symbol.
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
