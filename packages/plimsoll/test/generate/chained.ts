/** A chain of strategies on one conversation, as the session tries them, and what is left of it, unit by unit. */
import { type ChainSettings, strategiesFor } from "../../src/compact/chain.ts";
import type { VisibleText } from "../../src/compact/evidence/coherence.ts";
import { messageText } from "../../src/message/message.ts";
import type { Goal, VisibleConversation } from "../../src/message/strategy.ts";
import type { PriorityArea } from "../../src/message/unit.ts";
import { applyProposals, count } from "./seen.ts";

export interface ChainOutcome {
  readonly conversation: VisibleConversation;
  /** Marks, by the number of the message that they stand behind. */
  readonly marks: readonly { readonly behind: number; readonly text: string }[];
  readonly taken: readonly { readonly name: string; readonly tokens: number }[];
}

/** Nothing is truncated when this much was saved, and there is room for a while. */
const ENOUGH = { savedShare: 0.3, filledShare: 0.8 };

export async function chainOn(
  before: VisibleConversation,
  goal: Goal,
  settings: ChainSettings | undefined,
  areas: readonly PriorityArea[],
): Promise<ChainOutcome> {
  let conversation = before;
  const marks: { behind: number; text: string }[] = [];
  const taken: { name: string; tokens: number }[] = [];
  for (const strategy of strategiesFor(settings, { count })) {
    const saved = 1 - conversation.tokens / before.tokens;
    const isEnough =
      saved >= ENOUGH.savedShare && conversation.tokens <= goal.limitTokens * ENOUGH.filledShare;
    const isWithin =
      strategy.isOnlyOverLimit && taken.length > 0 && conversation.tokens <= goal.limitTokens;
    if (isWithin || conversation.tokens <= goal.tokens || (strategy.isLastResort && isEnough))
      break;
    const proposals = await strategy.propose(conversation, goal);
    const applied = applyProposals(conversation, proposals, { areas });
    if (applied.conversation.tokens >= conversation.tokens) continue;
    for (const { kind, before: place, text } of applied.texts)
      if (kind === "mark")
        marks.push({ behind: conversation.messages[place - 1]?.number ?? 0, text });
    conversation = applied.conversation;
    taken.push({ name: strategy.name, tokens: conversation.tokens });
  }
  return { conversation, marks, taken };
}

/** In order. Numbers between those of messages are those of our own texts. */
export function viewOf(
  before: VisibleConversation,
  { conversation, marks }: ChainOutcome,
): { readonly original: readonly VisibleText[]; readonly view: readonly VisibleText[] } {
  const { summary } = conversation;
  const own: readonly VisibleText[] = [
    ...(summary === undefined ? [] : [{ number: 0.5, text: summary, kind: "summary" } as const]),
    ...marks.map(({ behind, text }) => ({ number: behind + 0.5, text, kind: "handle" }) as const),
  ];
  const view = [...unitsOf(conversation), ...own];
  return {
    original: unitsOf(before),
    view: view.toSorted((one, other) => one.number - other.number),
  };
}

function unitsOf({ units, messages }: VisibleConversation): readonly VisibleText[] {
  return units.map(({ first, last }) => ({
    number: messages[first]?.number ?? 0,
    text: messages
      .slice(first, last + 1)
      .map(({ message }) => messageText(message))
      .join("\n"),
    kind: "kept",
  }));
}
