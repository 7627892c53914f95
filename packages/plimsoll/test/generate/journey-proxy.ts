/** A journey of a client behind the proxy: it sends its whole history every time. */

import type { ReceivedTurn } from "../../src/session/turn/turn.ts";
import type { Answer } from "../../src/wire/format/wire.ts";
import type { JsonObject } from "../harness/json.ts";
import { mcpTools, onWire } from "../harness/tool-catalogue.ts";
import { requestOf, said, tool, withSystem } from "./bodies.ts";
import {
  type Journey,
  lookupCall,
  lookupIn,
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
import { receive } from "./rehearsal.ts";

export function proxyTraveller(journey: Journey): Traveller {
  const { wire } = journey;
  const whimOf = whims(journey);
  const history: JsonObject[] = [];
  /** Where each question is. */
  const questions: number[] = [];
  const tools = [tool(wire), ...onWire(wire, mcpTools(journey.mcpCount))];
  let isAsked = false;
  let session: string | undefined;
  return async (plimsoll, turn) => {
    const whim = whimOf(turn);
    if (session !== undefined) await steer(plimsoll, session, whim, turn);
    const earlier = whim.back === 0 ? undefined : questions.at(-whim.back);
    if (earlier !== undefined) {
      history.length = earlier;
      questions.length -= whim.back;
      isAsked = false;
    }
    if (!isAsked) {
      questions.push(history.length);
      history.push(said(whim.asked));
    }
    isAsked = true;
    const { messages, head } = withSystem(wire, SYSTEM, history);
    const { body } = requestOf(wire, messages, { ...head, tools });
    const received = await receive(plimsoll, wire, body);
    session = received.session;
    const { sent, isAnswered } = await converse(journey, whim, { received, body, turn });
    if (!isAnswered) return sent;
    const results = resultsOf(wire, whim);
    history.push(...spokenIn(wire, whim), ...results);
    isAsked = results.length > 0;
    return sent;
  };
}

interface Under {
  readonly received: ReceivedTurn;
  readonly body: Uint8Array;
  readonly turn: number;
}

interface Conversed {
  readonly sent: readonly string[];
  readonly isAnswered: boolean;
}

/** The turn as a strict provider and a model have it. */
async function converse(
  journey: Journey,
  whim: Whim,
  { received, body, turn }: Under,
): Promise<Conversed> {
  const { wire } = journey;
  const sent: string[] = [];
  const send = (): string => {
    const text = new TextDecoder().decode(received.body ?? body);
    sent.push(`${received.fitted.outcome} ${text}`);
    return text;
  };
  const fail = async (error: string): Promise<Conversed> => {
    await received.end({ status: "failed", error });
    return { sent, isAnswered: false };
  };
  let text = send();
  if (received.fitted.refusal !== undefined) return fail("refused");
  if (whim.overflow !== "none") {
    const overflow = overflowOf(whim, journey, tokensOf(text, journey));
    if (!(await received.overflowed(overflow))) return fail("too long");
    text = send();
  }
  const answerWith = (messages: readonly JsonObject[]): Answer => ({
    outcome: "message",
    choices: [messages],
    ...(whim.isReported
      ? { usage: { inputTokens: tokensOf(text, journey), outputTokens: 30 } }
      : {}),
  });
  const lookup = lookupIn(text, whim);
  if (lookup !== undefined && received.rounds !== undefined) {
    const call = lookupCall(wire, turn, whim, lookup);
    if ((await received.rounds.answered(answerWith([call]))) === "again") text = send();
  }
  const answer = {
    ...answerWith(spokenIn(wire, whim)),
    ...(whim.isCutOff ? { response: CUT_OFF } : {}),
  };
  await received.rounds?.answered(answer);
  await received.end({ status: "complete", answer });
  return { sent, isAnswered: true };
}

/** The window was full before the answer was. */
const CUT_OFF = { type: "message", stop_reason: "model_context_window_exceeded" };
