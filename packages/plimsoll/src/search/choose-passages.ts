/** Chooses passages within a budget so that together they tell as much as possible, and nothing twice. */

export interface Candidate {
  /** 0…1. */
  readonly relevance: number;
  /** What it tells, by number: things of which only the first mention is worth anything. */
  readonly items: readonly number[];
  /** An estimate will do: it only steers the order. */
  readonly tokens: number;
}

export interface CoverQuestion {
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
 * Gains only ever fall, so an old gain is a bound, and only the front of the queue is worked out anew.
 */
export function coverGreedily(question: CoverQuestion): void {
  const { candidates, worth } = question;
  const told = new Set<number>();
  const take = (index: number): "taken" | "no room" | "full" => {
    const outcome = question.take(index);
    if (outcome !== "no room") for (const item of candidates[index]?.items ?? []) told.add(item);
    return outcome;
  };
  const gainOf = (index: number): number => {
    const candidate = candidates[index];
    if (candidate === undefined) return 0;
    let sum = baseWorth;
    for (const item of candidate.items) if (!told.has(item)) sum += worth(item);
    return (candidate.relevance ** 2 * sum) / candidate.tokens;
  };
  if (question.first !== undefined && take(question.first) === "full") return;
  const others = candidates.map((_, index) => index).filter((index) => index !== question.first);
  const queue = createQueue(others.map((index) => ({ index, gain: gainOf(index) })));
  for (let next = queue.pop(); next !== undefined && next.gain > 0; next = queue.pop()) {
    const gain = gainOf(next.index);
    if (gain < next.gain) queue.push({ index: next.index, gain });
    else if (take(next.index) === "full") return;
  }
}

interface Queued {
  readonly index: number;
  readonly gain: number;
}

interface Queue {
  push(item: Queued): void;
  pop(): Queued | undefined;
}

/** The earlier of two equals comes first, so that the same question has the same answer. */
function isBefore(left: Queued, right: Queued): boolean {
  return left.gain > right.gain || (left.gain === right.gain && left.index < right.index);
}

/** A binary heap. */
function createQueue(initial: readonly Queued[]): Queue {
  const heap: Queued[] = [];
  const push = (item: Queued): void => {
    let at = heap.length;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent] as Queued;
      if (!isBefore(item, above)) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = item;
  };
  for (const item of initial) push(item);
  return {
    push,
    pop: () => {
      const first = heap[0];
      const last = heap.pop();
      if (first === undefined || last === undefined || heap.length === 0) return first;
      sink(heap, last);
      return first;
    },
  };
}

function sink(heap: Queued[], item: Queued): void {
  let at = 0;
  for (;;) {
    const left = 2 * at + 1;
    const right = left + 1;
    const [a, b] = [heap[left], heap[right]];
    const child = b !== undefined && a !== undefined && isBefore(b, a) ? right : left;
    const below = heap[child];
    if (below === undefined || !isBefore(below, item)) break;
    heap[at] = below;
    at = child;
  }
  heap[at] = item;
}
