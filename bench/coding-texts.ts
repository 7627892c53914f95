/** What coding agents send and read: code, search results, test runs and JSON, never the same twice, and the same in every run. */

import { createTexts } from "./texts.ts";

/** A block of a message on the Anthropic wire. */
export interface CallBlock {
  readonly type: "tool_use";
  readonly id: string;
  readonly name: string;
  readonly input: object;
}

export interface CodingTexts {
  /** A few words of the user or of the model. */
  words(characters: number): string;
  call(id: string): CallBlock;
  /** About so many characters of one kind, another kind each time. */
  result(characters: number): string;
}

export function createCodingTexts(seed: number): CodingTexts {
  const texts = createTexts(seed);
  /** Words are taken from a longer text, because one text for each word costs more than the words. */
  let stock: readonly string[] = [];
  let taken = 0;
  const word = (): string => {
    if (taken >= stock.length) {
      stock = texts.text(4_000).split(/\s+/).filter(Boolean);
      taken = 0;
    }
    return stock[taken++] ?? "";
  };
  let lines = 0;
  const number = (): number => (lines++ * 7_919 + seed) % 10_007;
  const path = (): string => `src/${word()}/${word()}${number()}.ts`;
  const kinds: readonly (() => string)[] = [
    () =>
      `  const ${word()}${number()} = ${word()}.${word()}(${word()}, ${number()}); // ${word()}`,
    () => `${path()}:${number()}:  return ${word()}(${word()}, ${word()});`,
    () => `✓ ${path()} > ${word()} ${word()} ${word()} (${number()} ms)`,
    () => `{"id":${number()},"name":"${word()}","path":"${path()}","tags":["${word()}"]},`,
    () => `FAIL ${path()} > ${word()}: expected ${number()} to be ${number()} at ${word()}`,
  ];
  const tools: readonly (() => Omit<CallBlock, "id" | "type">)[] = [
    () => ({ name: "read_file", input: { path: path() } }),
    () => ({ name: "bash", input: { command: `grep -rn ${word()} ${path()}` } }),
    () => ({ name: "bash", input: { command: `npm test -- ${path()}` } }),
    () => ({ name: "edit_file", input: { path: path(), old: word(), new: word() } }),
  ];
  let calls = 0;
  let results = 0;
  return {
    words: (characters) => texts.text(characters),
    call: (id) => {
      const made = tools[calls++ % tools.length]?.() ?? { name: "bash", input: {} };
      return { type: "tool_use", id, ...made };
    },
    result: (characters) => {
      const line = kinds[results++ % kinds.length] ?? word;
      let text = line();
      while (text.length < characters) text += `\n${line()}`;
      return text.slice(0, characters);
    },
  };
}

export const codingTools: readonly object[] = ["read_file", "bash", "edit_file"].map((name) => ({
  name,
  description: `Use ${name} to work on the files of the project.`,
  input_schema: { type: "object", additionalProperties: true },
}));
