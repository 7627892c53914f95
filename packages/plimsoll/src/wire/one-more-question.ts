/** One more question at the end of a request that a provider has just answered. The request itself stays as it is. */

import type { JsonValue } from "../message/json.ts";
import { readSlices } from "./format/slices.ts";
import { applySplices, fieldSplice, type Splice } from "./format/splice.ts";
import type { Answer, FieldValues, Wire, WireEdit, WireRequest } from "./format/wire.ts";

export interface LastQuestion {
  readonly text: string;
  readonly ownTextPlacement: WireEdit["ownTextPlacement"];
  /** Tokens for the answer, and for thinking if the request does not limit it. All of it must fit into the window's room. */
  readonly outputTokens: {
    readonly answer: number;
    readonly thinking: number;
    readonly room: number;
  };
}

export type QuestionBody =
  | {
      readonly kind: "asks";
      readonly body: Uint8Array;
      /** The most tokens of the model's output, including its thinking. */
      readonly outputTokens: number;
    }
  | { readonly kind: "impossible"; readonly reason: string };

/**
 * The body with the question after its last message. System prompt, tools and messages keep their bytes and cache marks, so that
 * the provider's cache applies. The fields for thinking and streaming stay too: if the settings for thinking change, the cache
 * no longer applies, and some upstreams answer only as a stream.
 */
export function bodyWithQuestion(
  wire: Wire,
  body: Uint8Array,
  question: LastQuestion,
): QuestionBody {
  const slices = readSlices(body);
  const request = wire.body.read(body, slices);
  const impossible = obstacleIn(request);
  const asked = questionSplice(wire, body, slices.elements.get(wire.fields.messages), question);
  if (impossible !== undefined || asked === undefined)
    return { kind: "impossible", reason: impossible ?? "nothing can follow the last message" };
  const outputTokens = outputTokensOf(request, question.outputTokens);
  if (outputTokens < leastOutput + (request.thinkingTokens ?? 0))
    return { kind: "impossible", reason: "the window has no room for a story" };
  const values: FieldValues = new Map<string, JsonValue>([
    ...wire.body.outputFields(body, slices, { maxTokens: outputTokens }),
    ...wire.body.nothingKept,
    ...(hasTools(request) && wire.cache.dependsOnToolChoice !== true
      ? wire.body.noTools(body, slices)
      : []),
  ]);
  const fields = [...values].map(([name, value]) =>
    fieldSplice(slices, name, JSON.stringify(value), wire.fields.messages),
  );
  return { kind: "asks", body: applySplices(body, [asked, ...fields]), outputTokens };
}

/** With fewer tokens than this, an answer says nothing. */
const leastOutput = 200;

/** The reason why nothing may be asked after this request. */
function obstacleIn({ continues, forbidsOwnTools }: WireRequest): string | undefined {
  if (continues !== undefined)
    return "the provider keeps part of the conversation, so a question might become part of it";
  return forbidsOwnTools === true
    ? "the request forces a tool, or asks for several answers"
    : undefined;
}

function questionSplice(
  { edit }: Wire,
  body: Uint8Array,
  messages: readonly { readonly start: number; readonly end: number }[] | undefined,
  { text, ownTextPlacement }: LastQuestion,
): Splice | undefined {
  const last = messages?.at(-1);
  if (last === undefined) return undefined;
  const carried =
    ownTextPlacement === "inside"
      ? edit.carryText(body.subarray(last.start, last.end), { text }, "last")
      : undefined;
  if (carried !== undefined) return { ...last, text: carried };
  return { start: last.end, end: last.end, text: `,${JSON.stringify(edit.ownMessage({ text }))}` };
}

/** No more than the client asked for, because the model may not be able to give more. */
function outputTokensOf(
  { maxOutputTokens, thinkingTokens }: WireRequest,
  { answer, thinking, room }: LastQuestion["outputTokens"],
): number {
  const asked = maxOutputTokens ?? Number.POSITIVE_INFINITY;
  return Math.min(asked, room, answer + (thinkingTokens ?? thinking));
}

function hasTools({ tools, toolsInMessage }: WireRequest): boolean {
  return tools !== undefined || toolsInMessage !== undefined;
}

/** The text of an answer, without thinking and calls. */
export function textOf(wire: Wire, { choices }: Answer): string {
  return (choices[0] ?? [])
    .flatMap((message) => wire.messages.decode(message).parts)
    .flatMap((part) => (part.kind === "text" ? [part.text] : []))
    .join("");
}
