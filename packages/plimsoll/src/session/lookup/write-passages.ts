/** Writes the results of a search for a model to read, within a number of tokens. */

import { partOfText } from "../../search/part-of-text.ts";
import { grouped } from "../../text/digits.ts";
import { missingOfPassage, passagesHead } from "../../text/for-models.ts";
import type { SessionPassage } from "./recall-index.ts";
import { wantedIn } from "./wanted-in.ts";

export interface Writing {
  readonly query: string;
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
 * Writes each passage under the number of its message and who said it. If there is not enough room for the headings, the least
 * relevant passages are dropped. If there is no room even for the best passage, a part of it is written. Undefined if there are no
 * passages, or if there is no room at all.
 */
export function passagesText(
  passages: readonly SessionPassage[],
  writing: Writing,
): string | undefined {
  for (let most = passages.length; most > 0; most--) {
    const text = textOf(passages.slice(0, most), writing);
    if (writing.count(text) <= writing.budget) return text;
  }
  const [best] = passages;
  const fits = (passage: SessionPassage): boolean =>
    writing.count(textOf([passage], writing)) <= writing.budget;
  const part = best === undefined ? undefined : partOfPassage(best, writing.query, fits);
  return part === undefined ? undefined : textOf([part], writing);
}

function textOf(
  passages: readonly SessionPassage[],
  { read, since }: Pick<Writing, "read" | "since">,
): string {
  const number = passages[0]?.number ?? 0;
  const head = passagesHead({ count: passages.length, readResult: read, number, since });
  return [head, ...passages.map((passage) => entryOf(passage, read))].join("\n\n");
}

function entryOf({ number, title, text, missingChars }: SessionPassage, read: string): string {
  const entry = `#${number} ${title}\n${text}`;
  if (missingChars === undefined) return entry;
  return `${entry}\n${missingOfPassage(grouped(missingChars), read, number)}`;
}

/** As much of a passage as fits, around the words of the query. */
function partOfPassage(
  passage: SessionPassage,
  query: string,
  fits: (part: SessionPassage) => boolean,
): SessionPassage | undefined {
  const whole = passage.text;
  const partWith = (text: string): SessionPassage => {
    const missing = (passage.missingChars ?? 0) + whole.length - text.length;
    return { ...passage, text, ...(missing > 0 ? { missingChars: missing } : {}) };
  };
  const text = partOfText(whole, wantedIn(query), (part) => fits(partWith(part)));
  return text === undefined ? undefined : partWith(text);
}

/**
 * The passages that fit into the budget as the caller counts tokens. The search may have counted differently. If not even the best
 * passage fits, a part of it is returned.
 */
export function withinBudget(
  passages: readonly SessionPassage[],
  { query, budget, count }: Pick<Writing, "query" | "budget" | "count">,
): readonly SessionPassage[] {
  let room = budget;
  const fitting = passages.filter(({ text }) => {
    const cost = count(text);
    if (cost > room) return false;
    room -= cost;
    return true;
  });
  const [best] = passages;
  if (best === undefined || fitting[0] === best) return fitting;
  return [partOfPassage(best, query, ({ text }) => count(text) <= budget) ?? []].flat();
}
