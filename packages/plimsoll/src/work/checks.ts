/** Limits of the texts in tasks and tickets. */

import { PlimsollError } from "../message/error.ts";

/** Maximum lengths, in characters. Longer texts belong into files. */
export const textMost = {
  title: 300,
  description: 65_536,
  note: 8192,
  answer: 65_536,
  assignee: 200,
  agent: 200,
} as const;

type TextName = keyof typeof textMost;

/** Contract: returns the text without surrounding spaces, or throws a sentence that says what to do. */
export function checkedText(name: TextName, text: string): string {
  // The types of the library do not stop a program in plain JavaScript.
  if (typeof text !== "string")
    throw new PlimsollError("USAGE", `The ${name} must be text.`, { status: 400 });
  const most = textMost[name];
  if (text.length > most)
    throw new PlimsollError(
      "USAGE",
      `The ${name} has ${text.length} characters, and at most ${most} are allowed.${restOf(name)}`,
      { status: 413 },
    );
  return text.trim();
}

function restOf(name: TextName): string {
  return name === "assignee" || name === "agent"
    ? ""
    : ` Put the rest into a file, and name the file in the ${name}.`;
}

/** Like `checkedText`, for texts that must say something. */
export function requiredText(name: TextName, text: string): string {
  const checked = checkedText(name, text);
  if (checked === "")
    throw new PlimsollError("USAGE", `The ${name} is empty. Write it.`, { status: 400 });
  return checked;
}

/** Contract: returns the word, or throws a sentence that lists the words. */
export function checkedWord<T extends string>(name: string, word: T, words: readonly T[]): T {
  if (words.includes(word)) return word;
  const sentence = `The ${name} must be one of ${words.join(", ")}.`;
  throw new PlimsollError("USAGE", sentence, { status: 400 });
}

export function checkedProgress(progress: number | undefined): number | undefined {
  if (progress === undefined || (progress >= 0 && progress <= 100)) return progress;
  throw new PlimsollError("USAGE", "The progress is a percentage, from 0 to 100.", { status: 400 });
}
