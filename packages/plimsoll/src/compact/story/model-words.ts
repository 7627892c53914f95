/**
 * A story that a model wrote, as words for the lines of Plimsoll's own story. Plimsoll decides which lines there are. The model
 * says more about some of them, and adds a few.
 */

import { storyTexts } from "../../text/for-models.ts";
import type { Item } from "../summary/format.ts";
import { readStory } from "./read-story.ts";

export interface ModelWords {
  /** The line in the model's words. The same line if the model says nothing about it. */
  readonly reword: (item: Item) => Item;
  /** The model's words for the outcome of a request, from its number and that of the answer, if they are short. */
  readonly outcomeOf: (request: number, answer: number) => string | undefined;
  /** Lines that only the model wrote: rules in the user's words, findings, and tasks. */
  readonly added: readonly Item[];
}

/** Maximum number of characters of an outcome after a quoted request. */
const longestOutcome = 240;

/** Contract: `prepared` has passed the gate (`gate.ts`). */
export function modelWords(prepared: string | undefined): ModelWords | undefined {
  if (prepared === undefined) return undefined;
  const { own } = readStory(prepared);
  return {
    reword: (item) => {
      const stem = stemOf(item);
      const told = own.find(
        ({ section, number, text }) =>
          section === item.section &&
          number === item.number &&
          stem !== undefined &&
          text.startsWith(stem),
      );
      return told ?? item;
    },
    outcomeOf: (request, answer) => {
      const line = own.find(({ section, number }) => section === "Answered" && number === request);
      const stem = line && stemOf(line);
      if (line === undefined || stem?.endsWith(` → #${answer}: `) !== true) return undefined;
      if (!line.text.startsWith(stem)) return undefined;
      const outcome = line.text.slice(stem.length);
      return outcome.length <= longestOutcome ? outcome : undefined;
    },
    added: own.filter((item) => item.section === "Rules" || isNoted(item) || isToDo(item)),
  };
}

const answeredLine = /^(asked: [\s\S]* → #\d{1,9})(?: asked back)?: /;

/** The part of a line after which a model may write in its own words. Undefined if the line must stay as it is. */
export function stemOf({ section, text }: Item): string | undefined {
  if (section === "Answered") {
    const [, stem] = answeredLine.exec(text) ?? [];
    return stem === undefined ? undefined : `${stem}: `;
  }
  const isFailure = section === "Open" && text.startsWith(storyTexts.failed("", ""));
  return isFailure ? `${text}: ` : undefined;
}

function isNoted({ section, text }: Item): boolean {
  return section === "Answered" && text.startsWith(storyTexts.noted(""));
}

export function isToDo({ section, text }: Item): boolean {
  return section === "Open" && text.startsWith(storyTexts.toDo(""));
}
