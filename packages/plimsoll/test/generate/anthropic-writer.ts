/** Generated conversations in the words of Anthropic Messages. */
import { elements, isObject, type Json, type JsonObject } from "../harness/json.ts";
import type { Result, Said, Script, Step } from "./script.ts";
import { imageData } from "./texts.ts";
import { MAX_OUTPUT_TOKENS, type NamedCall, type Spoken, type Writer } from "./writer.ts";

export const anthropicWriter: Writer = {
  messagesField: "messages",
  head,
  opening: () => [],
  said: writeSaid,
  answer: writeAnswer,
  results: writeResults,
  marked,
};

const LONG_MARK = { cache_control: { type: "ephemeral", ttl: "1h" } };
const SHORT_MARK = { cache_control: { type: "ephemeral" } };

function head({ hasMarks, isThoughtOnce }: Script): JsonObject {
  return {
    model: "claude-sonnet-4-5",
    max_tokens: MAX_OUTPUT_TOKENS,
    system: [{ type: "text", text: "You load ships.", ...(hasMarks ? LONG_MARK : {}) }],
    ...(isThoughtOnce ? { thinking: { type: "adaptive" } } : {}),
    x_future: { serial: 0, list: [1.5, null, "\ud83d\ude00"] },
    tools: [
      {
        name: "look",
        description: "Looks at a place.",
        input_schema: { type: "object", properties: { place: { type: "string" } } },
        ...(hasMarks ? LONG_MARK : {}),
      },
    ],
  };
}

function image(seed: number): JsonObject {
  const source = { type: "base64", media_type: "image/png", data: imageData(seed) };
  return { type: "image", source };
}

function writeSaid(said: Said, number: number): readonly JsonObject[] {
  const { text, form, hasImage, hasDocument, hasUnknownPart, hasUnknownField } = said;
  const others: JsonObject[] = [
    ...(hasImage ? [image(number)] : []),
    ...(hasDocument
      ? [{ type: "document", source: { type: "text", media_type: "text/plain", data: text } }]
      : []),
    ...(hasUnknownPart ? [{ type: "future_block", serial: 0, number, note: text }] : []),
  ];
  const isPlain = form === "text" && others.length === 0;
  return [
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
  const signature = Buffer.from(`signature ${number}`).toString("base64");
  const thinking: JsonObject[] = {
    none: [],
    signed: [{ type: "thinking", thinking: `I think ${number}.`, signature }],
    empty: [{ type: "thinking", thinking: "", signature }],
    redacted: [{ type: "redacted_thinking", data: signature }],
  }[thought];
  const uses = calls.map(({ id, argument }) => ({
    type: "tool_use",
    id,
    name: "look",
    input: { place: argument },
  }));
  const text = (extra: JsonObject): JsonObject[] =>
    words === "" ? [] : [{ type: "text", text: words, ...extra }];
  const message = (extra: JsonObject): JsonObject => ({
    role: "assistant",
    content: [...thinking, ...text(extra), ...uses],
  });
  const isPlain = thinking.length === 0 && uses.length === 0;
  const echoed = isPlain ? { role: "assistant", content: words } : message({});
  return {
    answered: [message({ citations: null })],
    echoed: [isReworded ? echoed : message({ citations: null })],
  };
}

function writeResults(
  { isInterrupted }: Step,
  calls: readonly NamedCall[],
  number: number,
): readonly JsonObject[] {
  const results = calls.map(({ id, result }, index) => ({
    type: "tool_result",
    tool_use_id: id,
    ...contentOf(result, number * 10 + index),
  }));
  const words = isInterrupted ? [{ type: "text", text: `By the way ${number}.` }] : [];
  return [{ role: "user", content: [...results, ...words] }];
}

function contentOf({ form, text }: Result, seed: number): JsonObject {
  switch (form) {
    case "text":
      return { content: text };
    case "parts":
      return { content: [{ type: "text", text }] };
    case "image":
      return { content: [{ type: "text", text }, image(seed)] };
    case "empty":
      return seed % 2 === 0 ? {} : { content: "" };
    case "error":
      return { content: text, is_error: true };
  }
}

function marked(message: JsonObject): JsonObject | undefined {
  const { content } = message;
  if (typeof content === "string")
    return { ...message, content: [{ type: "text", text: content, ...SHORT_MARK }] };
  const blocks = elements(content) as readonly Json[];
  const last = blocks.at(-1);
  if (!isObject(last) || String(last["type"]).endsWith("thinking")) return undefined;
  return { ...message, content: [...blocks.slice(0, -1), { ...last, ...SHORT_MARK }] };
}
