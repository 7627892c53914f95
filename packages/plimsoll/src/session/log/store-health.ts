/** What is wrong with the store right now, for those who ask how the service is. */

export interface StoreHealth {
  /** A sentence each, in the order in which they began; none: all is well. */
  readonly problems: readonly string[];
  /** One problem for each name: a later sentence takes the place of the earlier one. */
  report(name: string, sentence: string): void;
  clear(name: string): void;
  /** What was wrong and is mended: somebody should look after it, and nothing else is kept from going on. The newest last. */
  readonly notices: readonly string[];
  notice(sentence: string): void;
}

const maxNotices = 10;

export function createStoreHealth(): StoreHealth {
  const problems = new Map<string, string>();
  const notices: string[] = [];
  return {
    get problems() {
      return [...problems.values()];
    },
    report: (name, sentence) => void problems.set(name, sentence),
    clear: (name) => void problems.delete(name),
    notices,
    notice: (sentence) => {
      notices.push(sentence);
      if (notices.length > maxNotices) notices.shift();
    },
  };
}
