/**
 * The input and the result of the validator. Except for the code that finds slices, the validator shares no code with the rest of
 * wire/, so that the same error cannot be in both.
 */
import type { JsonObject } from "../../../message/json.ts";

export type ValidatedWire = "anthropic" | "openai-chat" | "openai-responses" | "gemini";

export interface Finding {
  readonly rule: string;
  /**
   * The violation in words. It contains no position, so that the same violation has the same message before and after an edit.
   */
  readonly message: string;
  /** JSON pointer into the body. */
  readonly place?: string;
}

/** The data that rules may look at. If a field is absent, the rules that need it report nothing. */
export interface RuleInput {
  readonly wire: ValidatedWire;
  readonly body: JsonObject;
  /** The exact text, for rules about bytes. */
  readonly bodyText?: string;
  /** The body that the client sent in this turn. */
  readonly original?: JsonObject;
  readonly originalText?: string;
  readonly originalHeaders?: Readonly<Record<string, string>>;
  /** The previous turn: the client's body, and the body that Plimsoll sent on. */
  readonly previousOriginal?: JsonObject;
  readonly previousSent?: JsonObject;
  readonly previousSentText?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Model name from the URL. Set only for Gemini. */
  readonly model?: string;
  /** The provider whose rules apply. Set only for OpenAI Chat. Default: OpenAI. */
  readonly profile?: "openai" | "mistral" | "deepseek" | "strict-alternation";
  /** Ids that Plimsoll invented. */
  readonly synthetic?: readonly string[];
  /**
   * Index in `body` of the first message that a new edit or revert touches. Rules X1–X3 apply to the messages before it. -1 means
   * that the edit touches the system prompt or the tools.
   */
  readonly editedFrom?: number;
  /** Ids of the calls whose arguments an edit changed. If absent, an edit may have changed any call. */
  readonly editedCalls?: readonly string[];
}

/** The input as texts only, which can be passed to another thread quickly. */
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
