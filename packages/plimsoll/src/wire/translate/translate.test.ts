/**
 * Requests and answers between the wires, judged by the strict judges of the scripted provider, which share no code with the
 * translation.
 */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { requestsOf } from "../../../test/generate/conversations.ts";
import { scripts } from "../../../test/generate/script.ts";
import {
  TRANSLATED_WIRES,
  type TranslatedWire,
  translatableBodies,
} from "../../../test/generate/translatable.ts";
import {
  call,
  reasoning,
  renderEvents,
  renderJson,
  reply,
  text,
} from "../../../test/harness/answer.ts";
import type { AnswerPart } from "../../../test/harness/answer-parts.ts";
import { seedOr } from "../../../test/harness/effort.ts";
import type { JsonObject, Wire as WireName } from "../../../test/harness/json.ts";
import type { Finding } from "../../../test/harness/judge.ts";
import { judgeAnthropic } from "../../../test/harness/judge-anthropic.ts";
import { judgeChat } from "../../../test/harness/judge-chat.ts";
import { judgeResponses } from "../../../test/harness/judge-responses.ts";
import type { Message } from "../../message/message.ts";
import { framings } from "../format/framing.ts";
import { wires } from "../wires.ts";
import { AnswerTranslator, translateRequest } from "./translate.ts";

const names = TRANSLATED_WIRES;
type Name = TranslatedWire;
const pairs = names.flatMap((from) =>
  names.filter((to) => to !== from).map((to) => ({ from, to })),
);
const judges: Readonly<Record<Name, (body: JsonObject) => readonly Finding[]>> = {
  anthropic: (body) => judgeAnthropic(body, "messages"),
  "openai-chat": judgeChat,
  "openai-responses": judgeResponses,
};
const models: Readonly<Record<Name, string>> = {
  anthropic: "claude-sonnet-4-5",
  "openai-chat": "gpt-4.1",
  "openai-responses": "gpt-4.1",
};
const between = ({ from, to }: { from: Name; to: Name }) => ({ from: wires[from], to: wires[to] });
const parsed = (body: Uint8Array): JsonObject =>
  JSON.parse(new TextDecoder().decode(body)) as JsonObject;

const size = { roundsMin: 1, roundsMax: 6 };
const conversations = fc.sample(scripts(size), { seed: seedOr(77), numRuns: 50 });
const partOf = fc.oneof(
  fc
    .array(fc.string({ minLength: 1, maxLength: 30 }), { minLength: 1, maxLength: 4 })
    .map((chunks) => text(...chunks)),
  fc
    .tuple(fc.nat(99_999), fc.dictionary(fc.string({ maxLength: 8 }), fc.string({ maxLength: 20 })))
    .map(([id, input]) => call(`call_${id}`, "look", input)),
);
const answers: readonly (readonly AnswerPart[])[] = fc
  .sample(fc.array(partOf, { minLength: 1, maxLength: 4 }), { seed: seedOr(78), numRuns: 50 })
  .map((parts) => [reasoning("sig", "Hm."), ...parts.filter(isFirstOf)]);

function isFirstOf(part: AnswerPart, index: number, parts: readonly AnswerPart[]): boolean {
  return (
    part.kind !== "call" ||
    parts.findIndex((one) => one.kind === "call" && one.id === part.id) === index
  );
}

/** What the client hears: the texts in a row, and the calls. */
function heard(messages: readonly Message[]): unknown {
  const parts = messages.flatMap((message) => message.parts);
  return {
    text: parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join(""),
    calls: parts.flatMap((part) =>
      part.kind === "tool-call" ? [[part.id, part.name, JSON.parse(part.input)]] : [],
    ),
  };
}

describe.each(pairs)("from $from to $to", (pair) => {
  const { from, to } = between(pair);
  const ask = (body: JsonObject) =>
    translateRequest({ from, to }, body, { model: models[pair.to], maxTokens: 4000 });

  test("50 random conversations of texts, tools and images: a strict provider finds nothing wrong", () => {
    for (const script of conversations) {
      for (const body of translatableBodies(pair.from, script)) {
        const made = ask(body);
        expect(made.kind === "refused" ? made.reason : "").toBe("");
        if (made.kind === "translated") expect(judges[pair.to](made.body)).toEqual([]);
      }
    }
  });

  test("what cannot be translated is refused with a sentence, and what is sent is never invalid", () => {
    let refused = 0;
    for (const script of conversations) {
      for (const { body } of requestsOf(pair.from, script)) {
        const made = ask(parsed(body));
        if (made.kind === "translated") expect(judges[pair.to](made.body)).toEqual([]);
        else {
          refused++;
          expect(made.reason).toMatch(/^[a-z"].{10,200}[^.]$|^Plimsoll |^Anthropic /);
        }
      }
    }
    expect(refused).toBeGreaterThan(0);
  });

  test.each([true, false])(
    "50 random answers arrive as they were given, streamed: %s",
    (isStream) => {
      for (const [number, parts] of answers.entries()) {
        const frame = {
          body: {},
          wire: pair.to as WireName,
          model: models[pair.to],
          requestNumber: number,
          includeUsage: true,
        };
        const answer = reply(...parts);
        const whole = JSON.parse(renderJson(answer, frame)) as JsonObject;
        const expected = (to.answer.read(whole).choices[0] ?? []).map(to.messages.decode);
        const translator = new AnswerTranslator(
          { from: to, to: from },
          { id: `x${number}`, model: "other", createdAt: 1_790_000_000, wantsUsage: true },
        );
        const got = isStream
          ? streamed(translator, renderEvents(answer, frame))
          : from.answer.read(translator.translateWhole(whole, to) ?? null);
        expect(translator.problem).toBeUndefined();
        expect(got).toMatchObject({
          outcome: "message",
          usage: { inputTokens: 25, outputTokens: 12 },
        });
        expect(heard((got.choices[0] ?? []).map(from.messages.decode))).toEqual(heard(expected));
      }

      function streamed(translator: AnswerTranslator, pieces: readonly string[]) {
        const spoken = from.answer.open();
        const reader = framings.events.createReader((event) => {
          for (const one of translator.take(event).events) spoken.take(one);
        });
        for (const piece of pieces) reader.push(new TextEncoder().encode(piece));
        const ends = translator.end().events.map((event) => spoken.take(event));
        expect(ends.at(-1)).toBe("terminal");
        return spoken.finish();
      }
    },
  );
});

describe("what only one provider accepts", () => {
  const chat = (messages: readonly JsonObject[], more: JsonObject = {}) =>
    translateRequest(
      { from: wires["openai-chat"], to: wires.anthropic },
      { model: "m", messages, ...more },
      { model: models.anthropic, maxTokens: 4000 },
    );
  const called = (id: string): JsonObject => ({
    role: "assistant",
    content: null,
    tool_calls: [{ id, type: "function", function: { name: "look", arguments: "{}" } }],
  });

  test("ids that a provider would refuse get others, always the same, and never one that is taken", () => {
    const messages = [
      { role: "user", content: "Look." },
      called("call_1"),
      { role: "tool", tool_call_id: "call_1", content: "one" },
      called("functions.look:0"),
      { role: "tool", tool_call_id: "functions.look:0", content: "two" },
      { role: "user", content: "And?" },
    ];
    const [made, again] = [chat(messages), chat([...messages, called("call_3")].slice(0, -1))];
    expect(made).toMatchObject({ kind: "translated" });
    const { messages: sent } = made.kind === "translated" ? made.body : { messages: [] };
    expect(JSON.stringify(sent).match(/"(?:tool_use_)?id":"[^"]*"/g)).toEqual([
      '"id":"call_1"',
      '"tool_use_id":"call_1"',
      '"id":"call_2"',
      '"tool_use_id":"call_2"',
    ]);
    expect(again).toEqual(made);
  });

  test("a failed call says so in its result", () => {
    const result = {
      type: "tool_result",
      tool_use_id: "toolu_1",
      is_error: true,
      content: "ENOENT",
    };
    const body = {
      model: "m",
      max_tokens: 10,
      messages: [
        { role: "user", content: "Look." },
        {
          role: "assistant",
          content: [{ type: "tool_use", id: "toolu_1", name: "look", input: {} }],
        },
        { role: "user", content: [result] },
      ],
    };
    const between = { from: wires.anthropic, to: wires["openai-chat"] };
    const made = translateRequest(between, body, { model: "gpt-4.1", maxTokens: 4000 });
    expect(made).toMatchObject({
      kind: "translated",
      body: { messages: [{}, {}, { role: "tool", content: "This call failed:\nENOENT" }] },
    });
  });

  test("an answer no longer than the other model can give, and its sampling only where it is allowed", () => {
    const user = [{ role: "user", content: "Look." }];
    expect(chat(user, { max_tokens: 99_999, temperature: 0.5 })).toMatchObject({
      body: { max_tokens: 4000, temperature: 0.5 },
    });
    expect(chat(user, { temperature: 1.5 })).toEqual({
      kind: "refused",
      reason: "its temperature is 1.5, and Anthropic takes at most 1",
    });
    const between = { from: wires["openai-chat"], to: wires["openai-responses"] };
    const body = { model: "m", messages: user, temperature: 1.5 };
    const made = translateRequest(between, body, { model: "gpt-5.1", maxTokens: 4000 });
    expect(made).toMatchObject({ kind: "translated", leftOut: ["temperature"] });
  });
});
