/**
 * Generated conversations in the words of Gemini. The first call of each answer is signed, as models of the third generation do.
 * There are no images: one takes 1,120 tokens, which is most of the windows in these tests.
 */
import type { JsonObject } from "../harness/json.ts";
import type { Result, Said, Script, Step } from "./script.ts";
import { MAX_OUTPUT_TOKENS, type NamedCall, type Spoken, type Writer } from "./writer.ts";

export const geminiWriter: Writer = {
  messagesField: "contents",
  head,
  opening: () => [],
  said: writeSaid,
  answer: writeAnswer,
  results: writeResults,
  marked: () => undefined,
};

function head(): JsonObject {
  return {
    model: "gemini-3-pro-preview",
    generationConfig: { maxOutputTokens: MAX_OUTPUT_TOKENS, temperature: 0.5 },
    systemInstruction: { parts: [{ text: "You load ships." }] },
    x_future: { serial: 0, list: [1.5, null, "\ud83d\ude00"] },
    tools: [
      {
        functionDeclarations: [
          {
            name: "look",
            description: "Looks at a place.",
            parameters: { type: "OBJECT", properties: { place: { type: "STRING" } } },
          },
        ],
      },
    ],
  };
}

function writeSaid(said: Said, number: number): readonly JsonObject[] {
  const { text, hasDocument, hasUnknownPart, hasUnknownField } = said;
  const parts: JsonObject[] = [
    ...(hasDocument
      ? [{ inlineData: { mimeType: "text/plain", data: btoa(`cargo ${number}`) } }]
      : []),
    ...(hasUnknownPart ? [{ futurePart: { serial: 0, number, note: text } }] : []),
    { text },
  ];
  return [{ role: "user", parts, ...(hasUnknownField ? { x_origin: { number } } : {}) }];
}

/** Every second call has an id. */
function idOf({ id }: NamedCall): JsonObject {
  return Number(id.slice(-5)) % 2 === 0 ? {} : { id };
}

function writeAnswer(
  { thought, words, calls, number }: Spoken,
  { isReworded }: Script,
): ReturnType<Writer["answer"]> {
  const signature = Buffer.from(`signature ${number}`).toString("base64");
  const signed = { thoughtSignature: signature };
  const called = calls.map((call, index) => ({
    functionCall: { ...idOf(call), name: "look", args: { place: call.argument } },
    ...(index === 0 ? signed : {}),
  }));
  const isSignedText = thought === "redacted" && calls.length === 0;
  const texts: JsonObject[] =
    words === "" ? [] : [{ text: words, ...(isSignedText ? signed : {}) }];
  const thoughts = thought === "signed" ? [{ text: `I think ${number}.`, thought: true }] : [];
  const last = thought === "empty" && calls.length === 0 ? [{ text: "", ...signed }] : [];
  const parts = [...texts, ...called, ...last];
  const message = { role: "model", parts: [...thoughts, ...parts] };
  return { answered: [message], echoed: [isReworded ? { role: "model", parts } : message] };
}

/** All results of an answer are in one content, and so is what the user says beside them. */
function writeResults(
  { isInterrupted }: Step,
  calls: readonly NamedCall[],
  number: number,
): readonly JsonObject[] {
  const results = calls.map((call) => ({
    functionResponse: {
      ...idOf(call),
      name: "look",
      ...contentOf(call.result),
    },
  }));
  const words = isInterrupted ? [{ text: `By the way ${number}.` }] : [];
  return [{ role: "user", parts: [...results, ...words] }];
}

function contentOf({ form, text }: Result): JsonObject {
  switch (form) {
    case "text":
      return { response: { output: text } };
    case "parts":
      return { response: { content: [{ type: "text", text }] } };
    case "image":
      return { response: { result: text, place: "deck" } };
    case "empty":
      return { response: {} };
    case "error":
      return { response: { error: text } };
  }
}
