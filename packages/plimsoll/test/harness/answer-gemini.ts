/** Writes a scripted answer for the Gemini wire: one response, the events of a stream, or the pieces of a JSON array. */
import type { AnswerPart, Frame, Reply, Usage } from "./answer-parts.ts";
import { isGemini3 } from "./gemini-contents.ts";
import type { JsonObject } from "./json.ts";

/** Lines end like those of the real service. */
const END = "\r\n";

export function geminiJson(answer: Reply, frame: Frame, usage: Usage): JsonObject {
  return response(wholeParts(answer, frame), { answer, frame, usage, isLast: true });
}

/** Each element is one event, or one piece of the array. */
export function geminiEvents(answer: Reply, frame: Frame, usage: Usage): string[] {
  const pieces = streamedParts(answer, frame);
  const chunks = pieces.map((parts, index) =>
    response(parts, { answer, frame, usage, isLast: index === pieces.length - 1 }),
  );
  return inFrame(chunks, frame);
}

/** The responses of a stream in their frame: a request without `alt=sse` gets a JSON array. */
export function inFrame(chunks: readonly JsonObject[], { isArray }: Frame): string[] {
  return isArray === true ? arrayPieces(chunks) : events(chunks);
}

/**
 * Uses unusual padding, so that a rewritten stream can be recognised. There are no comments: the SDK inside Gemini CLI 0.61 fails
 * at them.
 */
function events(chunks: readonly JsonObject[]): string[] {
  return chunks.map((chunk) => {
    const json = JSON.stringify(chunk);
    const padding = " ".repeat(json.length % 5);
    return `data: ${json.slice(0, -1)}${padding}}${END}${END}`;
  });
}

function arrayPieces(chunks: readonly JsonObject[]): string[] {
  const last = chunks.length - 1;
  return chunks.map((chunk, index) => {
    const json = JSON.stringify(chunk, null, 2);
    return `${index === 0 ? "[" : `,${END}`}${json}${index === last ? `${END}]` : END}`;
  });
}

/* Parts */

/** The signature of a part. Gemini 3 signs the first call of an answer, and a text at its end. */
export function signatureOf(answer: Reply, index: number, frame: Frame): string | undefined {
  const part = answer.parts[index];
  if (part?.thoughtSignature !== undefined) return part.thoughtSignature ?? undefined;
  if (!isGemini3(frame.model)) return undefined;
  const firstCall = answer.parts.findIndex(({ kind }) => kind === "call");
  const isSignedText = part?.kind === "text" && index === answer.parts.length - 1;
  if (index !== firstCall && !isSignedText) return undefined;
  const name = `${frame.model}, request ${frame.requestNumber}, part ${index}`;
  return Buffer.from(`thought of ${name}`).toString("base64");
}

/** A part of an answer that was not streamed. */
function wholeParts(answer: Reply, frame: Frame): JsonObject[] {
  return answer.parts.map((part, index) => ({
    ...partOf(part, part.kind === "call" ? "" : part.chunks.join(""), frame),
    ...signed(signatureOf(answer, index, frame)),
  }));
}

function partOf(part: AnswerPart, text: string, frame: Frame): JsonObject {
  switch (part.kind) {
    case "text":
      return { text };
    case "reasoning":
      return { text, thought: true };
    case "call": {
      const id = isGemini3(frame.model) ? { id: part.id } : {};
      return { functionCall: { ...id, name: part.name, args: part.input } };
    }
  }
}

function signed(thoughtSignature: string | undefined): JsonObject {
  return thoughtSignature === undefined ? {} : { thoughtSignature };
}

/** The parts of each piece of a stream. The signature of a text follows in a part without words. */
function streamedParts(answer: Reply, frame: Frame): readonly (readonly JsonObject[])[] {
  const pieces = answer.parts.flatMap((part, index): JsonObject[][] => {
    const signature = signed(signatureOf(answer, index, frame));
    if (part.kind === "call") return [[{ ...partOf(part, "", frame), ...signature }]];
    const deltas = part.chunks.map((chunk) => [partOf(part, chunk, frame)]);
    return "thoughtSignature" in signature ? [...deltas, [{ text: "", ...signature }]] : deltas;
  });
  return pieces.length === 0 ? [[]] : pieces;
}

/** The forms in which the signed parts of an answer may come back: as they were sent, or with all words of a streamed text in one part. */
export function signedForms(answer: Reply, frame: Frame): ReadonlyMap<string, readonly string[]> {
  const forms = new Map<string, readonly string[]>();
  for (const [index, part] of answer.parts.entries()) {
    const signature = signatureOf(answer, index, frame);
    if (signature === undefined) continue;
    const isEmptyAtFirst = part.kind === "call" || frame.body["stream"] === true;
    const texts = [
      ...(isEmptyAtFirst ? [""] : []),
      ...(part.kind === "call" ? [] : [part.chunks.join("")]),
    ];
    forms.set(
      signature,
      texts.map((text) => signedForm(partOf(part, text, frame))),
    );
  }
  return forms;
}

/** What a signature signs: the words, or the call without its id, which clients may change. */
export function signedForm({ text, functionCall }: JsonObject): string {
  const { name, args = {} } = (functionCall ?? {}) as JsonObject;
  return JSON.stringify(functionCall === undefined ? { text } : { name, args });
}

/* The response around the parts */

interface Around {
  readonly answer: Reply;
  readonly frame: Frame;
  readonly usage: Usage;
  readonly isLast: boolean;
}

function response(parts: readonly JsonObject[], around: Around): JsonObject {
  const { answer, frame, usage, isLast } = around;
  const content = parts.length === 0 ? {} : { content: { parts, role: "model" } };
  const finishReason = isLast ? { finishReason: answer.stopReason ?? "STOP" } : {};
  return {
    candidates: [{ ...content, ...finishReason, index: 0 }],
    ...(frame.includeUsage ? { usageMetadata: usageMetadata(usage, isLast) } : {}),
    modelVersion: frame.model,
    responseId: `r_${String(frame.requestNumber).padStart(8, "0")}`,
  };
}

/** Before the last piece, a stream reports only the tokens of the prompt. Thoughts are not among the tokens of the candidate. */
function usageMetadata(usage: Usage, isLast: boolean): JsonObject {
  const { input, output, cached = 0, reasoning = 0 } = usage;
  const details = { promptTokensDetails: [{ modality: "TEXT", tokenCount: input }] };
  if (!isLast) return { promptTokenCount: input, totalTokenCount: input, ...details };
  return {
    promptTokenCount: input,
    candidatesTokenCount: output - reasoning,
    totalTokenCount: input + output,
    ...(cached === 0 ? {} : { cachedContentTokenCount: cached }),
    ...details,
    ...(reasoning === 0 ? {} : { thoughtsTokenCount: reasoning }),
  };
}
