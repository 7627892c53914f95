/** How the demo's client speaks Gemini. */

import { demoTools } from "../../tools.ts";
import type { ScriptedCall } from "../../work.ts";
import { type ClientForm, eventJson, type News, type WireEvent, type Written } from "../form.ts";
import type { Answer, Body, Content, ContentPart } from "./body.ts";

export const geminiClient: ClientForm<Body, Content, Answer> = {
  headers: { "x-goog-api-key": "no-key-is-needed-for-the-demo" },
  path: (model, isStreamed) =>
    `/v1beta/models/${model}:${isStreamed ? "streamGenerateContent?alt=sse" : "generateContent"}`,
  messagesOf: (news) => [{ role: "user", parts: newsParts(news) }],
  body: bodyOf,
  joined,
  kept: ({ candidates: [{ content }] }) => [content],
  reply: ({ candidates: [{ content }] }) => ({
    text: content.parts.map(({ text = "" }) => text).join(""),
    calls: content.parts.flatMap(({ functionCall: call }) =>
      call === undefined ? [] : [{ id: call.id ?? "", name: call.name, input: call.args }],
    ),
  }),
};

function newsParts({ calls, user }: News): readonly ContentPart[] {
  return [
    ...calls.map((call) => ({ functionResponse: responseOf(call) })),
    ...(user === undefined ? [] : [{ text: user }]),
  ];
}

function responseOf({
  id,
  name,
  output: { kind, content },
}: ScriptedCall): NonNullable<ContentPart["functionResponse"]> {
  if (kind === "error") return { id, name, response: { error: content } };
  if (kind !== "image") return { id, name, response: { output: content } };
  const picture = { inlineData: { mimeType: "image/png", data: content } };
  return { id, name, response: { output: "The picture is attached." }, parts: [picture] };
}

function bodyOf({ maxTokens, system, messages }: Written<Content>): Body {
  return {
    systemInstruction: { parts: [{ text: system }] },
    contents: messages,
    tools: [
      {
        functionDeclarations: demoTools.map(({ name, description, schema }) => ({
          name,
          description,
          parametersJsonSchema: schema,
        })),
      },
    ],
    generationConfig: { maxOutputTokens: maxTokens },
  };
}

/** Joins the texts of a stream, and keeps every other part as it came. */
function joined(events: readonly WireEvent[]): Answer {
  const pieces = events.map((event) => eventJson<Answer>(event));
  const last = pieces.at(-1);
  if (last?.candidates[0].finishReason === undefined)
    throw new Error("The stream ended before its answer did.");
  const parts: ContentPart[] = [];
  for (const part of pieces.flatMap(({ candidates: [{ content }] }) => content?.parts ?? [])) {
    const before = parts.at(-1);
    if (part.text !== undefined && before?.text !== undefined)
      parts[parts.length - 1] = { text: before.text + part.text };
    else parts.push(part);
  }
  const [candidate] = last.candidates;
  return { ...last, candidates: [{ ...candidate, content: { role: "model", parts } }] };
}
