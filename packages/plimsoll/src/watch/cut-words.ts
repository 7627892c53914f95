/** A cut answer in words. Pure. */

import type { AnswerCutEvent } from "../message/event.ts";
import { grouped } from "../text/digits.ts";

const ends: Readonly<Record<AnswerCutEvent["end"], string>> = {
  full_length: "it reached its maximum length",
  window_full: "the window was full",
  silent: "no token arrived for too long",
  broken: "the stream broke",
};

/** Why the answer stopped, how much of it arrived, and what Plimsoll did with it. */
export function cutWords(event: AnswerCutEvent): string {
  const { end, tokens, basis } = event;
  const arrived = `${grouped(tokens)} ${tokens === 1 ? "token" : "tokens"} arrived: ${basis}.`;
  return [`An answer stopped because ${ends[end]}. ${arrived}`, ...courseWords(event)].join(" ");
}

function courseWords(event: AnswerCutEvent): readonly string[] {
  const { outcome, partial, problem, followUp, ticket } = event;
  if (outcome === "seen") return ["The client asks again by itself."];
  if (outcome === "compressed") return ["Plimsoll made room, so the client can ask again."];
  if (outcome === "escalated")
    return [`${ticket === undefined ? "A ticket" : `Ticket ${ticket}`} asks a person what to do.`];
  // The path comes last, because a terminal may have no room for all of it. The task has it too.
  return [
    ...(followUp === undefined ? [] : [`Task ${followUp} completes it.`]),
    ...(problem === undefined ? [] : [`Plimsoll could not keep the part: ${problem}`]),
    ...(partial === undefined ? [] : [`Plimsoll kept the part in ${partial}.`]),
  ];
}
