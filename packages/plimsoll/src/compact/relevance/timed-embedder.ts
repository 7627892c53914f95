/**
 * Prevents an embedder from delaying a request: sends texts in batches, remembers the vector of each text, and does not use a
 * slow embedder for a while.
 */

import { BoundedMap } from "../../bounds/bounded-map.ts";
import type { Embedder } from "../../search/embed.ts";

/** Either all vectors come from the same embedder, or there are none. */
type Embedded =
  | { readonly kind: "vectors"; readonly vectors: readonly Float32Array[] }
  | { readonly kind: "failed" | "slow" | "resting" };

/** A batch that takes longer than this is too slow. */
const slowestBatchMs = 100;
const batchSize = 32;
/** Maximum number of batches for one request. More batches would delay the request, however fast each batch is. */
const batchesMax = 20;
/** How long a vector is remembered, and for how long an embedder is not used after it failed or was slow. */
const rememberedMs = 5 * 60_000;
const rememberedMax = 4_096;

interface Remembered {
  readonly vector: Float32Array;
  readonly until: number;
}

export class TimedEmbedder {
  readonly #embedder: Embedder;
  readonly #now: () => number;
  readonly #remembered = new BoundedMap<string, Remembered>({ entries: rememberedMax });
  #restsUntil = Number.NEGATIVE_INFINITY;

  constructor(embedder: Embedder, now: () => number) {
    this.#embedder = embedder;
    this.#now = now;
  }

  async embed(texts: readonly string[]): Promise<Embedded> {
    const found = new Map<string, Float32Array>();
    for (const text of texts) {
      const known = this.#remembered.get(text);
      if (known !== undefined && known.until > this.#now()) found.set(text, known.vector);
    }
    const unknown = [...new Set(texts)].filter((text) => !found.has(text));
    const outcome = await this.#learn(unknown, found);
    if (outcome !== "learnt") return { kind: outcome };
    return { kind: "vectors", vectors: texts.map((text) => found.get(text) ?? new Float32Array()) };
  }

  async #learn(
    unknown: readonly string[],
    found: Map<string, Float32Array>,
  ): Promise<"learnt" | "failed" | "slow" | "resting"> {
    if (unknown.length > 0 && this.#now() < this.#restsUntil) return "resting";
    if (unknown.length > batchSize * batchesMax) return "slow";
    for (let from = 0; from < unknown.length; from += batchSize) {
      const begun = this.#now();
      const batch = unknown.slice(from, from + batchSize);
      const vectors = await this.#vectorsOf(batch);
      const isSlow = this.#now() - begun > slowestBatchMs;
      if (isSlow || vectors === undefined) this.#restsUntil = this.#now() + rememberedMs;
      if (vectors === undefined) return "failed";
      for (const [index, vector] of vectors.entries()) {
        found.set(batch[index] ?? "", vector);
        this.#remember(batch[index] ?? "", vector);
      }
      if (isSlow) return "slow";
    }
    return "learnt";
  }

  async #vectorsOf(batch: readonly string[]): Promise<readonly Float32Array[] | undefined> {
    try {
      const vectors = await this.#embedder.embed(batch);
      return vectors.length === batch.length ? vectors : undefined;
    } catch {
      return undefined;
    }
  }

  #remember(text: string, vector: Float32Array): void {
    this.#remembered.set(text, { vector, until: this.#now() + rememberedMs });
  }
}
