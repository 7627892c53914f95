/** What the validator is given, and what it answers. It shares nothing with the rest of wire/: an error there must not hide here. */
import type { JsonObject } from "../../../message/json.ts";

export type ValidatedWire = "anthropic" | "openai-chat" | "openai-responses" | "gemini";

export interface Finding {
  readonly rule: string;
  /** Names no position: the same violation reads the same before and after an edit. */
  readonly message: string;
  /** JSON pointer into the body. */
  readonly place?: string;
}

/** Everything a rule may look at. What is absent is not judged. */
export interface RuleInput {
  readonly wire: ValidatedWire;
  readonly body: JsonObject;
  /** The exact text, for rules about bytes. */
  readonly bodyText?: string;
  /** What the client sent this turn. */
  readonly original?: JsonObject;
  readonly originalText?: string;
  readonly originalHeaders?: Readonly<Record<string, string>>;
  /** The turn before: what the client sent, and what was sent on. */
  readonly previousOriginal?: JsonObject;
  readonly previousSent?: JsonObject;
  readonly previousSentText?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Gemini: from the URL. */
  readonly model?: string;
  /** OpenAI Chat: whose rules apply. Absent: those of OpenAI. */
  readonly profile?: "openai" | "mistral" | "deepseek" | "strict-alternation";
  /** Ids that the editor invented. */
  readonly synthetic?: readonly string[];
  /** Index in `body` of the first message that a new edit or revert touches; X1–X3 hold before it. -1: system prompt or tools. */
  readonly editedFrom?: number;
  /** Ids of calls whose arguments an edit names. Absent: any call may be meant. */
  readonly editedCalls?: readonly string[];
}

/** What is judged as texts alone: quickly handed to another thread. */
export interface RuleTexts extends Omit<RuleInput, "body" | "original"> {
  readonly bodyText: string;
}

export function parseRuleInput(texts: RuleTexts): RuleInput {
  const { bodyText, originalText } = texts;
  return {
    ...texts,
    body: JSON.parse(bodyText) as JsonObject,
    ...(originalText === undefined ? {} : { original: JSON.parse(originalText) as JsonObject }),
  };
}

export type Rule = (input: RuleInput) => Iterable<Finding>;
export type Rules = Readonly<Record<string, Rule>>;
