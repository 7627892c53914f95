/** Answers calls to Plimsoll's own tools in a library session, where the caller runs all other tools. */

import { PlimsollError } from "../../message/error.ts";
import type { Message, ToolCallPart } from "../../message/message.ts";
import { type OwnAnswer, readOwnCall } from "../../offload/own-tools.ts";
import { answerTexts } from "../../text/for-models.ts";
import { type Draft, offerIn } from "../draft/draft.ts";
import { announce } from "../log/append.ts";
import type { Compacted } from "../steer/steer.ts";
import type { OwnOffer } from "../tools/own-tools-offer.ts";
import type { TurnContext } from "../turn/context.ts";
import { contentOf, inViewOf, ownToolOf, scopeOf } from "../turn/inner-rounds.ts";
import type { TurnBudget } from "./tool-budget.ts";
import { resultMessage } from "./tool-output.ts";

export interface AnsweredCall {
  /** The answer as a tool result. Append it. */
  readonly message: Message;
  readonly text: string;
  readonly isError: boolean;
}

/** The turn that a call belongs to. */
export interface AskedTurn {
  readonly draft: Draft;
  readonly budget: TurnBudget;
  readonly compact: () => Promise<Compacted>;
  readonly findTools: (query: string) => Promise<OwnAnswer>;
}

/**
 * Answers a call. Returns null if the call is not for one of Plimsoll's tools. Calls are answered one after the other, because
 * each answer may only use the room that the earlier answers did not use.
 */
export async function answerCall(
  context: Pick<TurnContext, "own" | "exclusively" | "config">,
  turn: AskedTurn,
  call: ToolCallPart,
): Promise<AnsweredCall | null> {
  const { draft, budget } = turn;
  const offer = offerIn(draft);
  const tool = offer && ownToolOf(offer, call);
  if (offer === undefined || tool === undefined) return null;
  const { tenant, id: session } = draft.log.record;
  return context.exclusively(`answers\0${session}`, async () => {
    const answer = await context.own.answer(
      {
        tenant,
        session,
        scope: scopeOf(context.config, draft),
        roomTokens: budget.answerRoom,
        isInView: inViewOf(draft),
        compact: () => compactText(turn),
        findTools: turn.findTools,
        nameOf: offer.own.nameOf,
      },
      readOwnCall(tool, call.input),
    );
    return taken(turn, { offer, call }, answer);
  });
}

/**
 * Checks whether there is room for an answer, and reserves it in the same step, because other results may have used room
 * meanwhile.
 */
function taken({ draft, budget }: AskedTurn, asked: OwnAsked, answer: OwnAnswer): AnsweredCall {
  const { offer, call } = asked;
  const whole = messageFor(asked, answer);
  const isRoomy = answer.isError || budget.weigh(whole) <= budget.publicApi.remaining;
  const given = isRoomy ? answer : noRoom(offer);
  const message = isRoomy ? whole : messageFor(asked, given);
  const tokens = budget.weigh(message);
  budget.spend(tokens);
  announce(draft.log, {
    type: "own-call",
    session: draft.log.record.id,
    at: draft.turn.at,
    turn: draft.turn.id,
    tool: call.name,
    tokens,
    isError: given.isError,
  });
  const { text, isError } = given;
  return { message, text, isError };
}

interface OwnAsked {
  readonly offer: OwnOffer;
  readonly call: ToolCallPart;
}

function messageFor({ offer, call }: OwnAsked, { isError, ...answer }: OwnAnswer): Message {
  return resultMessage(call, { content: contentOf(offer, call, answer), isError });
}

function noRoom({ own }: OwnOffer): OwnAnswer {
  const name = own.nameOf("compact_context");
  return { text: answerTexts.noRoom(name), isError: true };
}

async function compactText({ budget, compact }: AskedTurn): Promise<string> {
  try {
    const done = await compact();
    budget.freed(done.tokensBefore - done.tokensAfter);
    return answerTexts.compacted(done);
  } catch (error) {
    if (PlimsollError.is(error) && error.code === "NOTHING_TO_DO") return error.message;
    throw error;
  }
}
