/**
 * The independent validator of request bodies. It judges edits, not clients: an edit fails only for a violation that the client's
 * own body did not have. The rules have the ids of test/wire-fixtures/rules.json.
 */
import type { JsonObject } from "../../message/json.ts";
import { anthropicBetaRules } from "./anthropic/betas.ts";
import { anthropicCacheRules } from "./anthropic/cache.ts";
import { anthropicRules } from "./anthropic/messages.ts";
import { anthropicSizeRules } from "./anthropic/sizes.ts";
import { anthropicThinkingRules } from "./anthropic/thinking.ts";
import { anthropicToolRules } from "./anthropic/tools.ts";
import { crossWireHistoryRules } from "./any/history.ts";
import { crossWireKeptRules } from "./any/kept.ts";
import { crossWireRules } from "./any/texts.ts";
import { geminiRules } from "./gemini/gemini.ts";
import { inOneSpelling } from "./gemini/one-spelling.ts";
import { chatRules } from "./openai/chat.ts";
import { chatArgumentRules } from "./openai/chat-arguments.ts";
import { chatProfileRules } from "./openai/chat-profiles.ts";
import { responsesRules } from "./openai/responses.ts";
import { responsesReasoningRules } from "./openai/responses-reasoning.ts";
import type { Finding, RuleInput, Rules, ValidatedWire } from "./rules/rule.ts";

export type { Finding, RuleInput, RuleTexts, ValidatedWire } from "./rules/rule.ts";

const everyWire: Rules = { ...crossWireHistoryRules, ...crossWireRules, ...crossWireKeptRules };

const rulesOf: Readonly<Record<ValidatedWire, Rules>> = {
  anthropic: {
    ...anthropicRules,
    ...anthropicToolRules,
    ...anthropicThinkingRules,
    ...anthropicCacheRules,
    ...anthropicBetaRules,
    ...anthropicSizeRules,
    ...everyWire,
  },
  "openai-chat": { ...chatRules, ...chatArgumentRules, ...chatProfileRules, ...everyWire },
  "openai-responses": { ...responsesRules, ...responsesReasoningRules, ...everyWire },
  gemini: { ...geminiRules, ...everyWire },
};

/** Every rule by its id. */
export const rules: Rules = Object.assign({}, ...Object.values(rulesOf));

/** Every violation of every rule that can be judged with the given input. */
export function validate(given: RuleInput): readonly Finding[] {
  const input = given.wire === "gemini" ? withOneSpelling(given) : given;
  return Object.values(rulesOf[input.wire]).flatMap((rule) => [...rule(input)]);
}

function withOneSpelling(input: RuleInput): RuleInput {
  const { body, original, previousOriginal, previousSent } = input;
  return {
    ...input,
    body: inOneSpelling(body),
    ...(original && { original: inOneSpelling(original) }),
    ...(previousOriginal && { previousOriginal: inOneSpelling(previousOriginal) }),
    ...(previousSent && { previousSent: inOneSpelling(previousSent) }),
  };
}

/**
 * Violations that the client's own body does not have. Only these count against an edit. The client's body may be far larger than
 * the view, so it is judged only if the view has a violation.
 */
export function newViolations(input: RuleInput): readonly Finding[] {
  const found = validate(input);
  if (input.original === undefined || found.length === 0) return found;
  const known = new Map<string, number>();
  for (const finding of validate(clientAlone(input, input.original))) {
    const key = keyOf(finding);
    known.set(key, (known.get(key) ?? 0) + 1);
  }
  return found.filter((finding) => {
    const left = known.get(keyOf(finding)) ?? 0;
    known.set(keyOf(finding), left - 1);
    return left <= 0;
  });
}

function keyOf({ rule, message }: Finding): string {
  return `${rule} ${message}`;
}

/** The input for judging the client's body on its own. */
function clientAlone(input: RuleInput, body: JsonObject): RuleInput {
  const { wire, originalText, model, profile } = input;
  const headers = input.originalHeaders ?? input.headers;
  return {
    wire,
    body,
    ...(originalText !== undefined && { bodyText: originalText }),
    ...(headers && { headers }),
    ...(model !== undefined && { model }),
    ...(profile && { profile }),
  };
}
