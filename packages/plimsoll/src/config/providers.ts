/** The part of the configuration that describes providers and their models, and the types that several parts use. */

import { z } from "zod";

export const tokens = z.number().int().nonnegative();
export const share = z.number().min(0).max(1);
export const http = z.url({ protocol: /^https?$/ });
export const schemaFactor = z
  .number()
  .min(0.5)
  .max(4)
  .describe(
    "Factor from the tokens of a tool schema's JSON text to the tokens that the provider counts, used for estimates. Default: 1.",
  );

const limitSettings = {
  contextWindow: tokens
    .describe(
      "Size of the model's window in tokens. Default: from the catalogue, which knows the usual models.",
    )
    .optional(),
  maxOutputTokens: tokens
    .describe("Tokens reserved for an answer, if a request does not say how long it may be.")
    .optional(),
  contextWindowBufferTokens: tokens
    .describe(
      "Tokens kept free for what cannot be counted in advance. Default: 8192, and at most an eighth of the window.",
    )
    .optional(),
  tokenizer: z
    .string()
    .describe(
      "How Plimsoll counts tokens, for example `tiktoken:o200k_base`, `anthropic`, `gemini`, `estimate`, or `hf:FILE` (needs the optional package `@huggingface/tokenizers`).",
    )
    .optional(),
};

export const usd = z.number().nonnegative();
const prices = z.strictObject({
  input: usd
    .describe("US dollars per million input tokens that are not read from the cache.")
    .optional(),
  output: usd.describe("US dollars per million output tokens.").optional(),
  cache_read: usd.describe("US dollars per million tokens read from the cache.").optional(),
  cache_write: usd.describe("US dollars per million tokens written to the cache.").optional(),
  cache_write_long: usd
    .describe("US dollars per million tokens written to the cache with the longer lifetime.")
    .optional(),
  cache_min_tokens: tokens
    .describe("Minimum number of tokens that the provider caches.")
    .optional(),
  cache_ttl_seconds: z
    .number()
    .positive()
    .describe("Lifetime of the cache after its last use, in seconds.")
    .optional(),
});

export const provider = z.strictObject({
  wire: z
    .enum(["anthropic", "openai", "gemini"])
    .describe("Format of the requests. Known for the vendors' own names.")
    .optional(),
  baseUrl: http
    .describe("Address of the server. Default for known vendors: their public address.")
    .optional(),
  native_tool_deferral: z
    .boolean()
    .describe(
      "Whether the server supports deferred tools itself. Default: yes for the vendors' own servers, otherwise no.",
    )
    .optional(),
  cuts_silently: z
    .boolean()
    .describe(
      "Whether the server silently cuts a request that is too long, instead of refusing it. Default: yes for Ollama, otherwise no.",
    )
    .optional(),
  count_tokens: z
    .boolean()
    .describe(
      "Whether Plimsoll asks the server to count each new system prompt and tool list once, with the client's own key, if they fill a quarter of the limit. Default: yes for the vendor's own server, otherwise no.",
    )
    .optional(),
  toolSchemaFactor: schemaFactor.optional(),
  ...limitSettings,
  models: z
    .record(
      z.string(),
      z.strictObject({
        ...limitSettings,
        prices: prices.describe("Prices that override Plimsoll's own table.").optional(),
      }),
    )
    .describe("Settings for single models, by the name that clients use.")
    .optional(),
});
