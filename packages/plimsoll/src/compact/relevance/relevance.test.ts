/** Relevance is a rank within the session, however it is measured; and a slow embedder must not hold up a request. */

import { describe, expect, test } from "vitest";
import { assistant, prose, shell, user } from "../../../test/generate/said.ts";
import { seenFrom } from "../../../test/generate/seen.ts";
import type { VisibleConversation } from "../../message/strategy.ts";
import type { Embedder } from "../../search/embed.ts";
import { loadWordVectors } from "../../session/models/word-vectors.ts";
import { createRelevance } from "./relevance.ts";

const talk = seenFrom([
  user("Why does the berth calculator overcharge tankers?"),
  assistant(prose("weather in the mountains", 60)),
  assistant("Tankers pay the berth fee twice: the calculator adds it for both ends."),
  assistant(prose("recipe of the soup", 60)),
  assistant("I look at the calculator."),
  user("So where does the calculator overcharge tankers?"),
  ...shell("grep -n charge berth.py", "12: charge twice"),
]);

/** A clock that the test moves by hand. */
function clock(): { now: () => number; pass: (ms: number) => void } {
  let time = 0;
  return { now: () => time, pass: (ms) => (time += ms) };
}

interface Watched extends Embedder {
  readonly batches: (readonly string[])[];
}

/** A fake embedder: texts about soup point along one axis, all other texts along the other. */
function embedder(during: () => void = () => undefined): Watched {
  const batches: (readonly string[])[] = [];
  return {
    name: "fake",
    batches,
    embed: (texts) => {
      batches.push(texts);
      during();
      const isSoup = (text: string): boolean => text.includes("soup") || text.startsWith("Why");
      return Promise.resolve(
        texts.map((text) => Float32Array.from(isSoup(text) ? [1, 0] : [0, 1])),
      );
    },
  };
}

const failing: Embedder = { name: "broken", embed: () => Promise.reject(new Error("no model")) };
const throwing: Embedder = {
  name: "broken",
  embed: () => {
    throw new Error("no model");
  },
};

describe("by terms", () => {
  test("one score for each unit, from 0 for the least to 1 for the most relevant", async () => {
    const scores = await createRelevance({}).of(talk);
    expect(scores.length).toBe(talk.units.length);
    expect(Math.min(...scores)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...scores)).toBe(1);
  });

  test("what shares the task's words is above the middle, what does not is below", async () => {
    const scores = await createRelevance({}).of(talk);
    expect(scores[2]).toBeGreaterThanOrEqual(0.5);
    expect(scores[1]).toBeLessThan(0.5);
    expect(scores[3]).toBeLessThan(0.5);
  });

  test("nothing to tell units apart: all are a half", async () => {
    const same = seenFrom([user("x"), user("x"), user("x")]);
    expect(await createRelevance({}).of(same)).toEqual([0.5, 0.5, 0.5]);
  });

  test("no units, no scores", async () => {
    expect(await createRelevance({}).of(seenFrom([]))).toEqual([]);
  });

  test("the same conversation always scores the same", async () => {
    const relevance = createRelevance({});
    expect(await relevance.of(talk)).toEqual(await relevance.of(talk));
  });

  test("with word vectors, words that mean nearly the same count too", async () => {
    const vectors = await loadWordVectors();
    if (vectors === undefined) throw new Error("data/words.bin is missing.");
    const seen = seenFrom([
      user("find the doctor"),
      assistant("the physician and the nurse are in the hospital"),
      assistant("the carpet is under the wooden table"),
      assistant("yes"),
      user("find the doctor"),
    ]);
    const [, near = 0, far = 0] = await createRelevance({ vectors }).of(seen);
    expect(near).toBeGreaterThan(far);
  });
});

describe("with an embedder", () => {
  const soupIsBest = (scores: readonly number[]): boolean => (scores[3] ?? 0) > (scores[1] ?? 0);

  test("its judgement counts", async () => {
    const scores = await createRelevance({ embedder: embedder(), now: () => 0 }).of(talk);
    expect(soupIsBest(scores)).toBe(true);
  });

  test("relevanceScore: cosine similarity 0–1, if that is what is asked for", async () => {
    const relevance = createRelevance({ embedder: embedder(), now: () => 0 });
    const isSoup = talk.messages.map(({ message }) => JSON.stringify(message).includes("soup"));
    const cosines = await relevance.of(talk, "cosine");
    // The task begins with "Why", so the fake embedder takes it for soup.
    expect(cosines.slice(1, 6)).toEqual(isSoup.slice(1, 6).map((is) => (is ? 1 : 0)));
    expect(await relevance.of(talk)).not.toEqual(cosines);
  });

  test("cosine without anything that knows meanings is the rank", async () => {
    const relevance = createRelevance({});
    expect(await relevance.of(talk, "cosine")).toEqual(await relevance.of(talk));
    const vectors = await loadWordVectors();
    if (vectors === undefined) throw new Error("data/words.bin is missing.");
    const words = createRelevance({ vectors });
    const cosines = await words.of(talk, "cosine");
    expect(cosines).not.toEqual(await words.of(talk));
    expect(Math.min(...cosines)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...cosines)).toBeLessThanOrEqual(1);
  });

  test("in batches of 32", async () => {
    const many = seenFrom(Array.from({ length: 70 }, (_, at) => user(`text ${at}`)));
    const fake = embedder();
    await createRelevance({ embedder: fake, now: () => 0 }).of(many);
    expect(fake.batches.map(({ length }) => length)).toEqual([32, 32, 7]);
  });

  test("each text is embedded once, and again after five minutes", async () => {
    const { now, pass } = clock();
    const fake = embedder();
    const relevance = createRelevance({ embedder: fake, now });
    await relevance.of(talk);
    pass(299_000);
    await relevance.of(talk);
    expect(fake.batches.length).toBe(1);
    pass(2_000);
    await relevance.of(talk);
    expect(fake.batches.length).toBe(2);
  });

  test("only what is new is embedded when the conversation grows", async () => {
    const fake = embedder();
    const relevance = createRelevance({ embedder: fake, now: () => 0 });
    await relevance.of(talk);
    const grown: VisibleConversation = seenFrom([
      ...talk.messages.map(({ message }) => message),
      ...shell("ls", "a.py"),
    ]);
    await relevance.of(grown);
    expect(fake.batches[1]?.length).toBe(1);
  });

  test.each([
    ["fails", failing],
    ["throws", throwing],
    ["answers with too few vectors", { name: "few", embed: () => Promise.resolve([]) }],
  ])("one that %s is left out, and terms alone decide", async (_, broken) => {
    const scores = await createRelevance({ embedder: broken, now: () => 0 }).of(talk);
    expect(scores).toEqual(await createRelevance({}).of(talk));
  });

  test("one that takes more than 100 ms for a batch is left alone for five minutes", async () => {
    const { now, pass } = clock();
    let ms = 101;
    const fake = embedder(() => pass(ms));
    const relevance = createRelevance({ embedder: fake, now });
    const plain = await createRelevance({}).of(talk);
    expect(await relevance.of(talk)).toEqual(plain);
    ms = 5;
    const other = seenFrom([user("Why soup?"), assistant("no"), assistant("soup"), user("Why?")]);
    await relevance.of(other);
    expect(fake.batches.length).toBe(1);
    pass(300_000);
    await relevance.of(other);
    expect(fake.batches.length).toBe(2);
  });

  test("one that takes exactly 100 ms is fast enough", async () => {
    const { now, pass } = clock();
    const scores = await createRelevance({ embedder: embedder(() => pass(100)), now }).of(talk);
    expect(soupIsBest(scores)).toBe(true);
  });

  test("the first slow batch is the last", async () => {
    const many = seenFrom(Array.from({ length: 200 }, (_, at) => user(`text ${at}`)));
    const { now, pass } = clock();
    const fake = embedder(() => pass(500));
    await createRelevance({ embedder: fake, now }).of(many);
    expect(fake.batches.length).toBe(1);
  });

  test("thousands of new texts at once are not embedded in the way of a request", async () => {
    const many = seenFrom(Array.from({ length: 900 }, (_, at) => user(`text ${at}`)));
    const fake = embedder();
    await createRelevance({ embedder: fake, now: () => 0 }).of(many);
    expect(fake.batches).toEqual([]);
  });

  test("long units are cut before they are embedded", async () => {
    const fake = embedder();
    const long = seenFrom([user("Why?"), assistant("x".repeat(100_000)), user("Why?")]);
    await createRelevance({ embedder: fake, now: () => 0 }).of(long);
    expect(Math.max(...(fake.batches[0] ?? []).map(({ length }) => length))).toBeLessThan(2_000);
  });

  test("without a clock it is not used at all", async () => {
    const fake = embedder();
    await createRelevance({ embedder: fake }).of(talk);
    expect(fake.batches).toEqual([]);
  });
});
