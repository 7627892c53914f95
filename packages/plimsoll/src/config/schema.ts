/** Every key of the configuration, what it takes and what it is for: checked against, and the source of docs/configuration.md. */

import { z } from "zod";
import { usualThresholds } from "../budget/thresholds.ts";
import { http, provider, schemaFactor, tokens, usd } from "./providers.ts";

const share = z.number().min(0).max(1);
const priority = z.union([z.literal(1), z.literal(2), z.literal(3)]);

const retryPolicy = z.strictObject({
  max_attempts: z
    .number()
    .int()
    .min(1)
    .max(100)
    .describe("How often it is tried in all.")
    .optional(),
  backoff_base_seconds: z
    .number()
    .nonnegative()
    .describe("The first wait; each further one is twice as long.")
    .optional(),
  max_delay_seconds: z.number().nonnegative().describe("The longest wait.").optional(),
});

const breakingStrategy = z.strictObject({
  chain_order: z
    .array(
      z.enum([
        "summarize_old",
        "prioritize_recent",
        "content_type_chunking",
        "discard_low_rel",
        "hybrid",
      ]),
    )
    .describe("Strategies to try, in this order. Empty: excerpts in place, the default.")
    .optional(),
  summarize_old: z
    .strictObject({
      old_threshold: share.describe("The share of units that counts as old. 0.6.").optional(),
      summary_length: tokens.describe("Tokens of the summary. 300.").optional(),
    })
    .describe("The oldest units become one summary.")
    .optional(),
  prioritize_recent: z
    .strictObject({
      rel_threshold: share.describe("Relevance below which a unit may go. 0.5.").optional(),
      recent_bias: share.describe("What being recent adds. 0.2.").optional(),
      priority_boost: z.number().min(1).describe("By how much priority 1 weighs more.").optional(),
    })
    .describe("What is recent stays, and what is near to the task.")
    .optional(),
  content_type_chunking: z
    .strictObject({
      compress_ratios: z
        .strictObject({
          code: share.describe("The share of code that stays.").optional(),
          text: share.describe("Of prose.").optional(),
          plan_ref: share.describe("Of plans and task lists.").optional(),
          log: share.describe("Of logs.").optional(),
          other: share.describe("Of everything else.").optional(),
        })
        .optional(),
    })
    .describe(
      "Old texts are compressed by what they are; code by its syntax where `@ast-grep/napi` and its grammars are installed (optional), else by lines.",
    )
    .optional(),
  discard_low_rel: z
    .strictObject({
      discard_percent: share.describe("The share of units that may go. 0.3.").optional(),
      placeholder_detail: z
        .enum(["brief", "linked"])
        .describe("What stands in their place.")
        .optional(),
    })
    .describe("What is farthest from the task becomes placeholders.")
    .optional(),
  hybrid: z
    .strictObject({
      max_iterations: z
        .number()
        .int()
        .min(1)
        .max(10)
        .describe("Rounds, each with tighter settings.")
        .optional(),
    })
    .describe("All that was named before it, again and again.")
    .optional(),
});

const contextConfig = z.strictObject({
  min_limit: tokens.describe("Limits below this are raised to it. 3500.").optional(),
  default_limit: tokens.describe("The limit of those that follow the default. 5000.").optional(),
  warning_threshold: share
    .describe(
      `Share of the limit from which on people and the model are warned. ${usualThresholds.warn}.`,
    )
    .optional(),
  per_agent: z
    .record(z.string(), tokens)
    .describe(
      "Limits of agents, by the name in `x-plimsoll-agent`; with a limit compaction starts at the warning.",
    )
    .optional(),
  per_llm: z
    .array(
      z.strictObject({
        type: z.string().describe("A provider, a model, or `provider/model`."),
        limit: tokens.describe("Its limit."),
        follow_default: z.boolean().describe("`default_limit` instead of its own.").optional(),
      }),
    )
    .describe("Limits of kinds of models.")
    .optional(),
  breaking_strategy: breakingStrategy
    .describe("How a conversation is made smaller, where the default is not wanted.")
    .optional(),
  recovery_mode: z
    .enum(["fresh_start", "truncate", "error"])
    .describe(
      "What is done when no strategy helps, and after more than two overflows within an hour. `fresh_start`.",
    )
    .optional(),
  retry_policies: z
    .strictObject({
      default: retryPolicy.describe("Of every tool.").optional(),
      per_tool: z.record(z.string(), retryPolicy).describe("Of single tools.").optional(),
    })
    .describe("For `plimsoll.retrying` of the library.")
    .optional(),
});

const summariser = z
  .strictObject({
    provider: z.enum(["anthropic", "openai", "compatible", "ollama"]).describe("Who writes."),
    model: z.string().describe("Which model."),
    baseUrl: http.describe("Where it is, if not at the vendor's address.").optional(),
    apiKeyEnv: z
      .string()
      .regex(/^[A-Z][A-Z0-9_]*$/)
      .describe("The name of the variable that holds the key; never the key itself."),
    maxTokens: z.number().int().min(100).max(8000).describe("Of one summary.").optional(),
    timeoutMs: z
      .number()
      .int()
      .min(100)
      .max(60_000)
      .describe("Then the summary is written without a model.")
      .optional(),
    maxUsdPerDay: usd.describe("Money for summaries; needs the two prices.").optional(),
    inputUsdPerMTok: usd.describe("Its price for a million tokens read.").optional(),
    outputUsdPerMTok: usd.describe("And written.").optional(),
    maxCallsPerHour: z.number().int().min(1).max(10_000).describe("A bound on calls.").optional(),
  })
  .refine(
    ({ maxUsdPerDay, inputUsdPerMTok, outputUsdPerMTok }) =>
      maxUsdPerDay === undefined ||
      (inputUsdPerMTok !== undefined && outputUsdPerMTok !== undefined),
    "maxUsdPerDay needs inputUsdPerMTok and outputUsdPerMTok: without prices nothing can be added up",
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
      host: z.string().describe("The address to listen on. 127.0.0.1.").optional(),
      port: z.number().int().min(0).max(65_535).describe("4141; 0 picks a free one.").optional(),
      allowed_hosts: z
        .array(z.string())
        .describe("Names under which it may be called, beside localhost.")
        .optional(),
    })
    .describe("Where the service listens.")
    .optional(),
  durability: z
    .enum(["full", "normal"])
    .describe(
      "`full`: what was said is on disk before the client sees the end of the answer. `normal`: a power cut may take the last turns.",
    )
    .optional(),
  providers: z
    .record(z.string().regex(/^[\w-]{1,64}$/), provider)
    .describe("Upstreams by name; any name is reached under `/p/{name}/…`.")
    .optional(),
  targets: z
    .record(z.string(), z.array(z.string()))
    .describe(
      "By model: fallbacks with a larger window, as `provider/model` of the same provider, used before anything is taken out.",
    )
    .optional(),
  tokens: z
    .record(z.string().regex(/^[\w-]{1,64}$/), z.string().min(16))
    .describe("Further tokens by name; each reaches its own sessions only.")
    .optional(),
  defaults: z
    .strictObject({
      toolResponseMaxBytes: tokens
        .describe(
          "Results over so many bytes move out on arrival; without it only what is larger than 50 KiB and 15 % of the limit, or does not fit.",
        )
        .optional(),
      tool_output_mode: z
        .enum(["auto", "read-grep", "truncate", "full-chunked"])
        .describe("What stands in place of a result that moved out on arrival (decisions/0007).")
        .optional(),
      contextWindowBufferTokens: tokens.describe("For every model.").optional(),
      maxOutputTokens: tokens.describe("For every model.").optional(),
      toolSchemaFactor: schemaFactor.optional(),
    })
    .describe("For all providers and models.")
    .optional(),
  agent: z
    .strictObject({
      context_budget: tokens.describe("No request uses more than this.").optional(),
      max_output_tokens: tokens.describe("Reserved for an answer.").optional(),
      compact_trigger: share
        .describe(`Share of the limit that is compacted. ${usualThresholds.compact}.`)
        .optional(),
      hard_block: share
        .describe(`From here on a compaction is made whatever it costs. ${usualThresholds.block}.`)
        .optional(),
      warning_note: z
        .boolean()
        .describe("Whether the model is told, once, that the window fills. true.")
        .optional(),
      result_offload_threshold: tokens
        .describe(
          "Results over so many bytes move out with the next compaction, once the model has answered to them. 4096.",
        )
        .optional(),
      lookup_scope: z
        .enum(["conversation", "session"])
        .describe(
          "What `recall` and `read_result` may look up: the asking conversation alone (default), or everything under its session name, so that sub-agents read what the main agent said.",
        )
        .optional(),
      tool_deferral_threshold: share
        .describe("Share of the limit above which tools are held back. 0.1; 1: never.")
        .optional(),
    })
    .describe("How full a window may get, and what leaves it first.")
    .optional(),
  context_config: contextConfig.describe("Limits beside the window, and strategies.").optional(),
  embedder: z
    .union([
      z.strictObject({ folder: z.string().describe("A folder with the model's files.") }),
      z.strictObject({ model: z.string().describe("The name of one on the hub.") }),
    ])
    .describe(
      "A sentence model (MiniLM) for relevance, through the optional package `@huggingface/transformers`; word vectors otherwise.",
    )
    .optional(),
  summariser: summariser
    .describe("A model that writes summaries in the background from 80 % on. None is needed.")
    .optional(),
  llm: llm.describe("Read and kept; nothing depends on it yet.").optional(),
  priority_areas: z
    .array(
      z.strictObject({
        name: z.string().describe("As it is shown."),
        priority: priority.describe("1 is the highest: it is taken out last."),
        patterns: z.array(z.string()).describe("Words by which it is known, in any case."),
      }),
    )
    .describe("What of a conversation matters more, or less.")
    .optional(),
  tool_classes: z
    .strictObject({
      mcp: z.array(z.string()).describe("Names, with `*`: held back first. `mcp__*`.").optional(),
      skill: z.array(z.string()).describe("Names, with `*`: held back next.").optional(),
    })
    .describe("Which tools may be held back; all others never are.")
    .optional(),
  cost: z
    .strictObject({
      when: z
        .enum(["forced", "cold", "pays"])
        .describe(
          "Below the trigger: `cold` (default: when the provider's cache has expired and a smaller request is cheaper), `pays` (whenever it saves), `forced` (never).",
        )
        .optional(),
      compact_from: share
        .describe(
          "Share of the room beside the head (system prompt, tools, first message) below which nothing is taken out for money's sake; unless set, the warning threshold.",
        )
        .optional(),
      expected_turns: z
        .number()
        .int()
        .min(1)
        .max(1000)
        .describe("How many turns to expect; unless set, as many as there were.")
        .optional(),
    })
    .describe("When a compaction pays.")
    .optional(),
  own_tools: z
    .enum(["first-edit", "first-request"])
    .describe("When Plimsoll's own tools enter a conversation. `first-edit`.")
    .optional(),
  progress: z
    .strictObject({
      show: z.boolean().describe("Whether compactions are shown while they run. true.").optional(),
      detail: z
        .enum(["minimal", "normal", "detailed"])
        .describe("How much of them. `normal`.")
        .optional(),
      auto_hide_seconds: z
        .number()
        .int()
        .min(1)
        .max(10)
        .describe("How long the end of one stays. 3.")
        .optional(),
      highlight_p1: z
        .boolean()
        .describe("Whether protected areas are pointed out. true.")
        .optional(),
    })
    .describe("How dashboards show a compaction.")
    .optional(),
  context: z
    .strictObject({
      raw_window_size: z.number().int().positive().optional(),
      summarize_every: z.number().int().positive().optional(),
      max_summary_tokens: tokens.optional(),
    })
    .describe("Read and kept; nothing depends on it yet.")
    .optional(),
});

/** For the page that describes it. */
export function configJsonSchema(): unknown {
  return z.toJSONSchema(configSchema, { io: "input", unrepresentable: "any" });
}

export type Config = z.infer<typeof configSchema>;
export type ProviderSettings = z.infer<typeof provider>;
