/** What is wrong with the store right now, for those who ask how the service is. */

export interface StoreHealth {
  /** A sentence each, in the order in which they began; none: all is well. */
  readonly problems: readonly string[];
  /** One problem for each name: a later sentence takes the place of the earlier one. */
  report(name: string, sentence: string): void;
  clear(name: string): void;
}

export function createStoreHealth(): StoreHealth {
  const problems = new Map<string, string>();
  return {
    get problems() {
      return [...problems.values()];
    },
    report: (name, sentence) => void problems.set(name, sentence),
    clear: (name) => void problems.delete(name),
  };
}
