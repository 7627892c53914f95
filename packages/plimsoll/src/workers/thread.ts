/**
 * A worker thread that answers questions. It starts with the first question and replies to each caller. If it dies, every caller
 * that is still waiting gets an error, and the next question starts a new thread.
 */

import type { Worker } from "node:worker_threads";
import { PlimsollError } from "../message/error.ts";
import { endThread } from "./thread-end.ts";

/** Messages to the thread. All messages of one turn of the event loop are sent together, because every transfer takes time. */
export type ToThread<Q> = readonly (Asked<Q> | Told)[];

export interface Asked<Q> {
  readonly id: number;
  readonly question: Q;
}

/** A reply to a query that the thread made while working on question `id`. `told` is the number of that query. */
export interface Told {
  readonly id: number;
  readonly told: number;
  readonly value: unknown;
}

/** Messages from the thread: any number of progress messages about a question, then its answer. */
export type FromThread<A, N = never> = readonly (Answered<A> | News<N>)[];

export interface Answered<A> {
  readonly id: number;
  readonly answer: A;
}

export interface News<N> {
  readonly id: number;
  readonly news: N;
}

/** The id of the greeting, which a thread sends by itself once it has loaded. */
export const greetingId = 0;

export interface ThreadOptions {
  readonly startWorker: () => Worker;
  /** Takes over the worker if it is idle when `release` is called. Without it, `release` ends the worker. */
  readonly giveWorker?: (worker: Worker) => void;
  /**
   * Called when the worker has ended and everything in its memory is lost. `cause` is set if the worker ended because of an
   * error.
   */
  readonly onEnd?: (cause?: unknown) => void;
}

export interface Asking<N> {
  readonly transfer?: readonly ArrayBuffer[];
  /** `tell` sends a reply to the thread while it is still working on this question. */
  readonly onNews?: (news: N, tell: (told: number, value: unknown) => void) => void;
}

interface Waiting<A, N> extends PromiseWithResolvers<A> {
  readonly onNews: (news: N) => void;
}

export class Thread<Q, A, N = never> {
  readonly #options: ThreadOptions;
  readonly #waiting = new Map<number, Waiting<A, N>>();
  #worker: Worker | undefined;
  /** Removes this object's listeners from its worker. */
  #unlisten: () => void = () => undefined;
  #outbox: (Asked<Q> | Told)[] = [];
  #transfer: ArrayBuffer[] = [];
  #lastId = greetingId;

  constructor(options: ThreadOptions) {
    this.#options = options;
  }

  /** Number of questions that are not answered yet. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Starts the thread and returns the message that it sends once it has loaded. */
  greeting(): Promise<A> {
    return this.#wait(greetingId, () => undefined);
  }

  /** Contract: rejects if the thread cannot be started, dies, is ended or stopped, or if the question cannot be sent to it. */
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

  /** Lets the thread finish its work and then ends it. */
  end(): Promise<void> {
    return endThread(this.#leave());
  }

  /** Like `end`, but gives an idle worker to `giveWorker`. */
  async release(): Promise<void> {
    const { giveWorker } = this.#options;
    if (giveWorker === undefined || this.waiting > 0) return this.end();
    const worker = this.#leave();
    if (worker === undefined) return;
    this.#unlisten();
    giveWorker(worker);
  }

  /** Terminates the thread at once, even in the middle of its work. */
  stop(): void {
    void this.#leave()?.terminate();
  }

  #wait(id: number, onNews: (news: N) => void): Promise<A> {
    const waiting = { ...Promise.withResolvers<A>(), onNews };
    try {
      this.#worker ??= this.#start();
      // The thread may keep the process alive only while a caller is waiting for it.
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
      // A value in one of these messages cannot be transferred to a thread.
      for (const { id } of messages) this.#settle(id)?.reject(error);
    }
  }

  #start(): Worker {
    const worker = this.#options.startWorker();
    const die = (cause?: unknown): void => {
      if (this.#worker === worker) this.#leave(cause);
    };
    const receive = (replies: FromThread<A, N>): void => {
      if (this.#worker === worker) for (const reply of replies) this.#receive(reply);
    };
    const dieAtExit = (): void => die();
    worker.on("message", receive).on("error", die).on("exit", dieAtExit);
    this.#unlisten = () => worker.off("message", receive).off("error", die).off("exit", dieAtExit);
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

  /** Detaches the worker. Its later messages and events are ignored, and all waiting callers get an error. */
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
