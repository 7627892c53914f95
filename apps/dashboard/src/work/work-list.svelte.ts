/**
 * A list of tasks or tickets. It is read once. After an event, only the changed item is read again. If many items change within
 * half a second, the list is read once instead.
 */

import type { Listed } from "plimsoll/api";
import type { PlimsollEvent } from "plimsoll/events";
import { type Gathering, gather } from "plimsoll/watch/gather";
import { type Asking, oneAtATime } from "plimsoll/watch/one-at-a-time";
import { SvelteMap } from "svelte/reactivity";
import { ApiError, type PageWish } from "../api.ts";
import { live, sentenceOf } from "../live.svelte.ts";
import { timing } from "../timing.ts";

interface Item {
  readonly id: string;
  readonly revision: number;
  readonly status: string;
}

/** The change of one item, according to an event. */
export interface ItemChange {
  readonly id: string;
  readonly isDeleted: boolean;
}

export interface ListSource<T extends Item> {
  /** The list has only items with these statuses. Each status is a list of its own in the service. */
  readonly statuses: readonly T["status"][];
  readonly page: (wish: PageWish<T["status"]>, signal: AbortSignal) => Promise<Listed<T>>;
  readonly one: (id: string, signal: AbortSignal) => Promise<T>;
  /** The item that the event changed. Undefined if the event is about something else. */
  readonly changeIn: (event: PlimsollEvent) => ItemChange | undefined;
  /** Whether an item with one of the statuses belongs in the list. */
  readonly isWanted?: (item: T) => boolean;
  readonly order: (one: T, other: T) => number;
}

/** Maximum number of items to read one by one. If more have changed, the list is read instead. */
const singlesMost = 5;
const pageSize = 100;
/** Maximum number of items in one answer of the service. */
const pageMost = 1000;
/** Maximum number of items to keep. The last ones of the list are dropped. */
const itemsMost = 2000;

export class WorkList<T extends Item> {
  readonly #items: SvelteMap<string, T> = new SvelteMap();
  /** What could not be read. */
  problem: string | undefined = $state.raw();
  /** Whether the list has been read at least once. */
  isRead: boolean = $state(false);
  /** What is being read now because somebody asked for it. */
  reading: "all" | "more" | undefined = $state();
  /** The time of the last complete reading. */
  readAt: number | undefined = $state();

  readonly #source: ListSource<T>;
  /** The position of the next page of each status that has one. */
  readonly #next: SvelteMap<T["status"], string> = new SvelteMap();
  readonly #changed = new Set<string>();
  readonly #wishes = new Set<"all" | "more">();
  readonly #asking: Asking<void>;
  readonly #gathering: Gathering;

  constructor(source: ListSource<T>) {
    this.#source = source;
    this.#asking = oneAtATime<void>((_, signal) => this.#carryOut(signal));
    this.#gathering = gather(() => this.#asking.ask(), timing);
  }

  get items(): readonly T[] {
    return [...this.#items.values()].toSorted(this.#source.order);
  }

  get hasMore(): boolean {
    return this.#next.size > 0;
  }

  /** Reads the list and follows the events. Returns a function that stops. */
  start(): () => void {
    const stops = [
      live.onEvent((event) => this.#take(event)),
      live.onReconnect(() => this.refresh()),
      this.#asking.close,
      this.#gathering.close,
    ];
    this.refresh();
    return () => {
      for (const stop of stops) stop();
    };
  }

  refresh(): void {
    this.#wish("all");
  }

  more(): void {
    this.#wish("more");
  }

  #wish(wish: "all" | "more"): void {
    this.#wishes.add(wish);
    this.reading = wish;
    this.#asking.ask();
  }

  #take(event: PlimsollEvent): void {
    // With a session, its tasks and tickets are deleted, and no event says which.
    if (event.type === "session-forgotten") {
      this.#wishes.add("all");
      this.#gathering.add("items");
    }
    const change = this.#source.changeIn(event);
    if (change === undefined) return;
    if (change.isDeleted) {
      this.#changed.delete(change.id);
      this.#items.delete(change.id);
      return;
    }
    this.#changed.add(change.id);
    this.#gathering.add("items");
  }

  async #carryOut(signal: AbortSignal): Promise<void> {
    const wishes = new Set(this.#wishes);
    this.#wishes.clear();
    try {
      if (wishes.has("all")) await this.#readAll(signal);
      if (wishes.has("more")) await this.#readMore(signal);
      await this.#readChanged(signal);
      this.problem = undefined;
    } catch (error) {
      if (error instanceof ApiError && error.code === "ABORTED") return;
      this.problem = sentenceOf(error);
    } finally {
      if (this.#wishes.size === 0) this.reading = undefined;
    }
  }

  /** Reads as much of each status as the list shows. */
  async #readAll(signal: AbortSignal): Promise<void> {
    this.#changed.clear();
    const shown = this.items;
    const pages = await Promise.all(
      this.#source.statuses.map(async (status) => {
        const count = shown.filter((item) => item.status === status).length;
        const limit = Math.min(pageMost, Math.max(pageSize, count));
        return { status, ...(await this.#source.page({ status, limit }, signal)) };
      }),
    );
    const read = pages.flatMap(({ items }) => items);
    const ids = new Set(read.map(({ id }) => id));
    // An item that changed meanwhile may be in no page. The event about it reads it again.
    for (const { id } of shown) if (!ids.has(id) && !this.#changed.has(id)) this.#items.delete(id);
    for (const { status, next } of pages) this.#continueAt(status, next);
    this.#add(read);
    this.isRead = true;
    this.readAt = Date.now();
  }

  async #readMore(signal: AbortSignal): Promise<void> {
    await Promise.all(
      [...this.#next].map(async ([status, after]) => {
        const page = await this.#source.page({ status, after, limit: pageSize }, signal);
        this.#continueAt(status, page.next);
        this.#add(page.items);
      }),
    );
  }

  async #readChanged(signal: AbortSignal): Promise<void> {
    const ids = [...this.#changed];
    if (ids.length > singlesMost) await this.#readAll(signal);
    else {
      this.#changed.clear();
      const read = await Promise.all(ids.map((id) => this.#one(id, signal)));
      this.#add(read.filter((item) => item !== undefined));
    }
  }

  async #one(id: string, signal: AbortSignal): Promise<T | undefined> {
    try {
      return await this.#source.one(id, signal);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404) throw error;
      this.#items.delete(id);
      return undefined;
    }
  }

  #continueAt(status: T["status"], next: string | number | undefined): void {
    if (next === undefined) this.#next.delete(status);
    else this.#next.set(status, String(next));
  }

  #add(items: readonly T[]): void {
    const { statuses, isWanted = () => true } = this.#source;
    for (const item of items) {
      if (!statuses.includes(item.status) || !isWanted(item)) this.#items.delete(item.id);
      else if ((this.#items.get(item.id)?.revision ?? 0) <= item.revision)
        this.#items.set(item.id, item);
    }
    if (this.#items.size > itemsMost)
      for (const { id } of this.items.slice(itemsMost)) this.#items.delete(id);
  }
}
