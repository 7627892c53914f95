/**
 * The part of the configuration that describes providers and their models. Also contains the value types that other parts of the
 * configuration use.
 */

import { z } from "zod";

export const tokens = z.number().int().nonnegative();
export const share = z.number().min(0).max(1);
export const http = z.url({ protocol: /^https?$/ });
const schemaFactor = z
  .number()
  .min(0.5)
  .max(4)
  .describe(
    "Plimsoll counts the tokens of a tool schema's JSON text and multiplies them by this factor, whatever the tokenizer. Default: 1.",
  );

/** The settings of each level: agent, model, provider, defaults (config/levels.ts). */
export const levelSettings = {
  reasoning: z
    .enum(["minimal", "low", "medium", "high"])
    .describe(
      "How much a capable model thinks, if a request does not say it itself. Thinking is part of the answer's length. Default: the request decides.",
    )
    .optional(),
  toolsAllowed: z
    .array(z.string())
    .describe(
      "Names of the tools that a request may contain. `*` matches any characters. Default: all tools.",
    )
    .optional(),
  toolsDenied: z
    .array(z.string())
    .describe(
      "Names of tools that Plimsoll takes out of requests. They win over `toolsAllowed`. `*` matches any characters.",
    )
    .optional(),
  toolResponseMaxBytes: tokens
    .describe(
      "Results with more bytes than this are replaced by a reference as soon as they arrive. Default: only results that are larger than both 50 KiB and 15 % of the limit, or that do not fit. In the library, a result that comes with `append` leaves on arrival only if you set this key or `agent.result_offload: on-arrival`; `toolBudget.reserve` decides about all others.",
    )
    .optional(),
  toolSchemaFactor: schemaFactor.optional(),
};

const limitSettings = {
  contextWindow: tokens
    .describe(
      "Size of the model's window in tokens. Default: from the catalogue, which has the usual models.",
    )
    .optional(),
  maxOutputTokens: tokens
    .describe("Tokens reserved for the answer if a request does not state a maximum.")
    .optional(),
  contextWindowBufferTokens: tokens
    .describe(
      "Tokens kept free because counts are not exact. Default: 8192, but at most an eighth of the window.",
    )
    .optional(),
  tokenizer: z
    .string()
    .describe(
      "The tokenizer to count with, such as `tiktoken:o200k_base`, `anthropic`, `gemini`, `hf:FILE` (needs the optional package `@huggingface/tokenizers`) or `estimate`. With `max:` in front, as in `max:tiktoken:o200k_base`, Plimsoll counts at least one token for every four characters of a text. If its FILE cannot be loaded, the service does not start; with `try:` in front, as in `try:hf:FILE`, it says so, starts, and counts one token for four characters.",
    )
    .optional(),
};

/** What a tenant may spend at a provider in a day, if the configuration does not say. */
export const usualUsdPerDay = 5;
export const usd = z.number().nonnegative();
const prices = z.strictObject({
  input: usd.describe("US dollars per million input tokens that are not cached.").optional(),
  output: usd.describe("US dollars per million output tokens.").optional(),
  cache_read: usd.describe("US dollars per million tokens read from the cache.").optional(),
  cache_write: usd.describe("US dollars per million tokens written to the cache.").optional(),
  cache_write_long: usd
    .describe("US dollars per million tokens written to the cache with the long lifetime.")
    .optional(),
  cache_min_tokens: tokens
    .describe("Minimum number of tokens that the provider caches.")
    .optional(),
  cache_ttl_seconds: z
    .number()
    .positive()
    .describe("Seconds that a cache entry lives after it was last read.")
    .optional(),
});

export const provider = z.strictObject({
  wire: z
    .enum(["anthropic", "openai", "gemini"])
    .describe(
      "The API format of the server. Not needed if the provider has the name of a vendor, such as `openai`.",
    )
    .optional(),
  baseUrl: http.describe("Address of the server. Default: the vendor's public address.").optional(),
  apiKeyEnv: z
    .string()
    .regex(/^[A-Z][A-Z0-9_]*$/)
    .describe(
      "Name of the environment variable with your key for this provider. Never the key itself. If it is set, the service may send this provider requests that another provider could not answer (`targets`). Clients' own requests still use the clients' keys.",
    )
    .optional(),
  maxUsdPerDay: usd
    .describe(
      `Maximum cost per day in US dollars, for each tenant, of requests that are sent with \`apiKeyEnv\`. Default: ${usualUsdPerDay}. If Plimsoll does not know a model's price, it sends that model no such request.`,
    )
    .optional(),
  api: z
    .enum(["chat", "responses"])
    .describe(
      "Only for OpenAI providers: the API for requests that come here because another provider could not answer them. Default: `responses` for clients that use it, otherwise `chat`.",
    )
    .optional(),
  native_tool_deferral: z
    .boolean()
    .describe(
      "Whether the server defers tools itself. Default: true on the vendors' own servers, false elsewhere.",
    )
    .optional(),
  cuts_silently: z
    .boolean()
    .describe(
      "Whether the server cuts a request that is too long instead of refusing it. Default: true for Ollama, false elsewhere.",
    )
    .optional(),
  count_tokens: z
    .boolean()
    .describe(
      "Whether Plimsoll asks the server to count the tokens of each new system prompt and tool list that fills a quarter of the limit. It asks once, with the client's own key. Default: true on the vendor's own server, false elsewhere.",
    )
    .optional(),
  ...limitSettings,
  ...levelSettings,
  models: z
    .record(
      z.string(),
      z.strictObject({
        ...limitSettings,
        ...levelSettings,
        prices: prices
          .describe("Prices to use instead of the table that comes with Plimsoll.")
          .optional(),
      }),
    )
    .describe("Settings for single models, by the name that clients ask for.")
    .optional(),
});
