/** Writes the results of a search for a model to read, within a number of tokens. */

import { passagesHead } from "../../text/for-models.ts";
import type { SessionPassage } from "./recall-index.ts";

export interface Writing {
  /** The name that the tool `read_result` has in this conversation. */
  readonly read: string;
  readonly budget: number;
  readonly count: (text: string) => number;
  /** Messages before this number were not searched. */
  readonly since?: number;
}

/** Number of tokens of the text above the passages. */
export const headTokens = 60;

/**
 * Writes each passage under the number of its message. If there is not enough room for the headings, the least relevant passages
 * are dropped. Undefined if there is no room for any passage.
 */
export function passagesText(
  passages: readonly SessionPassage[],
  { read, budget, count, since }: Writing,
): string | undefined {
  for (let most = passages.length; most > 0; most--) {
    const entriesShown = passages.slice(0, most);
    const number = entriesShown[0]?.number ?? 0;
    const head = passagesHead({ count: entriesShown.length, readResult: read, number, since });
    const text = [head, ...entriesShown.map(entryOf)].join("\n\n");
    if (count(text) <= budget) return text;
  }
  return undefined;
}

function entryOf({ number, title, text }: SessionPassage): string {
  return `#${number} ${title}\n${text}`;
}

/** The passages that fit into the budget as the caller counts tokens. The search may have counted differently. */
export function withinBudget(
  passages: readonly SessionPassage[],
  budget: number,
  count: (text: string) => number,
): readonly SessionPassage[] {
  let room = budget;
  return passages.filter(({ text }) => {
    const cost = count(text);
    if (cost > room) return false;
    room -= cost;
    return true;
  });
}
