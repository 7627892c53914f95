import fc from "fast-check";
import { expect, test } from "vitest";
import { tries } from "../../../test/harness/effort.ts";
import { parseJson, readSlices } from "../../wire/format/slices.ts";
import { createPrefixMemory, type LearnedRequest } from "./last-request.ts";

const bytesOf = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));
const message = fc.record({
  role: fc.constantFrom("user", "assistant"),
  content: fc.string({ maxLength: 12 }),
});
const body = fc.record({
  model: fc.constantFrom("a", "b"),
  messages: fc.array(message, { maxLength: 6 }),
  stream: fc.boolean(),
});

/** The identity of a message is its own text here, so that a wrong one is noticed. */
function learn(bytes: Uint8Array): LearnedRequest {
  const slices = readSlices(bytes);
  const texts = (slices.elements.get("messages") ?? []).map((slice) =>
    JSON.stringify(parseJson(bytes, slice)),
  );
  return {
    body: bytes,
    slices,
    rulerKey: "r",
    messages: texts.map((identity) => ({
      role: "user",
      identity,
      hash: identity,
      bytes: 1,
      tokens: 1,
      certainty: "exact",
    })),
    links: texts.map((chain) => ({ chain, looseChain: chain, talk: chain, isLeading: false })),
  };
}

test("whatever came before, a request reads the same, and what is recalled is its own beginning", () => {
  fc.assert(
    fc.property(
      body,
      body,
      fc.array(message, { maxLength: 3 }),
      fc.boolean(),
      (first, other, added, isRelated) => {
        const memory = createPrefixMemory();
        memory.remember("key", learn(bytesOf(first)));
        const next = bytesOf(
          isRelated ? { ...first, messages: [...first.messages, ...added] } : other,
        );
        const recalled = memory.recall("key", next, "messages");
        const truth = learn(next);
        expect(recalled.slices).toEqual(truth.slices);
        expect(recalled.messages).toEqual(truth.messages.slice(0, recalled.messages.length));
        expect(recalled.links).toEqual(truth.links.slice(0, recalled.links.length));
        // The last message may have been the end of its array, and is now followed by a comma.
        if (isRelated)
          expect(recalled.messages.length).toBeGreaterThanOrEqual(first.messages.length - 1);
      },
    ),
    tries({ runs: 1000, seed: 20261116 }),
  );
});

test("another conversation's request is not recalled", () => {
  const memory = createPrefixMemory();
  const bytes = bytesOf({
    messages: [
      { role: "user", content: "x" },
      { role: "user", content: "y" },
    ],
  });
  memory.remember("one", learn(bytes));
  expect(memory.recall("one", bytes, "messages").messages).toHaveLength(2);
  expect(memory.recall("other", bytes, "messages").messages).toHaveLength(0);
});

test("what is kept is bounded: the least used goes first", () => {
  const memory = createPrefixMemory();
  const large = bytesOf({
    messages: [{ content: "x".repeat(15 * 1024 * 1024) }, { content: "y" }],
  });
  const learned = learn(large);
  for (let index = 0; index < 12; index++) memory.remember(`key ${index}`, learned);
  const known = Array.from(
    { length: 12 },
    (_, index) => memory.recall(`key ${index}`, large, "messages").messages.length > 0,
  );
  expect(known).toEqual([
    false,
    false,
    false,
    false,
    true,
    true,
    true,
    true,
    true,
    true,
    true,
    true,
  ]);
});
