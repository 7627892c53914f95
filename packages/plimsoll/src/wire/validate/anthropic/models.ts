/** Facts about Anthropic models for rules A12, A19, A20 and A25. A model that is in no list is not judged. */
import type { Field } from "../rules/fields.ts";

/** A12: models that refuse thinking.type "enabled". */
export const manualThinkingRejected = [
  "claude-opus-4-7",
  "claude-opus-4-8",
  "claude-sonnet-5",
  "claude-fable-5",
  "claude-mythos-5",
];
/** A12: models that refuse thinking.type "adaptive". */
export const adaptiveThinkingRejected = [
  "claude-opus-4-5",
  "claude-sonnet-4-5",
  "claude-haiku-4-5",
];
/** A12: models that refuse thinking.type "disabled". */
export const disabledThinkingRejected = ["claude-fable-5", "claude-mythos-5"];
/** A12: models that refuse temperature, top_p and top_k. */
export const samplingRejected = ["claude-opus-4-7", "claude-opus-4-8"];
/** A19: models that accept the role system inside messages. Only Opus 4.8 is documented; the others are a guess. */
export const systemMessageSupported = [
  "claude-opus-4-8",
  "claude-opus-5",
  "claude-sonnet-5",
  "claude-fable-5",
];
/** A19: models that refuse the role system inside messages. */
export const systemMessageUnsupported = [
  "claude-sonnet-4-5",
  "claude-haiku-4-5",
  "claude-opus-4-5",
  "claude-opus-4-6",
  "claude-opus-4-7",
];
/** A20: models that refuse an assistant message at the end. */
export const prefillRejected = [
  "claude-opus-4-6",
  "claude-opus-4-7",
  "claude-opus-4-8",
  "claude-sonnet-4-6",
  "claude-sonnet-5",
  "claude-fable-5",
];
/** A25: models that accept at most 100 images. Models with larger windows accept 600. */
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
