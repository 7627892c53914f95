/** The part of the configuration that describes providers and their models. */

import { z } from "zod";

export const tokens = z.number().int().nonnegative();
export const http = z.url({ protocol: /^https?$/ });
export const schemaFactor = z
  .number()
  .min(0.5)
  .max(4)
  .describe("Tokens of a tool's schema for one of its JSON text, where they are estimated. 1.");

const limitSettings = {
  contextWindow: tokens
    .describe("Tokens of the model's window. The catalogue knows the usual models.")
    .optional(),
  maxOutputTokens: tokens
    .describe("Reserved for an answer when a request does not say how long it may be.")
    .optional(),
  contextWindowBufferTokens: tokens
    .describe(
      "Kept free for what cannot be counted beforehand. 8192, and at most an eighth of the window, where nothing is said.",
    )
    .optional(),
  tokenizer: z
    .string()
    .describe(
      "How tokens are counted, such as `tiktoken:o200k_base`, `anthropic`, `gemini`, `hf:FILE` (by the optional package `@huggingface/tokenizers`), `estimate`.",
    )
    .optional(),
};

export const usd = z.number().nonnegative();
const prices = z.strictObject({
  input: usd.describe("US dollars for a million tokens that are read fresh.").optional(),
  output: usd.describe("For a million tokens of answers.").optional(),
  cache_read: usd.describe("For a million tokens read from the cache.").optional(),
  cache_write: usd.describe("For a million tokens written to the cache.").optional(),
  cache_write_long: usd.describe("For those that are to live long.").optional(),
  cache_min_tokens: tokens.describe("Shorter beginnings are not cached.").optional(),
  cache_ttl_seconds: z
    .number()
    .positive()
    .describe("How long the cache lives after it was read.")
    .optional(),
});

export const provider = z.strictObject({
  wire: z
    .enum(["anthropic", "openai", "gemini"])
    .describe("The format that it speaks; known for the vendors' own names.")
    .optional(),
  baseUrl: http.describe("Where requests go. The vendors' public addresses are known.").optional(),
  native_tool_deferral: z
    .boolean()
    .describe(
      "Whether its server holds tools back itself. Yes on the vendors' own servers, no elsewhere.",
    )
    .optional(),
  cuts_silently: z
    .boolean()
    .describe(
      "Whether its server cuts a request that is too long instead of refusing it. Yes for Ollama, no elsewhere.",
    )
    .optional(),
  count_tokens: z
    .boolean()
    .describe(
      "Whether Plimsoll asks its server to count each new system prompt and list of tools once, with the client's own key, where they fill a quarter of the limit. Yes on the vendor's own server, no elsewhere.",
    )
    .optional(),
  toolSchemaFactor: schemaFactor.optional(),
  ...limitSettings,
  models: z
    .record(
      z.string(),
      z.strictObject({
        ...limitSettings,
        prices: prices.describe("In place of the table that comes with Plimsoll.").optional(),
      }),
    )
    .describe("Single models, by the name that clients ask for.")
    .optional(),
});
