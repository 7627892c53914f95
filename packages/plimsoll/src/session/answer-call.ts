/** Calls of Plimsoll's own tools, answered for whoever runs the tools of a library session. */

import { PlimsollError } from "../message/error.ts";
import type { Message, ToolCallPart } from "../message/message.ts";
import { readOwnCall } from "../offload/own-tools.ts";
import type { Draft } from "./draft.ts";
import { contentOf, isShownIn } from "./inner-rounds.ts";
import type { OwnAnswer } from "./own-answers.ts";
import { announce } from "./record.ts";
import type { Compacted } from "./steer.ts";
import type { TurnBudget } from "./tool-budget.ts";
import { resultMessage } from "./tool-output.ts";
import type { TurnContext } from "./turn.ts";

export interface AnsweredCall {
  /** The answer as a tool's result: append it. */
  readonly message: Message;
  readonly text: string;
  readonly isError: boolean;
}

/** What is asked about. */
export interface AskedTurn {
  readonly draft: Draft;
  readonly budget: TurnBudget;
  readonly compact: () => Promise<Compacted>;
  readonly findTools: (query: string) => Promise<OwnAnswer>;
}

/** Null: it is no call of ours. One after the other, for each has the room that those before it left. */
export async function answerCall(
  context: Pick<TurnContext, "own" | "exclusively">,
  turn: AskedTurn,
  call: ToolCallPart,
): Promise<AnsweredCall | null> {
  const { draft, budget } = turn;
  const own = draft.offer?.own;
  const tool = own?.named(call.name);
  if (own === undefined || tool === undefined) return null;
  const { tenant, id: session } = draft.log.record;
  return context.exclusively(`answers\0${session}`, async () => {
    const answer = await context.own.answer(
      {
        tenant,
        session,
        roomTokens: budget.answerRoom,
        isShown: isShownIn(draft),
        compact: () => compactText(turn),
        findTools: turn.findTools,
        nameOf: own.nameOf,
      },
      readOwnCall(tool, call.input),
    );
    return taken(turn, call, answer);
  });
}

/** Other results may have taken the room meanwhile: looked at and taken in one step. */
function taken({ draft, budget }: AskedTurn, call: ToolCallPart, answer: OwnAnswer): AnsweredCall {
  const asked = messageFor(call, answer);
  const isRoomy = answer.isError || budget.weigh(asked) <= budget.face.remaining;
  const given = isRoomy ? answer : noRoom(draft);
  const message = isRoomy ? asked : messageFor(call, given);
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

function messageFor(call: ToolCallPart, { isError, ...answer }: OwnAnswer): Message {
  return resultMessage(call, { content: contentOf(answer), isError });
}

function noRoom({ offer }: Draft): OwnAnswer {
  const name = offer?.own.nameOf("compact_context") ?? "compact_context";
  return {
    text: `There is no room left for this answer: call ${name} first, then ask again.`,
    isError: true,
  };
}

async function compactText({ budget, compact }: AskedTurn): Promise<string> {
  try {
    const { tokensBefore, tokensAfter, messagesBefore, messagesAfter, strategies } =
      await compact();
    budget.freed(tokensBefore - tokensAfter);
    return `Compacted: ${tokensBefore} → ${tokensAfter} tokens, ${messagesBefore} → ${messagesAfter} messages in the window (${strategies.join(", ")}). Everything stays readable under its handle.`;
  } catch (error) {
    if (PlimsollError.is(error) && error.code === "NOTHING_TO_DO") return error.message;
    throw error;
  }
}
