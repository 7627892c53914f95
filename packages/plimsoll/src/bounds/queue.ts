/** Work one piece after the other: the next piece begins when the one before has ended, however it ended. Pure. */

export class Queue {
  #last: Promise<unknown> = Promise.resolve();
  #count = 0;

  /** Pieces that run or wait. Whoever must bound them looks here first. */
  get count(): number {
    return this.#count;
  }

  /** Gives what the work gives, or throws what it throws. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const own = this.#last.then(work);
    this.#last = own.catch(() => undefined);
    this.#count++;
    try {
      return await own;
    } finally {
      this.#count--;
    }
  }

  /** When everything that was begun so far has ended. Contract: never rejects. */
  async idle(): Promise<void> {
    await this.#last;
  }
}

/** One queue for each name. A name without work is forgotten. */
export class NamedQueues {
  readonly #queues = new Map<string, Queue>();

  /** Needs no receiver: it can be handed on as a function. */
  readonly run = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const queue = this.#queues.get(name) ?? new Queue();
    this.#queues.set(name, queue);
    try {
      return await queue.run(work);
    } finally {
      if (queue.count === 0) this.#queues.delete(name);
    }
  };

  get size(): number {
    return this.#queues.size;
  }
}
