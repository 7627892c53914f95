/** The model that writes the story of a conversation: how a user names it, and what follows from the name. */

import { z } from "zod";
import { PlimsollError } from "../message/error.ts";
import type { PriceList } from "../prompt/price-rows.ts";
import { priceListOf } from "../prompt/prices.ts";
import { http, usd } from "./providers.ts";

const providers = ["anthropic", "openai", "gemini", "compatible", "ollama"] as const;
type SummaryProvider = (typeof providers)[number];

/** The variables that usually contain the keys of the vendors. */
const keyVariables: Readonly<Partial<Record<SummaryProvider, string>>> = {
  anthropic: "ANTHROPIC_API_KEY",
  openai: "OPENAI_API_KEY",
  gemini: "GEMINI_API_KEY",
};

const keys = z
  .strictObject({
    provider: z
      .enum(["session", ...providers])
      .describe("The provider of the model. `session`: the model of the conversation itself."),
    model: z.string().describe("The name of the model.").optional(),
    baseUrl: http.describe("Address of the server. Default: the vendor's address.").optional(),
    apiKeyEnv: z
      .string()
      .regex(/^[A-Z][A-Z0-9_]*$/)
      .describe(
        "Name of the environment variable that contains the key. Never the key itself. Default: at the vendor's own address `ANTHROPIC_API_KEY`, `OPENAI_API_KEY` or `GEMINI_API_KEY`, elsewhere none.",
      )
      .optional(),
    maxTokens: z
      .number()
      .int()
      .min(100)
      .max(8000)
      .describe("Maximum length of a summary in tokens. Default: 1000.")
      .optional(),
    timeoutMs: z
      .number()
      .int()
      .min(100)
      .max(300_000)
      .describe(
        "Time limit in milliseconds. After it, Plimsoll writes the summary without a model. Default: 10000. For `provider: session`, the default is 60000.",
      )
      .optional(),
    maxUsdPerDay: usd
      .describe(
        "Maximum cost of summaries per day in US dollars. Works only if Plimsoll knows the model's price, or if you set both prices. Default: no limit. For `provider: session`, the default is 1.",
      )
      .optional(),
    inputUsdPerMTok: usd
      .describe("US dollars per million input tokens. Default: the price that Plimsoll knows.")
      .optional(),
    outputUsdPerMTok: usd
      .describe("US dollars per million output tokens. Set both prices or none.")
      .optional(),
    maxCallsPerHour: z
      .number()
      .int()
      .min(1)
      .max(10_000)
      .describe(
        "Maximum number of calls per hour. Default: 30. For `provider: session`, the default is 6.",
      )
      .optional(),
  })
  .refine(({ provider, model }) => provider === "session" || model !== undefined, {
    error: "name the model, for example model: claude-haiku-4-5",
  })
  .refine(
    ({ provider, model, baseUrl, apiKeyEnv, inputUsdPerMTok, outputUsdPerMTok }) =>
      provider !== "session" ||
      [model, baseUrl, apiKeyEnv, inputUsdPerMTok, outputUsdPerMTok].every(
        (value) => value === undefined,
      ),
    {
      error:
        "with provider: session, leave out model, baseUrl, apiKeyEnv and prices, because they are those of the conversation",
    },
  )
  .refine(
    ({ inputUsdPerMTok, outputUsdPerMTok }) =>
      (inputUsdPerMTok === undefined) === (outputUsdPerMTok === undefined),
    { error: "set both inputUsdPerMTok and outputUsdPerMTok, or none of them" },
  )
  .refine(
    ({ maxUsdPerDay, provider, model = "", ...prices }) =>
      maxUsdPerDay === undefined ||
      provider === "session" ||
      pricesOf({ provider, model, ...prices }).prices !== undefined,
    {
      error:
        "maxUsdPerDay needs inputUsdPerMTok and outputUsdPerMTok, because no price is known for this model",
    },
  );

const forms =
  "give session, or a provider and a model such as anthropic/claude-haiku-4-5 (the provider is anthropic, openai, gemini or ollama), or keys";
const name = z.string().regex(/^(?:anthropic|openai|gemini|ollama)\/\S+$/, { error: forms });

export const summariser = z.union([z.literal("session"), name, keys], { error: forms });

/** The user's choice, with what follows from it. */
export type SummariserChoice =
  | { readonly kind: "session"; readonly bounds: SummaryBounds }
  | {
      readonly kind: "model";
      readonly provider: SummaryProvider;
      readonly model: string;
      readonly baseUrl?: string;
      readonly apiKeyEnv?: string;
      readonly prices: PriceList;
      readonly bounds: SummaryBounds;
    };

export interface SummaryBounds {
  readonly maxTokens?: number;
  readonly timeoutMs?: number;
  readonly maxUsdPerDay?: number;
  readonly maxCallsPerHour?: number;
}

export function summariserChoice(
  given: z.infer<typeof summariser> | undefined,
): SummariserChoice | undefined {
  if (given === undefined) return undefined;
  if (typeof given === "string") return namedChoice(given);
  const { provider, model = "", baseUrl, apiKeyEnv } = given;
  const bounds = boundsOf(given);
  if (provider === "session") return { kind: "session", bounds };
  return {
    kind: "model",
    provider,
    model,
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...keyVariable(apiKeyEnv ?? (baseUrl === undefined ? keyVariables[provider] : undefined)),
    prices: pricesOf({ ...given, provider, model }),
    bounds,
  };
}

function namedChoice(given: string): SummariserChoice {
  if (given === "session") return { kind: "session", bounds: {} };
  const slash = given.indexOf("/");
  const provider = given.slice(0, slash) as SummaryProvider;
  const model = given.slice(slash + 1);
  return {
    kind: "model",
    provider,
    model,
    ...keyVariable(keyVariables[provider]),
    prices: pricesOf({ provider, model }),
    bounds: {},
  };
}

/** A vendor's key is never sent to another server, unless the user names its variable. */
function keyVariable(apiKeyEnv: string | undefined): { readonly apiKeyEnv?: string } {
  return apiKeyEnv === undefined ? {} : { apiKeyEnv };
}

function boundsOf({
  maxTokens,
  timeoutMs,
  maxUsdPerDay,
  maxCallsPerHour,
}: z.infer<typeof keys>): SummaryBounds {
  return {
    ...(maxTokens === undefined ? {} : { maxTokens }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(maxUsdPerDay === undefined ? {} : { maxUsdPerDay }),
    ...(maxCallsPerHour === undefined ? {} : { maxCallsPerHour }),
  };
}

interface Priced {
  readonly provider: SummaryProvider;
  readonly model: string;
  readonly inputUsdPerMTok?: number | undefined;
  readonly outputUsdPerMTok?: number | undefined;
}

/** The user's prices, which apply to cached tokens too, or the known ones. */
function pricesOf({
  provider,
  model,
  inputUsdPerMTok: input,
  outputUsdPerMTok: output,
}: Priced): PriceList {
  if (input === undefined || output === undefined) return priceListOf(provider, model);
  const prices = { input, output, cacheRead: input, cacheWrite: input };
  return { prices, cache: { kind: "unknown" }, source: "settings", date: "" };
}

/** For the library. Only the service sends requests, so only it can ask the model of a conversation. */
export function refuseSessionSummariser(given: z.infer<typeof summariser> | undefined): void {
  if ((typeof given === "string" ? given : given?.provider) !== "session") return;
  throw new PlimsollError(
    "CONFIG_INVALID",
    "summariser: session works only in the service, which sends the requests itself. In the library, name a model, for example summariser: anthropic/claude-haiku-4-5.",
    { status: 400 },
  );
}
