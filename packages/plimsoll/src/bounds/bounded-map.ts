/** A map with a maximum size. To make room, it drops the entries that have not been used for the longest time. Pure. */

export interface Bound<V> {
  readonly entries: number;
  /** Maximum weight of all entries together. `weightOf` gives the weight of one entry. */
  readonly weight?: number;
  readonly weightOf?: (value: V) => number;
}

interface Entry<K, V> {
  readonly key: K;
  value: V;
  weight: number;
  older: Entry<K, V> | undefined;
  newer: Entry<K, V> | undefined;
}

/**
 * The order of use is kept in a linked list next to the map. A plain Map keeps an order too, but moving a key to the end means
 * deleting it and setting it again. V8 then walks over every slot that the key has ever had. For a key that is used often, this
 * takes 50 µs or more.
 */
export class BoundedMap<K, V> {
  readonly #bound: Bound<V>;
  readonly #entries = new Map<K, Entry<K, V>>();
  #oldest: Entry<K, V> | undefined;
  #newest: Entry<K, V> | undefined;
  #weight = 0;

  constructor(bound: Bound<V>) {
    this.#bound = bound;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The weight of all entries together. */
  get weight(): number {
    return this.#weight;
  }

  has(key: K): boolean {
    return this.#entries.has(key);
  }

  /** Reads a value. The entry becomes the most recently used. */
  get(key: K): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#use(entry);
    return entry.value;
  }

  /** Reads a value without changing the order of use. */
  peek(key: K): V | undefined {
    return this.#entries.get(key)?.value;
  }

  /** Sets a value and returns it. Contract: this entry is kept even if it alone exceeds the maximum weight. */
  set(key: K, value: V): V {
    const { entries, weight: most = Number.POSITIVE_INFINITY, weightOf } = this.#bound;
    const entry = this.#entries.get(key) ?? this.#add(key, value);
    const weight = weightOf?.(value) ?? 0;
    this.#weight += weight - entry.weight;
    entry.value = value;
    entry.weight = weight;
    this.#use(entry);
    this.#forget({ entries, weight: most }, entry);
    return value;
  }

  delete(key: K): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#weight -= entry.weight;
    this.#unlink(entry);
  }

  clear(): void {
    this.#entries.clear();
    this.#oldest = undefined;
    this.#newest = undefined;
    this.#weight = 0;
  }

  /** Drops entries until there is room for one more of this weight. Returns the dropped keys. */
  makeRoom(weight: number): readonly K[] {
    const { entries, weight: most = Number.POSITIVE_INFINITY } = this.#bound;
    return this.#forget({ entries: entries - 1, weight: most - weight });
  }

  /** The keys, from the least recently used to the most recently used. */
  *keys(): Generator<K, void> {
    for (let entry = this.#oldest; entry !== undefined; entry = entry.newer) yield entry.key;
  }

  #forget(most: Required<Pick<Bound<V>, "entries" | "weight">>, kept?: Entry<K, V>): readonly K[] {
    const forgotten: K[] = [];
    const isOver = (): boolean => this.size > most.entries || this.#weight > most.weight;
    for (let first = this.#oldest; first && first !== kept && isOver(); first = this.#oldest) {
      this.delete(first.key);
      forgotten.push(first.key);
    }
    return forgotten;
  }

  #add(key: K, value: V): Entry<K, V> {
    const entry = { key, value, weight: 0, older: undefined, newer: undefined };
    this.#entries.set(key, entry);
    this.#append(entry);
    return entry;
  }

  #use(entry: Entry<K, V>): void {
    if (entry === this.#newest) return;
    this.#unlink(entry);
    this.#append(entry);
  }

  #append(entry: Entry<K, V>): void {
    entry.older = this.#newest;
    entry.newer = undefined;
    if (this.#newest === undefined) this.#oldest = entry;
    else this.#newest.newer = entry;
    this.#newest = entry;
  }

  #unlink({ older, newer }: Entry<K, V>): void {
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
  }
}
