/** The user's rules. The summary repeats, word for word, the rules that the view no longer contains. */

import { messageText } from "../../message/message.ts";
import type { VisibleConversation } from "../../message/strategy.ts";
import { type Fact, readEvidence } from "../evidence/evidence.ts";
import { plain } from "../evidence/safe-text.ts";
import { isTalk } from "../relevance/task.ts";
import { estimateTokens } from "./long-lines.ts";
import type { RenderedChoice } from "./render-choice.ts";

/**
 * Limits for the repeated rules: a share of the excerpt's token budget, and a number of tokens. Rules beyond these limits compete
 * with all other content.
 */
const bound = { ofRoom: 0.02, tokens: 300 };

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

export function missingRules(
  rules: readonly Fact[],
  { messages }: RenderedChoice,
  roomTokens: number,
): readonly Fact[] {
  if (rules.length === 0) return [];
  const userMessages = [...messages.values()].filter(({ message }) => message.role === "user");
  const said = plain(userMessages.map(({ message }) => messageText(message)).join("\n"));
  let left = Math.min(bound.tokens, roomTokens * bound.ofRoom);
  const fitting: Fact[] = [];
  for (const rule of rules.filter(({ text }) => !said.includes(plain(text)))) {
    const cost = ruleTokens(rule);
    if (cost > left) continue;
    left -= cost;
    fitting.push(rule);
  }
  return fitting;
}

function ruleTokens({ text }: Fact): number {
  return estimateTokens(text) + 4;
}

export function rulesTokens(rules: readonly Fact[]): number {
  return rules.reduce((sum, rule) => sum + ruleTokens(rule), 0);
}
