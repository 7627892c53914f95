import { deflateRawSync } from "node:zlib";
import { expect, test } from "vitest";
import { packRecord, plainRecord, unpackRecord } from "./record.ts";

const turn = {
  id: "turn_1",
  branch: "main",
  provider: "anthropic",
  model: "claude-sonnet-4-5",
  outcome: "passthrough",
  usage: { inputTokens: 1, outputTokens: 1 },
};

test("records come back as they were, short and long, packed and plain", () => {
  const long = { ...turn, text: "ünïcode \ud800 🚢 ".repeat(1000) };
  for (const record of [{}, [], turn, { ...turn, text: "\0\n" }, long])
    for (const pack of [packRecord, plainRecord])
      expect(unpackRecord(pack(record))).toEqual(JSON.parse(JSON.stringify(record)));
});

test("a record takes a fraction of its JSON", () => {
  expect(packRecord(turn).length).toBeLessThan(JSON.stringify(turn).length / 3);
});

test("what zlib packed against the dictionary can still be read", () => {
  // Written by an earlier version. The dictionary never changes.
  const packed = Buffer.from("AUOOJkPaZgmiPVILAA==", "base64");
  expect(unpackRecord(packed)).toEqual(turn);
  expect(() => unpackRecord(deflateRawSync("{}"))).toThrow();
});
