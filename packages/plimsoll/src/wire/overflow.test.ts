import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { JsonValue } from "../message/json.ts";
import { recognizeOverflow } from "./overflow.ts";

interface Said {
  readonly id: string;
  readonly provider: string;
  readonly status: number;
  readonly body: JsonValue;
  readonly kind?: string;
  readonly soft?: boolean;
  readonly needTokens?: number;
  readonly limitTokens?: number;
  readonly inputTokens?: number;
  readonly maxTokens?: number;
}

const read = (name: string): readonly Said[] =>
  readFileSync(join(import.meta.dirname, "../../test/wire-fixtures/overflow", name), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Said);

test.each(read("overflow.ndjson").filter(({ soft }) => soft !== true))(
  "$id of $provider is an overflow, with its figures",
  (said) => {
    const { kind, needTokens, limitTokens, inputTokens, maxTokens } = said;
    const figures = { kind, needTokens, limitTokens, inputTokens, maxTokens };
    const named = Object.fromEntries(
      Object.entries(figures).filter(([, value]) => value !== undefined),
    );
    expect(recognizeOverflow(said)).toEqual(named);
  },
);

test.each(read("not-overflow.ndjson"))("$id of $provider only sounds like one", (said) => {
  expect(recognizeOverflow(said)).toBeUndefined();
});

test("an empty refusal says too little to act on", () => {
  expect(recognizeOverflow({ status: 400, body: "" })).toBeUndefined();
});

test("a long text that almost matches is searched in no time", () => {
  const hostile = `maximum context length is 1 tokens. However, ${"a ".repeat(2_000_000)}`;
  expect(recognizeOverflow({ status: 400, body: { error: { message: hostile } } })).toBeUndefined();
});

test("JSON wrapped in JSON is unwrapped a few times, not for ever", () => {
  let body: JsonValue = { error: { message: "prompt is too long: 2 tokens > 1 maximum" } };
  for (let depth = 0; depth < 50; depth++)
    body = { error: { message: JSON.stringify(body).slice(0, 100_000) } };
  expect(recognizeOverflow({ status: 400, body })).toBeUndefined();
});
