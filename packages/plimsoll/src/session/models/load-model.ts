/** From settings to a model that can be asked. The SDKs take most of a second to load: only who needs one waits for it. */

import type { LanguageModel } from "ai";
import { PlimsollError } from "../../message/error.ts";

export type SummariserProvider = "anthropic" | "openai" | "compatible" | "ollama";

export interface ModelSettings {
  readonly provider: SummariserProvider;
  readonly model: string;
  readonly baseUrl?: string;
  /** Name of the environment variable that holds the key; the key itself is never configured. */
  readonly apiKeyEnv: string;
}

export interface ModelRim {
  readonly fetch?: typeof globalThis.fetch;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const defaultUrl: Readonly<Partial<Record<SummariserProvider, string>>> = {
  openai: "https://api.openai.com/v1",
  ollama: "http://127.0.0.1:11434/v1",
};

export async function loadModel(settings: ModelSettings, rim: ModelRim): Promise<LanguageModel> {
  const apiKey = keyOf(settings, rim);
  const fetch = rim.fetch === undefined ? {} : { fetch: rim.fetch };
  if (settings.provider === "anthropic") {
    const { createAnthropic } = await import("@ai-sdk/anthropic");
    const baseURL = settings.baseUrl === undefined ? {} : { baseURL: settings.baseUrl };
    return createAnthropic({ apiKey: apiKey ?? "", ...baseURL, ...fetch })(settings.model);
  }
  const baseURL = settings.baseUrl ?? defaultUrl[settings.provider];
  if (baseURL === undefined)
    throw new PlimsollError("CONFIG_INVALID", "A compatible summariser needs a baseUrl.");
  const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
  const provider = createOpenAICompatible({
    name: settings.provider,
    baseURL,
    ...(apiKey === undefined ? {} : { apiKey }),
    ...fetch,
  });
  return provider(settings.model);
}

/** Servers on one's own machine often want none; the others always do. */
function keyOf({ provider, apiKeyEnv }: ModelSettings, { env }: ModelRim): string | undefined {
  const key = env[apiKeyEnv]?.trim() || undefined;
  if (key === undefined && (provider === "anthropic" || provider === "openai"))
    throw new PlimsollError("CONFIG_INVALID", `The summariser needs a key in ${apiKeyEnv}.`);
  return key;
}
