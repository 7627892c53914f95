/** Chooses passages within a budget so that together they contain as much information as possible, without repetition. */

import { chooseGreedily } from "./greedy.ts";

export interface Candidate {
  /** Relevance to the query, from 0 to 1. */
  readonly relevance: number;
  /**
   * The words and mentions in this passage, as numbers. Each of them adds worth only to the first chosen passage that contains
   * it.
   */
  readonly items: readonly number[];
  /** Tokens of the passage. An estimate is good enough, because it only affects the order. */
  readonly tokens: number;
}

export interface ChoiceQuestion {
  readonly candidates: readonly Candidate[];
  /** Indexes of the candidates that are taken before all others, in this order, if there is room. */
  readonly first: readonly number[];
  readonly worth: (item: number) => number;
  /** Takes a candidate if there is room for it. A taken candidate stays in the result. */
  readonly take: (candidate: number) => "taken" | "no room" | "full";
}

/**
 * Worth that every passage has, whatever words it contains. For comparison, one rare word is worth 1. Without this value, a
 * relevant passage of common words would be worth nothing.
 */
const baseWorth = 0.5;

/**
 * Chooses greedily. Each step takes the passage with the largest gain per token, where gain = relevance² × worth of the new
 * items. Relevance is squared, because otherwise two more new items could make a passage with half the relevance win.
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
  const first = new Set(question.first);
  for (const index of first) if (take(index) === "full") return;
  const others = candidates.map((_, index) => index).filter((index) => !first.has(index));
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
