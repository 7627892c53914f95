/** A journey of an agent that uses the library: it appends what is new, and sends what it is given. */

import type { Engine } from "../../src/engine.ts";
import type { ToolCallPart } from "../../src/message/message.ts";
import type { PrepareOptions } from "../../src/session/library/prepared-request.ts";
import type { Session } from "../../src/session/library/session.ts";
import type { PreparedTurn } from "../../src/session/library/state.ts";
import type { Overflow } from "../../src/wire/overflow.ts";
import type { JsonObject, Wire } from "../harness/json.ts";
import { mcpTools } from "../harness/tool-catalogue.ts";
import { said } from "./bodies.ts";
import {
  type Journey,
  lookupCall,
  lookupIn,
  OUTPUT_TOKENS,
  overflowOf,
  resultsOf,
  SYSTEM,
  spokenIn,
  steer,
  type Traveller,
  tokensOf,
  type Whim,
  whims,
} from "./journeys.ts";
import { MODELS, providerOf } from "./rehearsal.ts";

export function libraryTraveller(journey: Journey): Traveller {
  const { wire } = journey;
  const whimOf = whims(journey);
  const sessionIn = sessionsOf();
  const options = {
    target: `${providerOf(wire)}/${MODELS[wire]}`,
    wire,
    system: SYSTEM,
    tools: [
      { name: "look", description: "Looks.", parameters: { type: "object" } },
      ...mcpTools(journey.mcpCount),
    ],
    maxOutputTokens: OUTPUT_TOKENS,
  };
  let waiting: readonly JsonObject[] = [];
  return async (engine, turn) => {
    const whim = whimOf(turn);
    const session = await sessionIn(engine);
    if (turn > 0) await steer(engine, session.id, whim, turn);
    const added = waiting.length > 0 ? waiting : [said(whim.asked)];
    waiting = [];
    for (const message of added) await session.append(message);
    const { sent, prepared } = await send(journey, whim, session, options);
    if (prepared === undefined) return sent;
    const text = sent.at(-1) ?? "";
    const lookup = lookupIn(text, whim);
    const spoken =
      lookup === undefined ? spokenIn(wire, whim) : [lookupCall(wire, turn, whim, lookup)];
    const tokens = whim.isReported ? tokensOf(text, journey) : undefined;
    const response = responseOf(wire, spoken, tokens);
    await session.commit(response);
    waiting =
      lookup === undefined
        ? resultsOf(wire, whim)
        : await answersOf(session, prepared.toolCalls(response));
    return sent;
  };
}

interface SentTurn {
  readonly sent: readonly string[];
  /** Undefined: the turn ends here. */
  readonly prepared?: PreparedTurn;
}

async function send(
  journey: Journey,
  whim: Whim,
  session: Session,
  options: PrepareOptions,
): Promise<SentTurn> {
  const textOf = ({ outcome, request }: PreparedTurn): string =>
    `${outcome.kind} ${JSON.stringify(request)}`;
  const prepared = await session.prepare(options);
  const text = textOf(prepared);
  if (prepared.outcome.kind === "refused") return { sent: [text] };
  if (whim.overflow === "none") return { sent: [text], prepared };
  const rejection = rejectionOf(overflowOf(whim, journey, tokensOf(text, journey)));
  const again = await session.overflowed(rejection);
  return again === undefined ? { sent: [text] } : { sent: [text, textOf(again)], prepared: again };
}

/** Of each product the session that goes on. */
function sessionsOf(): (engine: Engine) => Promise<Session> {
  let current: { readonly engine: Engine; readonly session: Session } | undefined;
  return async (engine) => {
    if (current?.engine !== engine)
      current = { engine, session: await engine.session(current?.session.id) };
    return current.session;
  };
}

async function answersOf(
  session: Session,
  calls: readonly ToolCallPart[],
): Promise<readonly JsonObject[]> {
  const messages: JsonObject[] = [];
  for (const call of calls) {
    const answer = await session.answer(call);
    if (answer !== null) messages.push(answer.message as unknown as JsonObject);
  }
  return messages;
}

/** Words of vLLM and of Anthropic, as their clients throw them. */
function rejectionOf({ kind, limitTokens, needTokens, inputTokens, maxTokens }: Overflow): unknown {
  const message =
    limitTokens === undefined
      ? "Input is too long for requested model."
      : kind === "input"
        ? `prompt is too long: ${needTokens} tokens > ${limitTokens} maximum`
        : `input length and \`max_tokens\` exceed context limit: ${inputTokens} + ${maxTokens} > ${limitTokens}, decrease input length or \`max_tokens\` and try again`;
  return { status: 400, error: { error: { type: "invalid_request_error", message } } };
}

/** A whole response of the provider's. */
function responseOf(
  wire: Wire,
  spoken: readonly JsonObject[],
  inputTokens: number | undefined,
): JsonObject {
  const [first = {}] = spoken;
  switch (wire) {
    case "anthropic": {
      const content =
        typeof first["content"] === "string"
          ? [{ type: "text", text: first["content"] }]
          : first["content"];
      const usage =
        inputTokens === undefined
          ? {}
          : { usage: { input_tokens: inputTokens, output_tokens: 30 } };
      return {
        id: "msg_1",
        type: "message",
        role: "assistant",
        content,
        stop_reason: "end_turn",
        ...usage,
      } as JsonObject;
    }
    case "openai-chat": {
      const usage =
        inputTokens === undefined
          ? {}
          : {
              usage: {
                prompt_tokens: inputTokens,
                completion_tokens: 30,
                total_tokens: inputTokens + 30,
              },
            };
      return {
        object: "chat.completion",
        choices: [{ index: 0, message: first, finish_reason: "stop" }],
        ...usage,
      } as JsonObject;
    }
    case "gemini":
      return {
        candidates: [{ index: 0, content: first, finishReason: "STOP" }],
        ...(inputTokens === undefined
          ? {}
          : { usageMetadata: { promptTokenCount: inputTokens, candidatesTokenCount: 30 } }),
      } as JsonObject;
    case "openai-responses": {
      const output = spoken.map((item) =>
        item["role"] === "assistant"
          ? {
              type: "message",
              role: "assistant",
              content: [{ type: "output_text", text: item["content"] }],
            }
          : item,
      );
      const usage =
        inputTokens === undefined
          ? {}
          : {
              usage: {
                input_tokens: inputTokens,
                output_tokens: 30,
                total_tokens: inputTokens + 30,
              },
            };
      return { object: "response", status: "completed", output, ...usage } as JsonObject;
    }
  }
}
