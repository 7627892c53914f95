/** The current problems of the store, for health checks. */

export interface StoreHealth {
  /** One sentence for each current problem, in the order in which the problems began. Empty if there is no problem. */
  readonly problems: readonly string[];
  /** Reports a problem. A later sentence under the same name replaces the earlier one. */
  report(name: string, sentence: string): void;
  clear(name: string): void;
  /**
   * One sentence for each problem that was repaired. These problems block nothing, but a person should look at them. The newest
   * is last.
   */
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
