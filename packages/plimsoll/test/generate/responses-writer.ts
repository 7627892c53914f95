/** Generated conversations in the words of OpenAI Responses. */
import { elements, isObject, type Json, type JsonObject } from "../harness/json.ts";
import type { Result, Said, Script, Step } from "./script.ts";
import { imageData } from "./texts.ts";
import { MAX_OUTPUT_TOKENS, type NamedCall, type Spoken, type Writer } from "./writer.ts";

export const responsesWriter: Writer = {
  messagesField: "input",
  head,
  opening: () => [],
  said: writeSaid,
  answer: writeAnswer,
  results: writeResults,
  marked,
};

function head(): JsonObject {
  return {
    model: "gpt-5.1",
    max_output_tokens: MAX_OUTPUT_TOKENS,
    store: false,
    include: ["reasoning.encrypted_content"],
    instructions: "You load ships.",
    x_future: { serial: 0, list: [1.5, null, "\ud83d\ude00"] },
    tools: [
      {
        type: "function",
        name: "look",
        parameters: { type: "object", properties: { place: { type: "string" } } },
      },
    ],
  };
}

function image(seed: number): JsonObject {
  const url = `data:image/png;base64,${imageData(seed)}`;
  return { type: "input_image", image_url: url, detail: "low" };
}

function writeSaid(said: Said, number: number): readonly JsonObject[] {
  const { text, form, hasImage, hasDocument, hasUnknownPart, hasUnknownField } = said;
  const others: JsonObject[] = [
    ...(hasImage ? [image(number)] : []),
    ...(hasDocument
      ? [{ type: "input_file", file_data: `data:text/plain;base64,${btoa(`cargo ${number}`)}` }]
      : []),
    ...(hasUnknownPart ? [{ type: "future_part", serial: 0, number, note: text }] : []),
  ];
  const isPlain = form === "text" && others.length === 0;
  return [
    ...(said.hasInstruction ? [{ role: "developer", content: `From now on: ${number}.` }] : []),
    {
      ...(number % 2 === 0 ? { type: "message" } : {}),
      role: "user",
      content: isPlain ? text : [...others, { type: "input_text", text }],
      ...(hasUnknownField ? { x_origin: { number } } : {}),
    },
  ];
}

function writeAnswer(
  { thought, words, calls, number }: Spoken,
  { isReworded }: Script,
): ReturnType<Writer["answer"]> {
  const reasoning: JsonObject = {
    type: "reasoning",
    id: `rs_${number}`,
    summary: thought === "signed" ? [{ type: "summary_text", text: `I think ${number}.` }] : [],
    encrypted_content: Buffer.from(`encrypted ${number}`).toString("base64"),
  };
  const search = { type: "web_search_call", id: `ws_${number}`, status: "completed" };
  const items = (extra: (item: JsonObject) => JsonObject): readonly JsonObject[] => [
    ...(thought === "none" ? [] : [reasoning]),
    ...(thought === "redacted" ? [extra(search)] : []),
    ...(words === "" ? [] : [extra(messageItem(words, number))]),
    ...calls.map((call) => extra(callItem(call, number))),
  ];
  const withoutStatus = ({ status: _status, ...item }: JsonObject): JsonObject => item;
  const answered = items((item) => item);
  return { answered, echoed: isReworded ? items(withoutStatus) : answered };
}

function messageItem(text: string, number: number): JsonObject {
  const content = [{ type: "output_text", text, annotations: [] }];
  return { type: "message", id: `msg_${number}`, status: "completed", role: "assistant", content };
}

function callItem({ id, argument }: NamedCall, number: number): JsonObject {
  const call = { id: `fc_${number}_${id}`, call_id: id, name: "look", status: "completed" };
  return isCustom(id)
    ? { type: "custom_tool_call", ...call, input: argument }
    : { type: "function_call", ...call, arguments: `{"place":  ${JSON.stringify(argument)}}` };
}

/** Some calls are of the kind that takes plain text. */
function isCustom(id: string): boolean {
  return id.endsWith("7");
}

function writeResults(
  { isInterrupted }: Step,
  calls: readonly NamedCall[],
  number: number,
): readonly JsonObject[] {
  const words = isInterrupted ? [{ role: "user", content: `By the way ${number}.` }] : [];
  const outputs = calls.map(({ id, result }, index) => ({
    type: isCustom(id) ? "custom_tool_call_output" : "function_call_output",
    call_id: id,
    output: outputOf(result, number * 10 + index),
  }));
  return [...outputs, ...words];
}

function outputOf({ form, text }: Result, seed: number): Json {
  switch (form) {
    case "text":
    case "error":
      return text;
    case "parts":
      return [{ type: "input_text", text }];
    case "image":
      return [{ type: "input_text", text }, image(seed)];
    case "empty":
      return "";
  }
}

const MARK = { prompt_cache_breakpoint: { mode: "explicit" } };

function marked(item: JsonObject): JsonObject | undefined {
  const field = item["output"] === undefined ? "content" : "output";
  const content = item[field];
  if (typeof content === "string")
    return { ...item, [field]: [{ type: "input_text", text: content, ...MARK }] };
  const parts = elements(content) as readonly Json[];
  const last = parts.at(-1);
  if (!isObject(last)) return undefined;
  return { ...item, [field]: [...parts.slice(0, -1), { ...last, ...MARK }] };
}
