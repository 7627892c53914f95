/** Runs tasks one after another. The next task starts when the previous one has ended, whether it succeeded or failed. Pure. */

export class Queue {
  #last: Promise<unknown> = Promise.resolve();
  #count = 0;

  /** Number of tasks that are running or waiting. A caller that needs a bound checks this before adding a task. */
  get count(): number {
    return this.#count;
  }

  /** Returns the result of the task, or throws its error. */
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

  /** Resolves when every task added so far has ended. Contract: never rejects. */
  async idle(): Promise<void> {
    await this.#last;
  }
}

/** One queue per name. A queue without tasks is dropped. */
export class NamedQueues {
  readonly #queues = new Map<string, Queue>();

  /** Runs work in the queue of this name. It is an arrow function, so that callers can pass it on without binding `this`. */
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
