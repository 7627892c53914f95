/**
 * A worker thread that is asked questions: it starts with the first one, answers find whoever asked, and whoever still waits
 * hears when it dies. A thread that has died or was stopped is replaced with the next question.
 */

import type { Worker } from "node:worker_threads";
import { PlimsollError } from "../message/error.ts";
import { endThread } from "./thread-end.ts";

/** To the thread. What is asked in one turn of the event loop goes over together: each crossing has its price. */
export type ToThread<Q> = readonly (Asked<Q> | Told)[];

export interface Asked<Q> {
  readonly id: number;
  readonly question: Q;
}

/** While the thread works on a question: the answer to its own number `told`. */
export interface Told {
  readonly id: number;
  readonly told: number;
  readonly value: unknown;
}

/** From the thread: any amount of news of a question, then its answer. */
export type FromThread<A, N = never> = readonly (Answered<A> | News<N>)[];

export interface Answered<A> {
  readonly id: number;
  readonly answer: A;
}

export interface News<N> {
  readonly id: number;
  readonly news: N;
}

/** The id of what a thread says by itself, once it has loaded. */
export const greetingId = 0;

export interface ThreadOptions {
  readonly startWorker: () => Worker;
  /** The worker is gone, and with it whatever it kept; with the reason where it died of an error. */
  readonly onEnd?: (cause?: unknown) => void;
}

export interface Asking<N> {
  readonly transfer?: readonly ArrayBuffer[];
  /** `tell` answers the thread, as long as it works on this question. */
  readonly onNews?: (news: N, tell: (told: number, value: unknown) => void) => void;
}

interface Waiting<A, N> extends PromiseWithResolvers<A> {
  readonly onNews: (news: N) => void;
}

export class Thread<Q, A, N = never> {
  readonly #options: ThreadOptions;
  readonly #waiting = new Map<number, Waiting<A, N>>();
  #worker: Worker | undefined;
  #outbox: (Asked<Q> | Told)[] = [];
  #transfer: ArrayBuffer[] = [];
  #lastId = greetingId;

  constructor(options: ThreadOptions) {
    this.#options = options;
  }

  /** Questions that have no answer yet. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Starts the thread, and gives what it says by itself. */
  greeting(): Promise<A> {
    return this.#wait(greetingId, () => undefined);
  }

  /** Contract: rejects when the thread cannot be started, dies, is ended or stopped, or cannot be sent the question. */
  ask(question: Q, { transfer = [], onNews }: Asking<N> = {}): Promise<A> {
    const id = ++this.#lastId;
    const tell = (told: number, value: unknown): void => {
      if (this.#waiting.has(id)) this.#post({ id, told, value });
    };
    const answer = this.#wait(id, (news) => onNews?.(news, tell));
    this.#transfer.push(...transfer);
    this.#post({ id, question });
    return answer;
  }

  /** Lets the thread end when its work is done. */
  end(): Promise<void> {
    return endThread(this.#leave());
  }

  /** Wherever it is. */
  stop(): void {
    void this.#leave()?.terminate();
  }

  #wait(id: number, onNews: (news: N) => void): Promise<A> {
    const waiting = { ...Promise.withResolvers<A>(), onNews };
    try {
      this.#worker ??= this.#start();
      // Only while somebody waits for it may the thread keep the process alive.
      this.#worker.ref();
      this.#waiting.set(id, waiting);
    } catch (error) {
      waiting.reject(error);
    }
    return waiting.promise;
  }

  #post(message: Asked<Q> | Told): void {
    if (this.#worker === undefined) return;
    if (this.#outbox.length === 0) queueMicrotask(() => this.#send());
    this.#outbox.push(message);
  }

  #send(): void {
    const messages = this.#outbox;
    const transfer = this.#transfer;
    this.#outbox = [];
    this.#transfer = [];
    try {
      this.#worker?.postMessage(messages, transfer);
    } catch (error) {
      // Something in it cannot cross.
      for (const { id } of messages) this.#settle(id)?.reject(error);
    }
  }

  #start(): Worker {
    const worker = this.#options.startWorker();
    const die = (cause?: unknown): void => {
      if (this.#worker === worker) this.#leave(cause);
    };
    worker.on("message", (replies: FromThread<A, N>) => {
      if (this.#worker === worker) for (const reply of replies) this.#receive(reply);
    });
    worker.on("error", die);
    worker.on("exit", () => die());
    return worker;
  }

  #receive(reply: Answered<A> | News<N>): void {
    if ("news" in reply) this.#waiting.get(reply.id)?.onNews(reply.news);
    else this.#settle(reply.id)?.resolve(reply.answer);
  }

  #settle(id: number): Waiting<A, N> | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (this.#waiting.size === 0) this.#worker?.unref();
    return waiting;
  }

  /** Whatever becomes of the worker now, nobody here listens to it any more. */
  #leave(cause?: unknown): Worker | undefined {
    const left = this.#worker;
    this.#worker = undefined;
    this.#outbox = [];
    this.#transfer = [];
    if (left !== undefined) this.#options.onEnd?.(cause);
    const error = new PlimsollError("INTERNAL", "The thread has ended.", { cause });
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
    return left;
  }
}
