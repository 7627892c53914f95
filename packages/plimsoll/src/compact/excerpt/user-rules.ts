/** The user's rules. The summary repeats, word for word, the rules that the view no longer contains. */

import { messageText } from "../../message/message.ts";
import type { VisibleConversation } from "../../message/strategy.ts";
import { type Fact, readEvidence } from "../evidence/evidence.ts";
import { plain } from "../evidence/safe-text.ts";
import { isTalk } from "../relevance/task.ts";
import type { RenderedChoice } from "./render-choice.ts";

/** The rules in messages after the head, heaviest first. Empty for a conversation without tools, because it has no agent. */
export function rulesOf(conversation: VisibleConversation, headLength: number): readonly Fact[] {
  if (isTalk(conversation)) return [];
  const said = conversation.messages.slice(headLength).map(({ message, number, original }) => ({
    message: original?.message ?? message,
    number,
  }));
  const { facts } = readEvidence(said.filter(({ message }) => message.role === "user"));
  return facts.filter((fact) => fact.class === "constraint");
}

/** Maximum number of rules. A text with more of them is a document that somebody pasted. */
const mostRules = 100;

/** The rules that the view no longer contains, oldest first. */
export function missingRules(
  rules: readonly Fact[],
  { messages }: RenderedChoice,
): readonly Fact[] {
  if (rules.length === 0) return [];
  const userMessages = [...messages.values()].filter(({ message }) => message.role === "user");
  const said = plain(userMessages.map(({ message }) => messageText(message)).join("\n"));
  return rules
    .filter(({ text }) => !said.includes(plain(text)))
    .slice(0, mostRules)
    .toSorted((one, other) => one.number - other.number);
}
