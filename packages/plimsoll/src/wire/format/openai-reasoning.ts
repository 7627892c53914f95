/** Which of OpenAI's models think, and the efforts that they accept. */

import type { WantedReasoning } from "./wire.ts";

const able = /(?:^|\/)(?:o\d|gpt-5|gpt-oss)(?!.*-chat)/;
/** Only the first models of GPT-5 accept this effort. */
const minimal = /(?:^|\/)gpt-5(?:-mini|-nano)?(?:-\d{4}|$)/;

/** Whether the model thinks, as far as Plimsoll knows. */
export function isReasoningModel(model: string): boolean {
  return able.test(model);
}

/** The effort to ask for. Undefined if the model cannot think, as far as Plimsoll knows. */
export function openaiEffort({ effort, model, isMeant }: WantedReasoning): string | undefined {
  if (!(isReasoningModel(model) || isMeant)) return undefined;
  return effort === "minimal" && !minimal.test(model) ? "low" : effort;
}
