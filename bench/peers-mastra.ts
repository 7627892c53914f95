/** Mastra's TokenLimiterProcessor, at the place where its agent runs it: on the prompt, before each call of the model. */

import type { JsonObject } from "../packages/plimsoll/src/message/json.ts";
import { callsOf, modelMessage, type Peer, type PeerWorld } from "./peers-adapters.ts";

/** As far as it is used here. The package is installed for benchmarks only, so its own types may be absent. */
interface Mastra {
  readonly TokenLimiterProcessor: new (options: {
    readonly limit: number;
    readonly trimMode: "contiguous";
  }) => {
    processLLMRequest(
      request: Prompt,
    ): Promise<{ readonly prompt?: readonly object[] } | undefined>;
  };
}

interface Prompt {
  readonly prompt: readonly object[];
}

/** It has no place for a counter: it estimates. "contiguous" keeps the newest part without gaps, as the others do. */
export async function openMastra({ limitTokens }: PeerWorld): Promise<Peer> {
  const mastra: Mastra = await import(import.meta.resolve("@mastra/core/processors"));
  const limiter = new mastra.TokenLimiterProcessor({ limit: limitTokens, trimMode: "contiguous" });
  const names = new Map<string, string>();
  const sources = new Map<object, JsonObject>();
  return {
    add: async (added) => {
      for (const message of added) {
        for (const call of callsOf(message)) names.set(call.id, call.function.name);
        sources.set(promptMessage(message, names), message);
      }
    },
    manage: async () => {
      const prompt = [...sources.keys()];
      const left = (await limiter.processLLMRequest({ prompt }))?.prompt ?? prompt;
      return () => left.map((message) => sources.get(message) ?? {});
    },
  };
}

/** Below the AI SDK, a text is always in a part. */
function promptMessage(source: JsonObject, names: ReadonlyMap<string, string>): object {
  const message = modelMessage(source, names);
  if (message.role === "system" || typeof message.content !== "string") return message;
  return { ...message, content: [{ type: "text", text: message.content }] };
}
