/** What is known of Anthropic models, as rules A12, A19, A20 and A25 need it. A model that no list names is not judged. */
import type { Field } from "../rules/fields.ts";

/** A12: thinking.type "enabled" is an error. */
export const manualThinkingRejected = [
  "claude-opus-4-7",
  "claude-opus-4-8",
  "claude-sonnet-5",
  "claude-fable-5",
  "claude-mythos-5",
];
/** A12: thinking.type "adaptive" is an error. */
export const adaptiveThinkingRejected = [
  "claude-opus-4-5",
  "claude-sonnet-4-5",
  "claude-haiku-4-5",
];
/** A12: thinking.type "disabled" is an error. */
export const disabledThinkingRejected = ["claude-fable-5", "claude-mythos-5"];
/** A12: temperature, top_p and top_k are errors. */
export const samplingRejected = ["claude-opus-4-7", "claude-opus-4-8"];
/** A19: role system inside messages. Only Opus 4.8 is stated; the other names are a guess. */
export const systemMessageSupported = [
  "claude-opus-4-8",
  "claude-opus-5",
  "claude-sonnet-5",
  "claude-fable-5",
];
/** A19 */
export const systemMessageUnsupported = [
  "claude-sonnet-4-5",
  "claude-haiku-4-5",
  "claude-opus-4-5",
  "claude-opus-4-6",
  "claude-opus-4-7",
];
/** A20 */
export const prefillRejected = [
  "claude-opus-4-6",
  "claude-opus-4-7",
  "claude-opus-4-8",
  "claude-sonnet-4-6",
  "claude-sonnet-5",
  "claude-fable-5",
];
/** A25: at most 100 images; models with larger windows take 600. */
export const window200k = ["claude-sonnet-4-5", "claude-haiku-4-5", "claude-opus-4-5"];

const known = [
  ...manualThinkingRejected,
  ...adaptiveThinkingRejected,
  ...systemMessageSupported,
  ...systemMessageUnsupported,
  ...prefillRejected,
];

/** Whether the list names the model, with or without a date after its name. */
export function isModelIn(model: Field, names: readonly string[]): boolean {
  if (typeof model !== "string") return false;
  const name = model.replace(/[-@]20\d{6}$/, "");
  return names.includes(name);
}

export function isKnownModel(model: Field): boolean {
  return isModelIn(model, known);
}
