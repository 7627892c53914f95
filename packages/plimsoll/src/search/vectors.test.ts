import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createStaticEmbedder } from "./embed.ts";
import { askedTerms, synonymsAmong, weightsOf } from "./expand.ts";
import { cosine, readWordVectors } from "./vectors.ts";

const bytes = readFileSync(new URL("../../data/words.bin", import.meta.url));
const vectors = readWordVectors(bytes);

test("the table holds the commonest words first", () => {
  expect([vectors.size, vectors.dimensions]).toEqual([60_000, 100]);
  expect(vectors.rank("the")).toBe(0);
  expect(vectors.rank("error")).toBeLessThan(vectors.rank("segmentation") ?? 0);
  expect(vectors.rank("qwzx")).toBeUndefined();
});

test.each([
  ["bought", "purchased", "purple"],
  ["delete", "edit", "violin"],
  ["basketball", "football", "database"],
  ["mother", "daughter", "compiler"],
  ["error", "mistake", "banana"],
])("%s is nearer to %s than to %s", (word, related, unrelated) => {
  expect(vectors.similarity(word, related)).toBeGreaterThan(
    vectors.similarity(word, unrelated) + 0.2,
  );
});

test("the nearest words come best first, without the word itself", () => {
  const nearest = vectors.nearest("files", 10);
  expect(nearest.length).toBe(10);
  expect(nearest.map(({ word }) => word)).toContain("file");
  expect(nearest.map(({ word }) => word)).not.toContain("files");
  expect(nearest.toSorted((a, b) => b.similarity - a.similarity)).toEqual(nearest);
  expect(vectors.nearest("files", 10)).toEqual(nearest);
  expect(vectors.nearest("qwzx", 10)).toEqual([]);
});

test("similarity is clamped, symmetric, 1 for the same word and 0 for an unknown one", () => {
  expect(vectors.similarity("ship", "ship")).toBeCloseTo(1, 2);
  expect(vectors.similarity("ship", "boat")).toBe(vectors.similarity("boat", "ship"));
  expect(vectors.similarity("ship", "qwzx")).toBe(0);
  expect(cosine(Float32Array.of(1, 0), Float32Array.of(-1, 0))).toBe(0);
  expect(cosine(Float32Array.of(0, 0), Float32Array.of(1, 0))).toBe(0);
});

test("texts on one subject are nearer than texts on two", async () => {
  const [dog, puppy, tax] = await createStaticEmbedder(vectors).embed([
    "My dog ran across the garden.",
    "A puppy plays on the grass in the yard.",
    "The tax office sent another invoice.",
  ]);
  if (dog === undefined || puppy === undefined || tax === undefined) throw new Error("no vectors");
  expect(cosine(dog, puppy)).toBeGreaterThan(cosine(dog, tax) + 0.1);
});

test("a text without known words is all zeros", async () => {
  const [nothing] = await createStaticEmbedder(vectors).embed(["qwzx 12 …"]);
  expect(nothing).toEqual(new Float32Array(100));
});

test("synonyms are words of the archive, and count less than the word itself", () => {
  const synonyms = synonymsAmong(vectors, ["purchased", "boat", "the", "qwzx"]);
  expect(synonyms("bought").map(({ word }) => word)).toEqual(["purchased"]);
  const terms = weightsOf(askedTerms("bought", synonyms));
  expect(terms.get("bought")).toBe(1);
  expect(terms.get("purchas")).toBeGreaterThan(0);
  expect(terms.get("purchas")).toBeLessThan(0.5);
});

test("words to be ignored, and all that is near them, are no part of the query", () => {
  const synonyms = synonymsAmong(vectors, ["paul"]);
  const asked = askedTerms("john sails", synonyms, new Set(["john"]));
  expect(asked.map(({ term }) => term)).toEqual(["sail"]);
});

test.each([
  ["nothing", new Uint8Array(0)],
  ["something else", new TextEncoder().encode("PNG and more than twelve bytes")],
  ["the beginning only", bytes.subarray(0, 100_000)],
])("bytes that hold %s are refused with a sentence", (_, damaged) => {
  expect(() => readWordVectors(damaged)).toThrow(/word vectors is damaged/);
});
