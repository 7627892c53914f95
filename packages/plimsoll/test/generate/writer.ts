/** What writes a script in the words of one wire. */
import type { JsonObject } from "../harness/json.ts";
import type { Call, Said, Script, Step, Thought } from "./script.ts";

/** A call with the name that its result will refer to. */
export interface NamedCall extends Call {
  readonly id: string;
}

export interface Spoken {
  readonly thought: Thought;
  readonly words: string;
  readonly calls: readonly NamedCall[];
  /** Unique in the conversation: for signatures and ids. */
  readonly number: number;
}

export interface Writer {
  readonly messagesField: "messages" | "input" | "contents";
  /** Everything of a body but its conversation. */
  head(script: Script): JsonObject;
  /** What stands before the user's first words. */
  opening(): readonly JsonObject[];
  said(said: Said, number: number): readonly JsonObject[];
  /** As the provider answers, and as the client sends it back. */
  answer(
    spoken: Spoken,
    script: Script,
  ): { readonly answered: readonly JsonObject[]; readonly echoed: readonly JsonObject[] };
  results(step: Step, calls: readonly NamedCall[], number: number): readonly JsonObject[];
  /** With a cache mark on its last part; undefined where none can be. */
  marked(message: JsonObject): JsonObject | undefined;
}

/** An answer may take so many tokens, and this is what the provider is asked for. */
export const MAX_OUTPUT_TOKENS = 400;
