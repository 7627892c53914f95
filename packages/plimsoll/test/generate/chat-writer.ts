/** Generated conversations in the words of OpenAI Chat Completions. */
import { elements, isObject, type Json, type JsonObject } from "../harness/json.ts";
import type { Result, Said, Script, Step } from "./script.ts";
import { imageData } from "./texts.ts";
import { MAX_OUTPUT_TOKENS, type NamedCall, type Spoken, type Writer } from "./writer.ts";

export const chatWriter: Writer = {
  messagesField: "messages",
  head,
  opening: () => [{ role: "system", content: "You load ships. Today is the 15th." }],
  said: writeSaid,
  answer: writeAnswer,
  results: writeResults,
  marked,
};

function head(): JsonObject {
  return {
    model: "gpt-5.1",
    max_completion_tokens: MAX_OUTPUT_TOKENS,
    x_future: { serial: 0, list: [1.5, null, "\ud83d\ude00"] },
    tools: [
      {
        type: "function",
        function: {
          name: "look",
          parameters: { type: "object", properties: { place: { type: "string" } } },
        },
      },
    ],
  };
}

function writeSaid(said: Said, number: number): readonly JsonObject[] {
  const { text, form, hasImage, hasDocument, hasUnknownPart, hasUnknownField } = said;
  const others: JsonObject[] = [
    ...(hasImage
      ? [
          {
            type: "image_url",
            image_url: { url: `data:image/png;base64,${imageData(number)}`, detail: "low" },
          },
        ]
      : []),
    ...(hasDocument
      ? [{ type: "file", file: { file_data: `data:text/plain;base64,${btoa(`cargo ${number}`)}` } }]
      : []),
    ...(hasUnknownPart ? [{ type: "future_part", serial: 0, number, note: text }] : []),
  ];
  const isPlain = form === "text" && others.length === 0;
  const role = number % 2 === 0 ? "developer" : "system";
  return [
    ...(said.hasInstruction ? [{ role, content: `From now on: ${number}.` }] : []),
    {
      role: "user",
      content: isPlain ? text : [...others, { type: "text", text }],
      ...(hasUnknownField ? { x_origin: { number } } : {}),
    },
  ];
}

function writeAnswer(
  { thought, words, calls, number }: Spoken,
  { isReworded }: Script,
): ReturnType<Writer["answer"]> {
  const called = calls.map(({ id, argument }) => ({
    id,
    type: "function",
    function: { name: "look", arguments: `{"place":  ${JSON.stringify(argument)}}` },
  }));
  const tools = called.length === 0 ? {} : { tool_calls: called };
  const content = words === "" && number % 2 === 0 ? null : words;
  const message: JsonObject = {
    role: "assistant",
    content,
    refusal: null,
    annotations: [],
    ...(thought === "none" ? {} : { reasoning_content: `I think ${number}.` }),
    ...tools,
  };
  const echoed = { role: "assistant", content: words, ...tools };
  return { answered: [message], echoed: [isReworded ? echoed : message] };
}

function writeResults(
  { isInterrupted }: Step,
  calls: readonly NamedCall[],
  number: number,
): readonly JsonObject[] {
  const words = isInterrupted ? [{ role: "user", content: `By the way ${number}.` }] : [];
  return [
    ...calls.map(({ id, result }) => ({
      role: "tool",
      tool_call_id: id,
      content: contentOf(result),
    })),
    ...words,
  ];
}

function contentOf({ form, text }: Result): Json {
  if (form === "empty") return "";
  return form === "parts" || form === "image" ? [{ type: "text", text }] : text;
}

const MARK = { cache_control: { type: "ephemeral" } };

function marked(message: JsonObject): JsonObject | undefined {
  const { content } = message;
  if (typeof content === "string")
    return { ...message, content: [{ type: "text", text: content, ...MARK }] };
  const parts = elements(content) as readonly Json[];
  const last = parts.at(-1);
  if (!isObject(last)) return undefined;
  return { ...message, content: [...parts.slice(0, -1), { ...last, ...MARK }] };
}
