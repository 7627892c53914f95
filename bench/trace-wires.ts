/** Recorded conversations on each wire, as its client would send them. */

import { recordingOf } from "../packages/plimsoll/src/replay/recording.ts";
import { type Script, scriptOf } from "../packages/plimsoll/src/replay/turns.ts";
import type { WireName } from "../packages/plimsoll/src/wire/format/wire.ts";

/** One line of a recorded set. */
export interface Trace {
  readonly messages: readonly {
    readonly role: "system" | "user" | "assistant" | "tool";
    readonly content: string | null;
    readonly tool_calls?: readonly { readonly function: { readonly arguments: string } }[];
  }[];
  readonly meta: { readonly id: string };
}

export interface WireForm {
  readonly wire: WireName;
  /** Of a provider in the configuration. */
  readonly family: "anthropic" | "openai";
  readonly model: string;
}

export const wireForms: readonly [WireForm, ...WireForm[]] = [
  { wire: "anthropic", family: "anthropic", model: "claude-sonnet-4-5" },
  { wire: "openai-chat", family: "openai", model: "gpt-4.1" },
  { wire: "openai-responses", family: "openai", model: "gpt-4.1" },
];

export function scriptFor({ wire, model }: WireForm, trace: Trace, maxOutput: number): Script {
  const recording = recordingOf(trace, trace.meta.id);
  return scriptOf(recording, { wire, model, maxOutputTokens: maxOutput });
}
