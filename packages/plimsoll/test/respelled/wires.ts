/** The same client on each wire: what a provider answers, and how it comes back. */
import type { Json, JsonObject, Wire } from "../harness/json.ts";
import type { Call, Look, Speller } from "./habits.ts";

const PARAMETERS = { type: "object", properties: { place: { type: "string" } } };

function reordered(json: JsonObject, { isReordering }: Look): JsonObject {
  return isReordering ? Object.fromEntries(Object.entries(json).reverse()) : json;
}

function extras({ hasExtraKeys, turn }: Look): JsonObject {
  return hasExtraKeys ? { x_run: { attempt: turn }, x_seen: null } : {};
}

/* Anthropic */

function anthropicBlocks(words: readonly string[], calls: readonly Call[]): readonly JsonObject[] {
  return [
    ...words.map((text) => ({ type: "text", text })),
    ...calls.map(({ id, argument }) => ({
      type: "tool_use",
      id,
      name: "look",
      input: { place: argument, depth: 3 },
    })),
  ];
}

const anthropic: Speller = {
  head: {
    model: "claude-sonnet-4-5",
    max_tokens: 400,
    system: "You load ships.",
    tools: [{ name: "look", description: "Looks at a place.", input_schema: PARAMETERS }],
  },
  opening: [],
  answer: (words, calls) => [{ role: "assistant", content: anthropicBlocks(words, calls) }],
  echo: (words, calls, look) => {
    const blocks = anthropicBlocks(words, calls).map((block) =>
      reordered({ ...block, ...extras(look) }, look),
    );
    const isString = !look.isInParts && calls.length === 0 && words.length === 1;
    const content = isString ? (words[0] ?? "") : blocks;
    return [reordered({ role: "assistant", content }, look)];
  },
  said: (texts, look) => {
    const parts = texts.map((text) => reordered({ type: "text", text }, look));
    const content = look.isInParts || texts.length > 1 ? parts : (texts[0] ?? "");
    return reordered({ role: "user", content }, look);
  },
  results: (calls) => {
    const content = calls.map(({ id, result }) => ({
      type: "tool_result",
      tool_use_id: id,
      content: result,
    }));
    return calls.length === 0 ? [] : [{ role: "user", content }];
  },
};

/* OpenAI Chat */

function chatCalls(calls: readonly Call[]): JsonObject {
  if (calls.length === 0) return {};
  return {
    tool_calls: calls.map(({ id, argument }) => ({
      id,
      type: "function",
      function: { name: "look", arguments: `{"place":  ${JSON.stringify(argument)}}` },
    })),
  };
}

function emptyContent({ empty }: Look): JsonObject {
  if (empty === "absent") return {};
  return { content: empty === "null" ? null : "" };
}

const chat: Speller = {
  head: {
    model: "gpt-5.1",
    max_completion_tokens: 400,
    tools: [{ type: "function", function: { name: "look", parameters: PARAMETERS } }],
  },
  opening: [{ key: "system", json: { role: "system", content: "You load ships." } }],
  answer: (words, calls) => [
    {
      role: "assistant",
      content: words.length === 0 ? null : words.join("\n"),
      refusal: null,
      annotations: [],
      ...chatCalls(calls),
    },
  ],
  echo: (words, calls, look) => {
    const text = words.join("\n");
    const part = { type: "text", text, ...extras(look) };
    const content: Json = look.isInParts ? [reordered(part, look)] : text;
    return [
      reordered(
        {
          role: "assistant",
          ...(words.length === 0 ? emptyContent(look) : { content }),
          ...(look.hasNames ? { name: "model" } : {}),
          ...extras(look),
          ...chatCalls(calls),
        },
        look,
      ),
    ];
  },
  said: anthropic.said,
  results: (calls) =>
    calls.map(({ id, result }) => ({ role: "tool", tool_call_id: id, content: result })),
};

/* OpenAI Responses */

function messageItem(texts: readonly string[], id: string): JsonObject {
  const content = texts.map((text) => ({ type: "output_text", text, annotations: [] }));
  return { type: "message", id, status: "completed", role: "assistant", content };
}

function callItem({ id, argument }: Call): JsonObject {
  return {
    type: "function_call",
    id: `fc_${id}`,
    call_id: id,
    name: "look",
    arguments: `{"place":  ${JSON.stringify(argument)}}`,
    status: "completed",
  };
}

const responses: Speller = {
  head: {
    model: "gpt-5.1",
    max_output_tokens: 400,
    store: false,
    instructions: "You load ships.",
    tools: [{ type: "function", name: "look", parameters: PARAMETERS }],
  },
  opening: [],
  answer: (words, calls) => [
    ...words.map((text) => messageItem([text], `msg_${text.slice(0, 20)}`)),
    ...calls.map(callItem),
  ],
  echo: (words, calls, look) => {
    const spelled = ({ id, status, ...item }: JsonObject): JsonObject =>
      reordered({ ...item, ...(look.hasNames ? { id, status } : {}), ...extras(look) }, look);
    const texts = (look.isMerging && words.length > 1 ? [words] : words.map((text) => [text])).map(
      (all) => {
        const whole = messageItem(all, `msg_${all[0]?.slice(0, 20)}`);
        const plain = { role: "assistant", content: all[0] ?? "", ...extras(look) };
        return look.isInParts || all.length > 1 ? spelled(whole) : reordered(plain, look);
      },
    );
    return [...texts, ...calls.map((call) => spelled(callItem(call)))];
  },
  said: (texts, look) => {
    const parts = texts.map((text) => ({ type: "input_text", text }));
    const content = look.isInParts || texts.length > 1 ? parts : (texts[0] ?? "");
    return reordered({ role: "user", content }, look);
  },
  results: (calls) =>
    calls.map(({ id, result }) => ({
      type: "function_call_output",
      call_id: id,
      output: result,
    })),
};

/* Gemini */

/** Gemini CLI gives the calls other ids than the provider, and the results the same. */
function geminiParts(words: readonly string[], calls: readonly Call[], prefix = ""): JsonObject[] {
  return [
    ...words.map((text) => ({ text })),
    ...calls.map(({ id, argument }) => ({
      functionCall: { id: `${prefix}${id}`, name: "look", args: { place: argument, depth: 3 } },
    })),
  ];
}

const gemini: Speller = {
  head: {
    model: "gemini-2.5-pro",
    generationConfig: { maxOutputTokens: 400 },
    systemInstruction: { parts: [{ text: "You load ships." }] },
    tools: [{ functionDeclarations: [{ name: "look", parameters: PARAMETERS }] }],
  },
  opening: [],
  answer: (words, calls) => [
    { role: "model", parts: [{ text: "Hm.", thought: true }, ...geminiParts(words, calls)] },
  ],
  echo: (words, calls, look) => {
    const texts = look.isMerging ? [words.join("")].filter(Boolean) : words;
    const parts = geminiParts(texts, calls, look.hasNames ? "look__" : "").map((part) =>
      reordered(part, look),
    );
    return [reordered({ role: "model", parts, ...extras(look) }, look)];
  },
  said: (texts, look) => reordered({ role: "user", parts: texts.map((text) => ({ text })) }, look),
  results: (calls) => {
    const parts = calls.map(({ id, result }) => ({
      functionResponse: { id, name: "look", response: { output: result } },
    }));
    return calls.length === 0 ? [] : [{ role: "user", parts }];
  },
};

export const SPELLERS: Readonly<Record<Wire, Speller>> = {
  gemini,
  anthropic,
  "openai-chat": chat,
  "openai-responses": responses,
};
