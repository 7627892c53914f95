/** Gemini's own ways: streams that end more than once, empty texts, two spellings, and bodies without brackets. */

import { expect, test } from "vitest";
import { openWith, pass, violationsOf } from "../../../test/generate/rehearsal.ts";
import type { JsonObject } from "../../message/json.ts";
import { createStreamReader } from "../format/answer-reader.ts";
import { framings } from "../format/framing.ts";
import { readSlices } from "../format/slices.ts";
import type { StreamEvent } from "../format/wire.ts";
import { newViolations } from "../validate/validate.ts";
import { geminiWire } from "./gemini.ts";

const bytesOf = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));

function piece(parts: readonly JsonObject[], finishReason?: string | null): JsonObject {
  const ended = finishReason === undefined ? {} : { finishReason };
  return { candidates: [{ index: 0, content: { role: "model", parts }, ...ended }] };
}

const eventOf = (json: JsonObject): StreamEvent => ({ name: "", data: JSON.stringify(json) });
const usage = { usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 3 } };
const said = ["one ", "two ", "three"].map((text) => ({ text }));

test.each([["STOP"], [""], ["FINISH_REASON_UNSPECIFIED"], [null]])(
  "pieces that all say %j are one answer, and only the last one waits for the end",
  (reason) => {
    const pieces = said.map((part, index) => piece([part], index < 2 ? reason : "STOP"));
    const reader = createStreamReader(geminiWire);
    const passed = [...pieces, usage].map((json) => {
      const chunk = new TextEncoder().encode(`data: ${JSON.stringify(json)}\r\n\r\n`);
      const { passBytes, isTerminal } = reader.push(chunk);
      expect(isTerminal).toBe(false);
      return passBytes === chunk.length;
    });
    expect(passed.slice(0, 2)).toEqual(reason === "STOP" ? [false, false] : [true, true]);
    const answer = reader.finish();
    expect(answer.outcome).toBe("message");
    expect(answer.choices).toEqual([[{ role: "model", parts: [{ text: "one two three" }] }]]);
    expect(answer.usage).toMatchObject({ inputTokens: 7, outputTokens: 3 });
  },
);

test("a merged answer has every piece of every round, and the usage behind the last one", () => {
  const merger = geminiWire.rounds.open((name) => name === "recall");
  const own = { functionCall: { name: "recall", args: {} } };
  const first = [piece([{ text: "I look. " }]), piece([own]), piece([{ text: "" }], "STOP")];
  const second = [...said.map((part) => piece([part], "STOP")), usage];
  const events = first.flatMap((json) => merger.take(eventOf(json)));
  merger.next();
  events.push(...second.flatMap((json) => merger.take(eventOf(json))), ...merger.end());
  const client = geminiWire.answer.open();
  for (const event of events) client.take(event);
  const { choices, outcome, usage: reported } = client.finish();
  expect(outcome).toBe("message");
  expect(choices).toEqual([[{ role: "model", parts: [{ text: "I look. one two three" }] }]]);
  expect(reported?.inputTokens).toBe(7);
});

test("an empty text at the end of an answer is not sent back", () => {
  const call = { functionCall: { name: "recall", args: {} } };
  const whole = geminiWire.answer.read({
    candidates: [{ content: { role: "model", parts: [call, { text: "" }] }, finishReason: "STOP" }],
  });
  expect(whole.choices).toEqual([[{ role: "model", parts: [call] }]]);
  const signed = { text: "", thoughtSignature: "QQ==" };
  expect(geminiWire.answer.read(piece([call, signed], "STOP")).choices[0]?.[0]?.["parts"]).toEqual([
    call,
    signed,
  ]);
});

test("a JSON array in pieces of one byte has the same events", () => {
  const pieces = [piece([{ text: 'a "quoted" ] } 😀' }]), piece([{ text: "b" }], "STOP")];
  const bytes = new TextEncoder().encode(
    `[${pieces.map((one) => JSON.stringify(one, null, 1)).join(",\r\n")}]`,
  );
  for (const step of [1, 7, bytes.length]) {
    const reader = createStreamReader(geminiWire, framings["json-array"]);
    for (let at = 0; at < bytes.length; at += step) reader.push(bytes.subarray(at, at + step));
    const [[message] = []] = reader.finish().choices;
    expect(message?.["parts"]).toEqual([{ text: 'a "quoted" ] } 😀b' }]);
  }
});

/** A conversation whose newest result is larger than the window, in this spelling. */
function withLargeResult(isSnake: boolean, isBare: boolean): JsonObject {
  const [call, result] = isSnake
    ? ["function_call", "function_response"]
    : ["functionCall", "functionResponse"];
  const output = Array.from({ length: 900 }, (_, line) => `line ${line} of the log`).join("\n");
  const response = { [result]: { name: "read", response: { output } } };
  return {
    model: "gemini-2.5-pro",
    [isSnake ? "system_instruction" : "systemInstruction"]: { parts: { text: "You load ships." } },
    tools: [{ [isSnake ? "function_declarations" : "functionDeclarations"]: [{ name: "read" }] }],
    contents: [
      { role: "user", parts: isBare ? { text: "Read it." } : [{ text: "Read it." }] },
      { role: "model", parts: [{ [call]: { name: "read", args: {} } }] },
      { role: "user", parts: isBare ? response : [response] },
    ],
  };
}

test.each([
  [false, false],
  [true, false],
  [true, true],
])(
  "snake case %j, without brackets %j: a large result is moved out, and the request is valid",
  async (isSnake, isBare) => {
    const engine = await openWith(2_500);
    const body = bytesOf(withLargeResult(isSnake, isBare));
    const passed = await pass(engine, "gemini", { messages: [], body, answer: [], addedCount: 1 });
    expect(passed.turn.fitted.refusal).toBeUndefined();
    expect(passed.sentText).toMatch(/pl_[0-9A-Za-z]{22}/);
    expect(violationsOf(passed)).toEqual([]);
    await engine.close();
  },
);

test("the rules see through both spellings", () => {
  const good = withLargeResult(true, true);
  const contents = good["contents"] as readonly JsonObject[];
  const found = newViolations({
    wire: "gemini",
    body: { ...good, contents: contents.slice(0, 2) },
    original: good,
  });
  expect(found.map(({ rule }) => rule)).toContain("G1");
});

test("a model that gives its arguments in pieces, or may not choose, gets no tools of Plimsoll's", () => {
  const contents = [{ role: "user", parts: [{ text: "Hello" }] }];
  const choice = (config: JsonObject): boolean | undefined => {
    const body = bytesOf({ contents, toolConfig: { functionCallingConfig: config } });
    return geminiWire.body.read(body, readSlices(body)).forbidsOwnTools;
  };
  expect(
    [
      { mode: "ANY" },
      { mode: 2 },
      { mode: "VALIDATED" },
      { streamFunctionCallArguments: true },
    ].map(choice),
  ).toEqual([true, true, true, true]);
  expect([{ mode: "AUTO" }, { mode: 1 }, {}, { mode: "NONE" }].map(choice)).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

test.each(["generateContentRequest", "generate_content_request"])(
  "a counting request may have the request in %s",
  (name) => {
    const asked = { model: "models/gemini-2.5-pro", contents: [] };
    const body = bytesOf({ [name]: asked });
    const place = geminiWire.body.counting?.inside?.(body);
    expect(JSON.parse(new TextDecoder().decode(body.subarray(place?.start, place?.end)))).toEqual(
      asked,
    );
    expect(geminiWire.body.counting?.inside?.(bytesOf({ contents: [] }))).toBeUndefined();
  },
);
