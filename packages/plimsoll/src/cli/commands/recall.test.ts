import { PassThrough, Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { PlimsollError } from "../../message/error.ts";
import type { Input } from "../console/json-lines.ts";
import { runRecallJsonl } from "./recall.ts";

const archive = {
  kind: "archive",
  conversationId: "one",
  messages: [
    { role: "user", content: "The harbour master is called Okonkwo.\u2028She starts at five." },
    { role: "assistant", content: "Noted." },
  ],
};
const question = {
  id: "q1",
  kind: "recall",
  conversationId: "one",
  query: "Who is the harbour master?",
  budgetTokens: 100,
};

async function answers(input: Input): Promise<readonly unknown[]> {
  const output = new PassThrough();
  const written = text(output);
  await runRecallJsonl(input, output);
  output.end();
  return (await written)
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as unknown);
}

function lines(...items: readonly unknown[]): string {
  return items.map((item) => (typeof item === "string" ? item : JSON.stringify(item))).join("\n");
}

async function failure(...items: readonly unknown[]): Promise<PlimsollError> {
  const error: unknown = await answers(Readable.from([lines(...items)])).catch((thrown) => thrown);
  if (!PlimsollError.is(error)) throw new Error("nothing was thrown");
  return error;
}

const expected = { id: "q1", passages: archive.messages.map(({ content }) => content) };

test("a query is answered from the archive before it; other kinds and blank lines are passed over", async () => {
  const input = lines({ kind: "future", id: "f" }, archive, "", question, { kind: "tools" }, "");
  expect(await answers(Readable.from([input]))).toEqual([expected]);
});

test("lines may be torn anywhere, also inside a character, and end at line feeds only", async () => {
  const bytes = Buffer.from(`${lines(archive, question)}\n`);
  const torn = Array.from(bytes, (_, i) => bytes.subarray(i, i + 1));
  expect(await answers(Readable.from(torn))).toEqual([expected]);
});

test("the next archive takes the place of the one before", async () => {
  const other = {
    ...archive,
    conversationId: "two",
    messages: [{ role: "user", content: "Ahoy." }],
  };
  const error = await failure(archive, other, question);
  expect(error.message).toMatch(/^Line 3 .*archive/);
});

test.each([
  ["no JSON", ["{oops"], /^Line 1 cannot be used: it is not a JSON object\.$/],
  ["no object", [archive, "[1]"], /^Line 2 .*not a JSON object/],
  ["an archive without messages", [{ kind: "archive" }], /^Line 1 .*"messages"/],
  ["a query before any archive", [question], /^Line 1 .*archive/],
  ["a query that is no text", [archive, { ...question, query: 1 }], /^Line 2 .*"query"/],
  [
    "a budget that is no number",
    [archive, "", { ...question, budgetTokens: "many" }],
    /^Line 3 .*"budgetTokens"/,
  ],
])("%s is refused by line number as wrong usage", async (_, items, sentence) => {
  const error = await failure(...items);
  expect(error.code).toBe("USAGE");
  expect(error.message).toMatch(sentence);
});

test("answers before a bad line have gone out", async () => {
  const output = new PassThrough();
  const run = runRecallJsonl(Readable.from([lines(archive, question, "{oops")]), output);
  await expect(run).rejects.toThrow(/^Line 3/);
  output.end();
  expect(JSON.parse(await text(output))).toEqual(expected);
});

test("input is read no faster than answers are taken", async () => {
  let asked = 0;
  let release: () => void = () => undefined;
  const output = new Writable({
    highWaterMark: 1,
    write: (_chunk, _encoding, done) => {
      release = done;
    },
  });
  async function* questions(): AsyncGenerator<string> {
    yield `${JSON.stringify(archive)}\n`;
    for (; asked < 5; asked++) yield `${JSON.stringify({ ...question, id: asked })}\n`;
  }
  const run = runRecallJsonl(questions(), output);
  const seen: number[] = [];
  for (let step = 0; step < 5; step++) {
    while (output.writableLength === 0) await new Promise((go) => setImmediate(go));
    for (let turn = 0; turn < 20; turn++) await new Promise((go) => setImmediate(go));
    seen.push(asked);
    release();
    await new Promise((go) => setImmediate(go));
  }
  await run;
  expect(seen).toEqual([0, 1, 2, 3, 4]);
});
