/** How the scripted upstream speaks Gemini. */

import {
  type Asked,
  type Block,
  type Frame,
  type Part,
  type PathFields,
  piecesOf,
  type Reply,
  type UpstreamForm,
  type WireEvent,
} from "../form.ts";
import { type Answer, type Body, type ContentPart, declaredIn, signatureOf } from "./body.ts";
import { faultIn } from "./rules.ts";

const pathPattern =
  /^\/v1beta\/models\/([^/:]+):(?:generateContent|(streamGenerateContent\?alt=sse))$/;

export const geminiUpstream: UpstreamForm<Body, Answer> = {
  route,
  faultIn,
  asked: askedIn,
  blocks,
  // A picture has a fixed number of tokens at the usual resolution.
  pictureTokens: () => 1_120,
  answer: answerOf,
  events: eventsOf,
  refusal: (message) => ({ error: { code: 400, message, status: "INVALID_ARGUMENT" } }),
  tooLong: ({ tokens, maxTokens, window }) =>
    `The input token count (${tokens}) exceeds the maximum number of tokens allowed (${window - maxTokens}).`,
};

function route(path: string): PathFields | undefined {
  const [, model, stream] = pathPattern.exec(path) ?? [];
  return model === undefined ? undefined : { model, isStreamed: stream !== undefined };
}

function askedIn({ contents, tools, generationConfig }: Body, path: PathFields): Asked {
  return {
    model: path.model ?? "",
    maxTokens: generationConfig.maxOutputTokens,
    isStreamed: path.isStreamed === true,
    tools: declaredIn(tools),
    parts: contents.flatMap(({ role, parts }) =>
      parts.map((part) => partOf(part, role === "model")),
    ),
  };
}

function partOf(part: ContentPart, isFromModel: boolean): Part {
  const { functionCall: call, functionResponse: result, text } = part;
  if (call !== undefined)
    return { kind: "call", id: call.id ?? "", text: JSON.stringify(call.args) };
  if (text !== undefined) return { kind: "text", isFromModel, text };
  if (result === undefined) return { kind: "picture", text: "" };
  const { id = "", response } = result;
  const texts = Object.values(response).map((value) =>
    typeof value === "string" ? value : JSON.stringify(value),
  );
  return { kind: "result", id, text: texts.join("\n"), isError: "error" in response };
}

function blocks({ tools = [], systemInstruction, contents }: Body): readonly Block[] {
  const all: readonly object[] = [
    ...tools.flatMap(({ functionDeclarations: functions }) => functions),
    ...(systemInstruction?.parts ?? []),
    ...contents.flatMap(({ role, parts }) => parts.map((part) => ({ role, ...part }))),
  ];
  return all.map((json) => ({ json, isMarked: false }));
}

/** The first call of an answer is signed. */
function answerOf({ text, calls }: Reply, { number, model, usage }: Frame): Answer {
  const prompt = usage.fresh + usage.cacheRead + usage.cacheWrite;
  const parts: readonly ContentPart[] = [
    ...(text === "" ? [] : [{ text }]),
    ...calls.map(({ id, name, input }, index) => ({
      functionCall: { id, name, args: input },
      ...(index === 0 ? { thoughtSignature: signatureOf(id) } : {}),
    })),
  ];
  return {
    candidates: [{ content: { role: "model", parts }, finishReason: "STOP", index: 0 }],
    usageMetadata: {
      promptTokenCount: prompt,
      candidatesTokenCount: usage.output,
      ...(usage.cacheRead === 0 ? {} : { cachedContentTokenCount: usage.cacheRead }),
      totalTokenCount: prompt + usage.output,
    },
    modelVersion: model,
    responseId: `demo-${number}`,
  };
}

/** Each piece of a stream is a small answer. Only the last one says that the answer has ended, and what it cost. */
function eventsOf(answer: Answer): readonly WireEvent[] {
  const [{ content }] = answer.candidates;
  const { promptTokenCount } = answer.usageMetadata;
  const parts = content.parts.flatMap((part) =>
    part.text === undefined ? [part] : piecesOf(part.text).map((text) => ({ text })),
  );
  const pieces = parts.map((part, index): Answer => {
    const candidate = { content: { role: "model", parts: [part] }, index: 0 } as const;
    return index === parts.length - 1
      ? { ...answer, candidates: [{ ...candidate, finishReason: "STOP" }] }
      : {
          ...answer,
          candidates: [candidate],
          usageMetadata: { promptTokenCount, totalTokenCount: promptTokenCount },
        };
  });
  return pieces.map((piece) => ({ type: "", data: JSON.stringify(piece) }));
}
