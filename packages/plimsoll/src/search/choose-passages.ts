/** Chooses passages within a budget so that together they tell as much as possible, and nothing twice. */

import { chooseGreedily } from "./greedy.ts";

export interface Candidate {
  /** 0…1. */
  readonly relevance: number;
  /** What it tells, by number: things of which only the first mention is worth anything. */
  readonly items: readonly number[];
  /** An estimate will do: it only steers the order. */
  readonly tokens: number;
}

export interface ChoiceQuestion {
  readonly candidates: readonly Candidate[];
  /** Taken before all others, if there is room. */
  readonly first?: number;
  readonly worth: (item: number) => number;
  /** Takes a candidate if there is room: its place in the result is then certain. */
  readonly take: (candidate: number) => "taken" | "no room" | "full";
}

/**
 * What a passage is worth beside what it tells, compared with one rare word: a relevant passage of common words
 * is still relevant.
 */
const baseWorth = 0.5;

/**
 * Greedy: each time the passage with the largest gain per token, where gain = relevance² × worth of what is new.
 * Squared, since a passage half as relevant would otherwise be made up for by two more names in it.
 */
export function choosePassages(question: ChoiceQuestion): void {
  const { candidates, worth } = question;
  const chosenItems = new Set<number>();
  const take = (index: number): "taken" | "no room" | "full" => {
    const outcome = question.take(index);
    if (outcome !== "no room")
      for (const item of candidates[index]?.items ?? []) chosenItems.add(item);
    return outcome;
  };
  const gainOf = (index: number): number => {
    const candidate = candidates[index];
    if (candidate === undefined) return 0;
    let sum = baseWorth;
    for (const item of candidate.items) if (!chosenItems.has(item)) sum += worth(item);
    return (candidate.relevance ** 2 * sum) / candidate.tokens;
  };
  if (question.first !== undefined && take(question.first) === "full") return;
  const others = candidates.map((_, index) => index).filter((index) => index !== question.first);
  const queued = (index: number): Queued => ({ index, gain: gainOf(index) });
  chooseGreedily(others.map(queued), {
    worth: ({ gain }) => gain,
    isEarlier: (one, other) => one.index < other.index,
    renew: ({ index }) => {
      const now = queued(index);
      return now.gain > 0 ? now : undefined;
    },
    take: ({ index }) => (take(index) === "full" ? "full" : []),
  });
}

interface Queued {
  readonly index: number;
  readonly gain: number;
}
