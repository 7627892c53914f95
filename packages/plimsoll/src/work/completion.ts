/** How much of a cut answer arrived, and how Plimsoll knows. */

import { type AnswerKind, type CutAnswer, partialOf } from "./cut-answer.ts";

export interface KnownLengths {
  /** Tokens that the caller expects of the whole answer. */
  readonly estimate?: number | undefined;
  /** Length of a file as the conversation last showed it, in characters. */
  readonly fileLength?: (path: string) => number | undefined;
  /** Tokens of earlier complete answers, for each kind. */
  readonly earlier?: Readonly<Partial<Record<AnswerKind, readonly number[]>>>;
}

export interface Completion {
  /** From 0 to 1. Undefined if nothing is known about the length of the whole answer. */
  readonly share?: number;
  /** `about 60 %, from four earlier answers` */
  readonly basis: string;
}

/** A cut answer is never complete, whatever the estimate says. */
const shareMost = 0.95;

export function completionOf(cut: CutAnswer, known: KnownLengths): Completion {
  const { estimate } = known;
  if (estimate !== undefined && estimate > 0)
    return stated(cut.tokens / estimate, `from the estimate of ${estimate} tokens`);
  const partial = partialOf(cut);
  const fileLength = partial?.target === undefined ? undefined : known.fileLength?.(partial.target);
  if (partial !== undefined && fileLength !== undefined && fileLength > 0)
    return stated(partial.content.length / fileLength, "from the length that the file had before");
  const list = announcedList(cut.text);
  if (list !== undefined)
    return stated(
      list.begun / list.announced,
      `${list.begun} of ${list.announced} announced items`,
    );
  const earlier = known.earlier?.[partial?.kind ?? "text"] ?? [];
  if (earlier.length > 0)
    return stated(cut.tokens / median(earlier), `from ${countOf(earlier.length)}`);
  return { basis: "an unknown share" };
}

function stated(share: number, basis: string): Completion {
  const bounded = Math.min(shareMost, Math.max(0, share));
  return { share: bounded, basis: `about ${Math.round(bounded * 100)} %, ${basis}` };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  return Math.max(1, sorted[Math.floor(sorted.length / 2)] ?? 1);
}

function countOf(count: number): string {
  const words = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight"];
  return `${words[count] ?? count} earlier answer${count === 1 ? "" : "s"}`;
}

const numbers: Readonly<Record<string, number>> = {
  two: 2,
  three: 3,
  four: 4,
  five: 5,
  six: 6,
  seven: 7,
  eight: 8,
  nine: 9,
  ten: 10,
};

/** A list whose length the answer announced, such as "these five files:", and how many of its items have begun. */
function announcedList(
  text: string,
): { readonly announced: number; readonly begun: number } | undefined {
  const found =
    /\b(\d{1,3}|two|three|four|five|six|seven|eight|nine|ten)\b[^.\n:]{1,60}:\s*$/im.exec(text);
  if (found === null) return undefined;
  const word = (found[1] ?? "").toLowerCase();
  const announced = numbers[word] ?? Number(word);
  const items = text.slice(found.index).match(/^\s*(?:\d{1,3}[.)]|[-*])\s+\S/gm)?.length ?? 0;
  return announced < 2 || items === 0 || items > announced
    ? undefined
    : { announced, begun: items };
}
