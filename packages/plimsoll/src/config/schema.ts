/** Every key of the configuration, with its type and its description. Plimsoll checks the file against it, and docs/configuration.md is generated from it. */

import { z } from "zod";
import { usualThresholds } from "../budget/thresholds.ts";
import { breakingStrategy } from "./breaking-strategy.ts";
import { http, provider, schemaFactor, share, tokens, usd } from "./providers.ts";

const priority = z.union([z.literal(1), z.literal(2), z.literal(3)]);

const retryPolicy = z.strictObject({
  max_attempts: z
    .number()
    .int()
    .min(1)
    .max(100)
    .describe("Maximum number of tries, the first one included. Default: 3.")
    .optional(),
  backoff_base_seconds: z
    .number()
    .nonnegative()
    .describe(
      "Wait before the second try, in seconds. Each further wait is twice as long. Default: 5.",
    )
    .optional(),
  max_delay_seconds: z
    .number()
    .nonnegative()
    .describe("Longest wait between two tries, in seconds. Default: 60.")
    .optional(),
});

const contextConfig = z.strictObject({
  min_limit: tokens.describe("Lower limits are raised to this value. Default: 3500.").optional(),
  default_limit: tokens
    .describe("Limit of the entries with `follow_default`. Default: 5000.")
    .optional(),
  warning_threshold: share
    .describe(
      `Share of the limit at which people and the model are warned. Default: ${usualThresholds.warn}.`,
    )
    .optional(),
  per_agent: z
    .record(z.string(), tokens)
    .describe(
      "Limits of agents, by the name in `x-plimsoll-agent`. An agent with a limit is compacted at the warning threshold.",
    )
    .optional(),
  per_llm: z
    .array(
      z.strictObject({
        type: z.string().describe("A provider, a model, or `provider/model`."),
        limit: tokens.describe("Limit in tokens."),
        follow_default: z.boolean().describe("Use `default_limit` instead of `limit`.").optional(),
      }),
    )
    .describe(
      "Limits of models or providers. A model with a limit is compacted at the warning threshold.",
    )
    .optional(),
  breaking_strategy: breakingStrategy
    .describe("How Plimsoll compacts a conversation, if you do not want the default.")
    .optional(),
  recovery_mode: z
    .enum(["fresh_start", "truncate", "error"])
    .describe(
      "What Plimsoll does when no strategy helps, or after more than two overflows within an hour. Default: `fresh_start`.",
    )
    .optional(),
  retry_policies: z
    .strictObject({
      default: retryPolicy.describe("Policy for all tools.").optional(),
      per_tool: z
        .record(z.string(), retryPolicy)
        .describe("Policies for single tools, by name.")
        .optional(),
    })
    .describe("Retry policies for `plimsoll.retrying` in the library.")
    .optional(),
});

const summariser = z
  .strictObject({
    provider: z
      .enum(["anthropic", "openai", "compatible", "ollama"])
      .describe("Provider of the model."),
    model: z.string().describe("Name of the model."),
    baseUrl: http
      .describe("Address of the server, if it is not the vendor's public address.")
      .optional(),
    apiKeyEnv: z
      .string()
      .regex(/^[A-Z][A-Z0-9_]*$/)
      .describe("Name of the environment variable that contains the key. Never the key itself."),
    maxTokens: z
      .number()
      .int()
      .min(100)
      .max(8000)
      .describe("Maximum number of tokens of one summary. Default: 1000.")
      .optional(),
    timeoutMs: z
      .number()
      .int()
      .min(100)
      .max(60_000)
      .describe(
        "Time limit in milliseconds. After it, Plimsoll writes the summary without a model. Default: 10000.",
      )
      .optional(),
    maxUsdPerDay: usd
      .describe("Maximum cost of summaries per day, in US dollars. Needs the two prices below.")
      .optional(),
    inputUsdPerMTok: usd.describe("Price of a million input tokens, in US dollars.").optional(),
    outputUsdPerMTok: usd.describe("Price of a million output tokens, in US dollars.").optional(),
    maxCallsPerHour: z
      .number()
      .int()
      .min(1)
      .max(10_000)
      .describe("Maximum number of calls per hour. Default: 30.")
      .optional(),
  })
  .refine(
    ({ maxUsdPerDay, inputUsdPerMTok, outputUsdPerMTok }) =>
      maxUsdPerDay === undefined ||
      (inputUsdPerMTok !== undefined && outputUsdPerMTok !== undefined),
    "maxUsdPerDay needs inputUsdPerMTok and outputUsdPerMTok, because without prices Plimsoll cannot add up the cost",
  );

const llm = z.strictObject({
  streaming: z
    .strictObject({
      timeout_inactivity_seconds: z.number().positive().optional(),
      on_timeout: z
        .strictObject({
          min_completion_percent: share.optional(),
          fallback_action: z.enum(["create_followup_task", "retry", "escalate"]).optional(),
          save_partial_to_temp: z.boolean().optional(),
        })
        .optional(),
    })
    .optional(),
});

export const configSchema = z.strictObject({
  server: z
    .strictObject({
      host: z.string().describe("Address to listen on. Default: 127.0.0.1.").optional(),
      port: z
        .number()
        .int()
        .min(0)
        .max(65_535)
        .describe("Port to listen on; 0 picks a free one. Default: 4141.")
        .optional(),
      allowed_hosts: z
        .array(z.string())
        .describe("Host names that clients may use, in addition to localhost.")
        .optional(),
    })
    .describe("Where the service listens.")
    .optional(),
  durability: z
    .enum(["full", "normal"])
    .describe(
      "`full` (default): each turn is on disk before the client sees the end of the answer. `normal`: a power cut may lose the last turns.",
    )
    .optional(),
  providers: z
    .record(z.string().regex(/^[\w-]{1,64}$/), provider)
    .describe("Upstreams by name. Clients reach each one under `/p/{name}/…`.")
    .optional(),
  targets: z
    .record(z.string(), z.array(z.string()))
    .describe(
      "For each model, fallback models with a larger window, as `provider/model` of the same provider. Plimsoll uses them before it takes anything out.",
    )
    .optional(),
  tokens: z
    .record(z.string().regex(/^[\w-]{1,64}$/), z.string().min(16))
    .describe("More tokens, by name. Each one reaches only its own sessions.")
    .optional(),
  defaults: z
    .strictObject({
      toolResponseMaxBytes: tokens
        .describe(
          "Replace a larger result by a reference on arrival, in bytes. By default, Plimsoll replaces a result if it is larger than 50 KiB and than 15 % of the limit, or if it does not fit.",
        )
        .optional(),
      tool_output_mode: z
        .enum(["auto", "read-grep", "truncate", "full-chunked"])
        .describe("What replaces a result on arrival (decisions/0007). Default: `auto`.")
        .optional(),
      contextWindowBufferTokens: tokens
        .describe("Buffer for every model; see `providers`.")
        .optional(),
      maxOutputTokens: tokens.describe("Reserve for every model; see `providers`.").optional(),
      toolSchemaFactor: schemaFactor.optional(),
    })
    .describe("Settings for all providers and models.")
    .optional(),
  agent: z
    .strictObject({
      context_budget: tokens.describe("Maximum number of tokens of a request.").optional(),
      max_output_tokens: tokens
        .describe("Tokens reserved for an answer, if a request does not say how long it may be.")
        .optional(),
      compact_trigger: share
        .describe(
          `Share of the limit at which Plimsoll compacts. Default: ${usualThresholds.compact}.`,
        )
        .optional(),
      hard_block: share
        .describe(
          `Share of the limit at which Plimsoll compacts whatever it costs. Default: ${usualThresholds.block}.`,
        )
        .optional(),
      warning_note: z
        .boolean()
        .describe(
          "Whether Plimsoll tells the model once that the window is filling up. Default: true.",
        )
        .optional(),
      result_offload_threshold: tokens
        .describe(
          "The next compaction replaces larger results that the model has already answered by references, in bytes. Default: 4096.",
        )
        .optional(),
      lookup_scope: z
        .enum(["conversation", "session"])
        .describe(
          "What `recall` and `read_result` may look up: only the asking conversation (default), or everything in its session, so that sub-agents can read the main agent's messages.",
        )
        .optional(),
      tool_deferral_threshold: share
        .describe(
          "Share of the limit above which Plimsoll defers tools; 1 turns it off. Default: 0.1.",
        )
        .optional(),
    })
    .describe("How full a window may get, and what Plimsoll takes out first.")
    .optional(),
  context_config: contextConfig
    .describe("Limits below the window's own, and strategies.")
    .optional(),
  embedder: z
    .union([
      z.strictObject({ folder: z.string().describe("Folder with the model's files.") }),
      z.strictObject({ model: z.string().describe("Name of a model on the Hugging Face hub.") }),
    ])
    .describe(
      "A sentence model (MiniLM) that measures relevance. Needs the optional package `@huggingface/transformers`. By default Plimsoll uses word vectors.",
    )
    .optional(),
  summariser: summariser
    .describe(
      "A model that writes summaries in the background, starting at the warning threshold. It is optional.",
    )
    .optional(),
  llm: llm.describe("Accepted and checked, but without effect yet.").optional(),
  priority_areas: z
    .array(
      z.strictObject({
        name: z.string().describe("Name on screens."),
        priority: priority.describe("1 is the highest priority; such units are taken out last."),
        patterns: z.array(z.string()).describe("Words that mark the area, in upper or lower case."),
      }),
    )
    .describe("Areas of a conversation that matter more or less than others.")
    .optional(),
  tool_classes: z
    .strictObject({
      mcp: z
        .array(z.string())
        .describe(
          "Names of tools that are deferred first, with `*` as a wildcard. Default: `mcp__*`.",
        )
        .optional(),
      skill: z
        .array(z.string())
        .describe("Names of tools that are deferred next, with `*` as a wildcard.")
        .optional(),
    })
    .describe("Tools that may be deferred. All others never are.")
    .optional(),
  cost: z
    .strictObject({
      when: z
        .enum(["forced", "cold", "pays"])
        .describe(
          "When Plimsoll compacts below `compact_trigger`: `cold` (default; if the provider's cache has expired and a smaller request is cheaper), `pays` (whenever it saves money), `forced` (never).",
        )
        .optional(),
      compact_from: share
        .describe(
          "Share of the room beyond the fixed part (system prompt, tools, first message). Below it, Plimsoll does not compact just to save money. Default: the warning threshold.",
        )
        .optional(),
      expected_turns: z
        .number()
        .int()
        .min(1)
        .max(1000)
        .describe(
          "Expected number of further turns. Default: as many as there were so far, at least 3 and at most 100.",
        )
        .optional(),
    })
    .describe("When a compaction is worth its cost.")
    .optional(),
  own_tools: z
    .enum(["first-edit", "first-request"])
    .describe("When Plimsoll adds its own tools to a conversation. Default: `first-edit`.")
    .optional(),
  progress: z
    .strictObject({
      show: z
        .boolean()
        .describe("Whether running compactions are shown. Default: true.")
        .optional(),
      detail: z
        .enum(["minimal", "normal", "detailed"])
        .describe("How much detail is shown. Default: `normal`.")
        .optional(),
      auto_hide_seconds: z
        .number()
        .int()
        .min(1)
        .max(10)
        .describe("How long a finished compaction stays on the screen, in seconds. Default: 3.")
        .optional(),
      highlight_p1: z
        .boolean()
        .describe("Whether areas with priority 1 are highlighted. Default: true.")
        .optional(),
    })
    .describe("How the dashboard and `plimsoll top` show a compaction.")
    .optional(),
  context: z
    .strictObject({
      raw_window_size: z.number().int().positive().optional(),
      summarize_every: z.number().int().positive().optional(),
      max_summary_tokens: tokens.optional(),
    })
    .describe("Accepted and checked, but without effect yet.")
    .optional(),
});

/** The schema as JSON Schema, for docs/configuration.md. */
export function configJsonSchema(): unknown {
  return z.toJSONSchema(configSchema, { io: "input", unrepresentable: "any" });
}

export type Config = z.infer<typeof configSchema>;
export type ProviderSettings = z.infer<typeof provider>;
