/**
 * Every configuration key with its type and its purpose. Plimsoll checks configurations against this schema, and
 * docs/configuration.md is generated from it.
 */

import { z } from "zod";
import { usualThresholds, usualToolShare } from "../budget/thresholds.ts";
import { contextConfig } from "./context-config.ts";
import { prompt } from "./prompt.ts";
import { levelSettings, provider, share, tokens } from "./providers.ts";
import { retention } from "./retention.ts";
import { summariser } from "./summariser.ts";

const priority = z.union([z.literal(1), z.literal(2), z.literal(3)], {
  error: "give 1, 2 or 3, where 1 is the highest priority",
});

const wrongBudget = { error: "give a number of tokens above 0, auto or window" };

const llm = z.strictObject({
  streaming: z
    .strictObject({
      timeout_inactivity_seconds: z
        .number()
        .positive()
        .describe(
          "After this many seconds without a token, the library gives an answer up. The proxy only records the silence. Default: 30.",
        )
        .optional(),
      on_timeout: z
        .strictObject({
          min_completion_percent: share
            .describe(
              "If at least this share of an answer arrived, Plimsoll keeps it and creates a task that completes it. Default: 0.5.",
            )
            .optional(),
          fallback_action: z
            .enum(["create_followup_task", "retry", "escalate"])
            .describe(
              "`create_followup_task` (default): as `min_completion_percent` says. `retry`: the conversation is made smaller and asked again, however much arrived. `escalate`: always a ticket for a person.",
            )
            .optional(),
          save_partial_to_temp: z
            .boolean()
            .describe(
              "Whether the part that arrived is written to a file in the folder `partials` of the data folder. Default: true.",
            )
            .optional(),
        })
        .optional(),
    })
    .optional(),
});

export const configSchema = z.strictObject({
  server: z
    .strictObject({
      host: z.string().describe("The address to listen on. Default: 127.0.0.1.").optional(),
      port: z
        .number()
        .int()
        .min(0)
        .max(65_535)
        .describe("The port to listen on. 0 picks a free one. Default: 4141.")
        .optional(),
      allowed_hosts: z
        .array(z.string())
        .describe("Host names that requests may use, in addition to localhost.")
        .optional(),
    })
    .describe("Where the service listens.")
    .optional(),
  durability: z
    .enum(["full", "normal"])
    .describe(
      "`full`: a turn is on disk before the client sees the end of its answer. `normal`: a power cut may lose the last turns.",
    )
    .optional(),
  retention: retention
    .describe(
      "Which sessions the service deletes by itself, when it starts and then every hour. It never deletes the newest session, a session with a pin, or a session that is in use or was used within the last hour. Default: none.",
    )
    .optional(),
  providers: z
    .record(z.string().regex(/^[\w-]{1,64}$/), provider)
    .describe("Providers by name. Clients reach each under `/p/{name}/…`.")
    .optional(),
  targets: z
    .record(
      z.string(),
      z.array(
        z.string().regex(/^[\w-]+\/\S+$/, {
          error: "write each target as provider/model, for example openai/gpt-5.1",
        }),
      ),
    )
    .describe(
      "Fallbacks by model, as `provider/model`, in the order in which Plimsoll tries them. It tries models of the same provider before it takes anything out. It tries other providers if no view fits, or if the provider is overloaded (decisions/0019): the library always, the service only if `providers.{name}.apiKeyEnv` names a key.",
    )
    .optional(),
  tokens: z
    .record(z.string().regex(/^[\w-]{1,64}$/), z.string().min(16))
    .describe("Additional access tokens by name. Each gives access to its own sessions only.")
    .optional(),
  defaults: z
    .strictObject({
      tool_output_mode: z
        .enum(["auto", "read-grep", "truncate", "full-chunked"])
        .describe(
          "The text shown for a result that was replaced by a reference on arrival (decisions/0007). Default: `auto`.",
        )
        .optional(),
      contextWindow: tokens
        .describe(
          "Size of the window of every model whose window is not known otherwise, in tokens. Default: none. The window of such a model then counts as 131072, and nothing is too long until the provider says so. With this key, Plimsoll compacts for this window. As long as the tokens are an estimate, it still sends a request that may fit (see `agent.strict_limit`).",
        )
        .optional(),
      contextWindowBufferTokens: tokens.describe("Tokens kept free, for every model.").optional(),
      maxOutputTokens: tokens
        .describe("Tokens reserved for an answer, for every model.")
        .optional(),
      ...levelSettings,
    })
    .describe("Settings for all providers and models.")
    .optional(),
  agents: z
    .record(z.string(), z.strictObject(levelSettings))
    .describe(
      "Settings for single agents, by the name that they have in requests (`x-plimsoll-agent`) or in the library. An agent's setting wins over the model's, the model's over the provider's, and the provider's over `defaults`.",
    )
    .optional(),
  agent: z
    .strictObject({
      context_budget: z
        .union([z.number().int().positive(wrongBudget), z.enum(["auto", "window"])], wrongBudget)
        .describe(
          "Maximum size of every request in tokens. `auto` (default): the whole window, if it is unknown or has fewer than 400,000 tokens. For other windows, the size above which the model costs more per token, or 200,000 if Plimsoll knows no such size (decisions/0016). `window`: the whole window.",
        )
        .optional(),
      max_output_tokens: tokens.describe("Tokens reserved for an answer.").optional(),
      output_in_budget: z
        .boolean()
        .describe(
          "Whether `context_budget` is for the answer too. With `true`, a request may use `context_budget` minus `max_output_tokens`. If `max_output_tokens` is not set, Plimsoll subtracts the length of the answer that the request asks for, but at most a quarter of the budget. Default: false. The budget is then for the request alone, and the answer uses other room in the window.",
        )
        .optional(),
      compact_trigger: share
        .describe(
          `Share of the limit at which a conversation is compacted. Default: ${usualThresholds.compact}.`,
        )
        .optional(),
      hard_block: share
        .describe(
          `Share of the limit at which a conversation is compacted whatever it costs. Default: ${usualThresholds.block}.`,
        )
        .optional(),
      compaction: z
        .enum(["auto", "by_hand"])
        .describe(
          "When Plimsoll makes a conversation smaller. `auto` (default): when it is due. `by_hand`: only when somebody asks for it (`/compact`, `compact_context`, `reset`, a milestone). The warning comes as usual. A request that does not fit goes to the next provider (`targets`) or is sent as the final turn. In the library, a result that does not fit is denied, and no reference replaces it.",
        )
        .optional(),
      warning_note: z
        .boolean()
        .describe(
          "Whether Plimsoll tells the model once that the window is filling up. The event `context-warning`, which is for people, comes in any case. Default: true.",
        )
        .optional(),
      result_offload_threshold: tokens
        .describe(
          "Results with more bytes than this are replaced by a reference at the next compaction, once the model has answered them. Default: 4096.",
        )
        .optional(),
      result_offload: z
        .enum(["answered", "on-arrival"])
        .describe(
          "When results over `result_offload_threshold` are replaced by a reference. `answered` (default): at the next compaction, once the model has answered them. `on-arrival`: before the model sees them.",
        )
        .optional(),
      read_result_bytes: z
        .number()
        .int()
        .positive()
        .describe(
          "Number of bytes that `read_result` returns if the model names no `limit`. Default: 16384.",
        )
        .optional(),
      strict_limit: z
        .boolean()
        .describe(
          "`true`: the limit is the window minus the buffer minus the answer's length, or a budget that is lower (`context_budget: auto` sets one for large windows). If no compaction brings a request below the limit, Plimsoll sends it as the final turn. `false` (default): if the system prompt is large, Plimsoll raises the limit, and it keeps at most a quarter of the window for the answer.",
        )
        .optional(),
      over_window: z
        .enum(["refuse", "send"])
        .describe(
          "What happens to a request that the window certainly cannot hold, whatever is taken out. `refuse` (default): the client gets the provider's own error, and nothing is sent. `send`: it is sent as the final turn, and the provider decides.",
        )
        .optional(),
      final_turn: z
        .enum(["answer", "final_report"])
        .describe(
          "What a final turn asks for in the service. `answer` (default): an answer in words, without tools. `final_report`: a call of the tool `agent__final_report`, which is then the only tool; your program must know that tool. The library always asks for `final_report`.",
        )
        .optional(),
      lookup_scope: z
        .enum(["conversation", "session"])
        .describe(
          "What `recall` and `read_result` can find. `conversation` (default): only the conversation of the agent that asks. `session`: every conversation of its session, so that sub-agents can read the main agent's messages.",
        )
        .optional(),
      tool_deferral: z
        .enum(["once", "each_turn"])
        .describe(
          "When Plimsoll chooses the tools that it defers. `once` (default): when the tools first take too much room. The list then stays the same, so that the provider's cache stays valid, and tools that the model finds join it. `each_turn`: whenever the user begins another turn. The tools that were not called for the longest time are deferred first, and tools that the model found count like all others again. The provider itself then defers no tools.",
        )
        .optional(),
      deferral_note: z
        .enum(["in_tool_search", "in_conversation"])
        .describe(
          "Where Plimsoll tells the model how many tools are deferred. `in_tool_search` (default): in the description of `tool_search`. `in_conversation`: there, and in a note after the last message, whenever Plimsoll chooses the tools. The number is that of this choice: tools that the model finds later do not change it, unless they displace others from the list; then the description has the new number.",
        )
        .optional(),
      tool_deferral_threshold: share
        .describe(
          `Share of the limit that tools may take before some are deferred. 1 means never. Default: ${usualToolShare}.`,
        )
        .optional(),
    })
    .describe("How full a window may get, and what is removed first.")
    .optional(),
  context_config: contextConfig
    .describe("Strategies, and limits that apply in addition to the window.")
    .optional(),
  embedder: z
    .union([
      z.strictObject({ folder: z.string().describe("Folder with the files of the model.") }),
      z.strictObject({ model: z.string().describe("Name of a model on the Hugging Face hub.") }),
    ])
    .describe(
      "A sentence model (MiniLM) to judge relevance with. Needs the optional package `@huggingface/transformers`. Default: word vectors.",
    )
    .optional(),
  summariser: summariser
    .describe(
      "A model that writes the story so far in the background, once 80 % of the limit is used. Default: none, and Plimsoll writes it without a model. Three forms: `summariser: anthropic/claude-haiku-4-5` names a model, whose key is in the usual variable of its vendor. `summariser: session` asks the conversation's own model once more, through its own upstream and with the client's credentials, at most 6 times per hour and for at most 1 US dollar per day (only in the service). The keys below set limits, or name any other model.",
    )
    .optional(),
  llm: llm.describe("Answers that stop before they are complete.").optional(),
  priority_areas: z
    .array(
      z.strictObject({
        name: z.string().describe("Name to show."),
        priority: priority.describe(
          "1 is the highest priority: messages about such a topic are taken out last.",
        ),
        patterns: z
          .array(z.string())
          .describe("Words that identify the area. Upper and lower case do not matter."),
      }),
    )
    .describe("Topics of a conversation that matter more, or less, than others.")
    .optional(),
  learned_weights: z
    .boolean()
    .describe(
      "Whether compactions weigh names and numbers by trees that were learned from recorded conversations, instead of weights that were set by hand. Default: false, because the trees are not better on kinds of conversations that they have not seen (`npm run bench:weights`).",
    )
    .optional(),
  effects: z
    .strictObject({
      tools: z
        .array(z.string())
        .describe("Words in the names of such tools, for example `dispatch`.")
        .optional(),
      commands: z
        .array(z.string())
        .describe("Beginnings of such commands, for example `terraform apply`.")
        .optional(),
    })
    .describe(
      "Calls that change something outside the conversation, in addition to those that Plimsoll knows (write, edit, delete, book, send, `git commit`, `sed -i` …). A compaction names such calls even when they leave the window.",
    )
    .optional(),
  tool_classes: z
    .strictObject({
      mcp: z
        .array(z.string())
        .describe(
          "Names of the tools to defer first. `*` matches any characters. Default: the tools of MCP servers, which Plimsoll recognises by the names that Claude Code, Gemini CLI, opencode, Copilot, Cline and Goose give them.",
        )
        .optional(),
      skill: z
        .array(z.string())
        .describe("Names of the tools to defer next. `*` matches any characters.")
        .optional(),
    })
    .describe("Tools that may be deferred. All other tools are always sent.")
    .optional(),
  cost: z
    .strictObject({
      when: z
        .enum(["forced", "cold", "pays"])
        .describe(
          "When to compact below the trigger. `cold` (default): when the provider's cache has expired and a smaller request is cheaper. `pays`: whenever it saves money. `forced`: never.",
        )
        .optional(),
      compact_from: share
        .describe(
          "Plimsoll compacts to save money only if at least this share of the room is used. The room is the limit without system prompt, tools and first message. Default: the warning threshold.",
        )
        .optional(),
      expected_turns: z
        .number()
        .int()
        .min(1)
        .max(1000)
        .describe("Number of further turns to expect. Default: the number of turns so far.")
        .optional(),
    })
    .describe("When to compact in order to save money.")
    .optional(),
  own_tools: z
    .enum(["first-edit", "first-request"])
    .describe("When Plimsoll adds its own tools to a conversation. Default: `first-edit`.")
    .optional(),
  texts: z
    .enum(["plimsoll", "documents"])
    .describe(
      "The words of a few texts that a model reads: placeholders, handovers, references to results, and the note that the window is filling up. `documents`: the words of the documents that Plimsoll follows (docs/departures.md). Default: `plimsoll`.",
    )
    .optional(),
  prompt: prompt
    .describe("How the library builds a system prompt that is given in sections.")
    .optional(),
  progress: z
    .strictObject({
      show: z
        .boolean()
        .describe("Whether compactions are shown while they run. Default: true.")
        .optional(),
      detail: z
        .enum(["minimal", "normal", "detailed"])
        .describe("How much detail to show. Default: `normal`.")
        .optional(),
      auto_hide_seconds: z
        .number()
        .int()
        .min(1)
        .max(10)
        .describe("Seconds until a finished compaction is hidden. Default: 3.")
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
    .describe("Accepted, but not used yet.")
    .optional(),
});

/** The schema as JSON Schema, from which docs/configuration.md is generated. */
export function configJsonSchema(): unknown {
  return z.toJSONSchema(configSchema, { io: "input", unrepresentable: "any" });
}

export type Config = z.infer<typeof configSchema>;
export type ProviderSettings = z.infer<typeof provider>;
