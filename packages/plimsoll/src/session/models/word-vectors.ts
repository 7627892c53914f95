/** The file of word vectors, read once when it is first needed. */

import { readFile } from "node:fs/promises";
import { readWordVectors, type WordVectors } from "../../search/vectors.ts";

const file = new URL("../../../data/words.bin", import.meta.url);
let loading: Promise<WordVectors | undefined> | undefined;

/** Contract: returns undefined if the file does not exist. Everything works without the file, but finds fewer synonyms. */
export function loadWordVectors(): Promise<WordVectors | undefined> {
  loading ??= readFile(file).then(readWordVectors, isMissing);
  return loading;
}

function isMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
  return undefined;
}
