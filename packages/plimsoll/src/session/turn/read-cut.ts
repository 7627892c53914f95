/** Recognises an answer that stopped before it was complete. */

import type { TurnStatus } from "../../message/event.ts";
import type { JsonObject } from "../../message/json.ts";
import type { Message, ToolCallPart } from "../../message/message.ts";
import type { Answer, Wire } from "../../wire/format/wire.ts";
import { recognizeOverflow } from "../../wire/overflow.ts";
import type { AnswerEnd, CutAnswer } from "../../work/cut-answer.ts";
import type { Draft } from "../draft/draft.ts";
import type { Fitted } from "../fit/last-resort.ts";
import type { Placed } from "../log/append.ts";

export interface EndedAnswer {
  readonly status: TurnStatus;
  readonly answer?: Answer | undefined;
  /** Tokens of the answer. */
  readonly tokens: number;
}

/** Undefined if the answer is complete, if nothing of it arrived, or if the client itself left. */
export function readCut(
  wire: Wire,
  { status, answer, tokens }: EndedAnswer,
): CutAnswer | undefined {
  const end = answer === undefined ? undefined : endOf(wire, status, answer);
  if (answer === undefined || end === undefined) return undefined;
  const { text, calls } = contentOf(wire, answer.choices[0] ?? []);
  const call = answer.openCall ?? calls.findLast(({ input }) => !isJson(input));
  if (text.trim() === "" && call === undefined) return undefined;
  return {
    end,
    tokens,
    text,
    ...(call === undefined ? {} : { call: { name: call.name, input: call.input } }),
  };
}

function endOf(wire: Wire, status: TurnStatus, answer: Answer): AnswerEnd | undefined {
  if (status === "aborted") return undefined;
  const { error, response } = answer;
  const body = error === undefined ? (response ?? null) : { error: { ...error } };
  if (recognizeOverflow({ status: 200, body }) !== undefined) return "window_full";
  if (status === "complete") return wire.answer.isCutShort(answer) ? "full_length" : undefined;
  // A whole message with a status of failure is a refusal.
  const isStopped = answer.outcome === "cut" || answer.outcome === "error";
  return isStopped && answer.choices.length > 0 ? "broken" : undefined;
}

function contentOf(
  wire: Wire,
  choice: readonly JsonObject[],
): { readonly text: string; readonly calls: readonly ToolCallPart[] } {
  const parts = choice.flatMap((message): Message["parts"] => wire.messages.decode(message).parts);
  return {
    text: parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join(""),
    calls: parts.filter((part) => part.kind === "tool-call"),
  };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** A turn whose answer stopped before it was complete. */
export interface CutTurnEnd {
  readonly placed: Placed;
  readonly draft: Draft;
  readonly fitted: Fitted;
  readonly answer: CutAnswer;
}
