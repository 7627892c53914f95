/** One task or ticket on its own page. It is read again after each event about it. */

import type { PlimsollEvent } from "plimsoll/events";
import { type Gathering, gather } from "plimsoll/watch/gather";
import { type Asking, oneAtATime } from "plimsoll/watch/one-at-a-time";
import { ApiError } from "../api.ts";
import { live, sentenceOf } from "../live.svelte.ts";
import { timing } from "../timing.ts";
import type { ItemChange } from "./work-list.svelte.ts";

export interface ItemSource<T> {
  readonly one: (id: string, signal: AbortSignal) => Promise<T>;
  readonly changeIn: (event: PlimsollEvent) => ItemChange | undefined;
}

export class WorkItem<T extends { readonly id: string; readonly revision: number }> {
  item: T | undefined = $state.raw();
  presence: "there" | "gone" = $state("there");
  /** Why the item could not be read. */
  problem: string | undefined = $state.raw();
  /** Name of the change that is being made. */
  pending: string | undefined = $state.raw();

  /** The id in the address, which may be written as `t-3` or `3`. */
  readonly #id: string;
  readonly #source: ItemSource<T>;
  readonly #asking: Asking<void>;
  readonly #gathering: Gathering;

  constructor(id: string, source: ItemSource<T>) {
    this.#id = id;
    this.#source = source;
    this.#asking = oneAtATime<void>((_, signal) => this.#read(signal));
    this.#gathering = gather(() => this.#asking.ask(), timing);
  }

  /** Reads the item and follows the events. Returns a function that stops. */
  start(): () => void {
    const stops = [
      live.onEvent((event) => this.#take(event)),
      live.onReconnect(() => this.#asking.ask()),
      this.#asking.close,
      this.#gathering.close,
    ];
    this.#asking.ask();
    return () => {
      for (const stop of stops) stop();
    };
  }

  read(): void {
    this.#asking.ask();
  }

  /** Makes a change. Returns the sentence of the refusal, or undefined if nothing was refused. */
  async change(name: string, work: (id: string) => Promise<T>): Promise<string | undefined> {
    const { item } = this;
    if (item === undefined || this.pending !== undefined) return undefined;
    this.pending = name;
    try {
      this.#show(await work(item.id));
      return undefined;
    } catch (error) {
      // Somebody else may have changed the item meanwhile.
      this.#asking.ask();
      return sentenceOf(error);
    } finally {
      this.pending = undefined;
    }
  }

  #take(event: PlimsollEvent): void {
    if (event.type === "session-forgotten") this.#gathering.add("item");
    const change = this.#source.changeIn(event);
    if (change === undefined || change.id !== this.item?.id) return;
    if (change.isDeleted) this.presence = "gone";
    else this.#gathering.add("item");
  }

  #show(item: T): void {
    if ((this.item?.revision ?? 0) <= item.revision) this.item = item;
  }

  async #read(signal: AbortSignal): Promise<void> {
    if (this.presence === "gone") return;
    try {
      this.#show(await this.#source.one(this.#id, signal));
      this.problem = undefined;
    } catch (error) {
      if (error instanceof ApiError && error.code === "ABORTED") return;
      if (error instanceof ApiError && error.status === 404) this.presence = "gone";
      else this.problem = sentenceOf(error);
    }
  }
}
