/**
 * Lazy greedy choice: takes the best option again and again. Each choice can only lower the worth of the remaining options. So an
 * old worth is an upper bound for the current worth, and only the option at the front of the queue has to be computed again.
 */

export interface GreedyQuestion<Option> {
  /** The worth of an option, for example its gain per token. */
  readonly worth: (option: Option) => number;
  /** Breaks ties between options of equal worth, so that the same question always gets the same answer. */
  readonly isEarlier: (one: Option, other: Option) => boolean;
  /** The option with its current worth. Undefined if it is no longer wanted. */
  readonly renew: (option: Option) => Option | undefined;
  /** Takes the option and returns further options to offer, or "full" if no more can be taken. */
  readonly take: (option: Option) => readonly Option[] | "full";
}

/** Contract: an option is always renewed before it is taken. Ends when `take` returns "full" or when no option is left. */
export function chooseGreedily<Option>(
  offered: Iterable<Option>,
  { worth, isEarlier, renew, take }: GreedyQuestion<Option>,
): void {
  const isBefore = (one: Option, other: Option): boolean => {
    const difference = worth(one) - worth(other);
    return difference === 0 ? isEarlier(one, other) : difference > 0;
  };
  const queue = createQueue(isBefore);
  for (const option of offered) queue.push(option);
  for (let best = queue.pop(); best !== undefined; best = queue.pop()) {
    const now = renew(best);
    if (now === undefined) continue;
    const next = queue.first();
    const isBeaten = worth(now) < worth(best) && next !== undefined && isBefore(next, now);
    const more = isBeaten ? [now] : take(now);
    if (more === "full") return;
    for (const option of more) queue.push(option);
  }
}

interface Queue<Item> {
  first(): Item | undefined;
  push(item: Item): void;
  pop(): Item | undefined;
}

/** A binary heap. The heap in `budget/byte-pair.ts` works only on plain numbers and is three times as fast. */
function createQueue<Item>(isBefore: (one: Item, other: Item) => boolean): Queue<Item> {
  const heap: Item[] = [];
  const rise = (item: Item): void => {
    let at = heap.length;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent] as Item;
      if (!isBefore(item, above)) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = item;
  };
  const sink = (item: Item): void => {
    let at = 0;
    for (let child = 1; child < heap.length; child = 2 * at + 1) {
      const right = child + 1;
      const isRight = right < heap.length && isBefore(heap[right] as Item, heap[child] as Item);
      const upper = isRight ? right : child;
      const below = heap[upper] as Item;
      if (!isBefore(below, item)) break;
      heap[at] = below;
      at = upper;
    }
    heap[at] = item;
  };
  return {
    first: () => heap[0],
    push: rise,
    pop: () => {
      const first = heap[0];
      const last = heap.pop();
      if (last !== undefined && heap.length > 0) sink(last);
      return first;
    },
  };
}
