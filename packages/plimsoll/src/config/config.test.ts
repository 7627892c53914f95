import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { loadSettings, parseConfig } from "./config.ts";

const folder = mkdtempSync(join(tmpdir(), "plimsoll-config-"));
afterAll(() => rmSync(folder, { recursive: true }));

const seedA = `
context_config:
  min_limit: 3500  # Global floor (user-configurable)
  default_limit: 5000  # Default per-agent
  warning_threshold: 0.8  # 80% triggers breaking

  # Per-LLM Type Configuration
  per_llm:
    - type: "local_14b"  # e.g., Qwen3-14B, Phi-4
      limit: 3500
      follow_default: true  # Checkbox toggle in UI
    - type: "cloud_grok"
      limit: 8000
      follow_default: false
    - type: "gpt4"
      limit: 6000
      follow_default: true

  # Breaking Strategy Chain
  breaking_strategy:
    chain_order:
      - "summarize_old"
      - "prioritize_recent"
      - "content_type_chunking"
      - "discard_low_rel"
      - "hybrid"

    summarize_old:
      old_threshold: 0.6  # First 60% considered "old"
      summary_length: 300  # Target token count

    prioritize_recent:
      rel_threshold: 0.5  # Min relevance score to keep
      recent_bias: 0.2  # Auto-keep last 20%
      priority_boost: 1.5  # Multiplier for P1 units

    content_type_chunking:
      compress_ratios:
        code: 0.7
        text: 0.5
        plan_ref: 1.0  # Keep verbatim
        log: 0.4

    discard_low_rel:
      discard_percent: 0.3  # Discard bottom 30%
      placeholder_detail: "brief"  # brief | linked

    hybrid:
      max_iterations: 3

  recovery_mode: "fresh_start"  # fresh_start | truncate | error

  # Retry Policies (integrated)
  retry_policies:
    default:
      max_attempts: 3
      backoff_base_seconds: 5
      max_delay_seconds: 60
    per_tool:
      askQuestion:
        max_attempts: 4
        backoff_base_seconds: 10
`;
const seedAStreaming = `
llm:
  streaming:
    timeout_inactivity_seconds: 30       # Max time between tokens
    on_timeout:
      min_completion_percent: 0.5        # If >=50% done, save partial
      fallback_action: "create_followup_task"  # or "retry" / "escalate"
      save_partial_to_temp: true
`;
const seedB = `
providers:
  openai:
    contextWindow: 128000
    models:
      gpt-4-turbo:
        maxOutputTokens: 16384
        contextWindow: 128000

defaults:
  toolResponseMaxBytes: 12288
  maxOutputTokens: 16384
`;
const seedC = `
[agent]
context_budget = 100000
max_output_tokens = 4096
compact_trigger = 0.95
hard_block = 0.98
result_offload_threshold = 4096
tool_deferral_threshold = 0.10
`;
const seedD = `
context:
  raw_window_size: 5
  summarize_every: 10
  max_summary_tokens: 2000
`;
const published = `
providers:                       # where requests go
  anthropic:
    baseUrl: http://127.0.0.1:9001
    contextWindow: 200000
    models:
      claude-small: { contextWindow: 20000, maxOutputTokens: 1000, contextWindowBufferTokens: 500, tokenizer: "tiktoken:o200k_base" }
  openai: { baseUrl: http://127.0.0.1:9002/v1 }
  gemini: { baseUrl: http://127.0.0.1:9003 }
  ollama: { wire: openai, baseUrl: http://127.0.0.1:11434/v1 }          # any compatible server, under /p/ollama/
targets: { claude-small: [anthropic/claude-small, anthropic/claude-big] }
defaults: { toolResponseMaxBytes: 12288, contextWindowBufferTokens: 8192 }
agent: { context_budget: 100000, max_output_tokens: 4096, compact_trigger: 0.95, hard_block: 0.98, result_offload_threshold: 4096, tool_deferral_threshold: 0.10 }
context_config: { min_limit: 3500, default_limit: 5000, warning_threshold: 0.8, per_agent: { Coding: 5000 } }
priority_areas: [{ name: "To Do List", priority: 1, patterns: ["TODO", "tasks.md"] }]
tool_classes: { mcp: ["mcp__*"], skill: [] }
context: { raw_window_size: 5, summarize_every: 10, max_summary_tokens: 2000 }
`;

test.each([
  ["limits and breaking", seedA, "a.yaml"],
  ["streaming", seedAStreaming, "a.yaml"],
  ["windows", seedB, "b.yml"],
  ["budget", seedC, "c.toml"],
  ["rolling window", seedD, "d.yaml"],
  ["the published example", published, "p.yaml"],
  ["nothing", "", "empty.yaml"],
])("the example of %s loads as it stands", (_name, text, file) => {
  expect(() => parseConfig(text, file)).not.toThrow();
});

test("values arrive as they were written", () => {
  expect(parseConfig(seedC, "c.toml").agent?.tool_deferral_threshold).toBe(0.1);
  const budgets = ["auto", "window", "90000"].map(
    (budget) => parseConfig(`agent: { context_budget: ${budget} }`, "c.yaml").agent?.context_budget,
  );
  expect(budgets).toEqual(["auto", "window", 90_000]);
  expect(parseConfig(seedA, "a.yaml").context_config?.per_llm?.[1]).toEqual({
    type: "cloud_grok",
    limit: 8000,
    follow_default: false,
  });
});

test.each([
  ["contxt_config: {}", 'unknown key "contxt_config": did you mean "context_config"?'],
  [
    "agent: { compact_triger: 0.5 }",
    'unknown key "compact_triger" in agent: did you mean "compact_trigger"?',
  ],
  [
    "providers: { openai: { models: { x: { contextWindw: 1 } } } }",
    'did you mean "contextWindow"?',
  ],
  [
    "context_config: { per_llm: [{ type: a, limit: 1, folow_default: true }] }",
    'did you mean "follow_default"?',
  ],
  [
    "context_config: { per_llm: [{ type: a, limit: 1, models: Phi-4 }] }",
    "context_config.per_llm.0.models is wrong",
  ],
  [
    "providers: { openai: { models: { x: { thoughts: true } } } }",
    'unknown key "thoughts" in providers.openai.models.x: remove it; the keys here are contextWindow,',
  ],
  ["agent: { hard_block: high }", "agent.hard_block is wrong"],
  [
    "agent: { context_budget: all }",
    "agent.context_budget is wrong: give a number of tokens above 0, auto or window",
  ],
  [
    "agent: { context_budget: 0 }",
    "agent.context_budget is wrong: give a number of tokens above 0, auto or window",
  ],
  [
    "priority_areas: [{ name: A, priority: 0, patterns: [a] }]",
    "priority_areas.0.priority is wrong: give 1, 2 or 3, where 1 is the highest priority",
  ],
  [
    "priority_areas: [{ name: A, priority: 9, patterns: [a] }]",
    "priority_areas.0.priority is wrong: give 1, 2 or 3, where 1 is the highest priority",
  ],
  [
    "context_config: { breaking_strategy: { prioritize_recent: { relevance: dot } } }",
    "context_config.breaking_strategy.prioritize_recent.relevance is wrong",
  ],
  [
    "context_config: { breaking_strategy: { truncate: { last_resort: never } } }",
    "context_config.breaking_strategy.truncate.last_resort is wrong",
  ],
  [
    "context_config: { breaking_strategy: { content_type_chunking: { recent_share: 2 } } }",
    "context_config.breaking_strategy.content_type_chunking.recent_share is wrong",
  ],
  [
    "context_config: { breaking_strategy: { content_type_chunking: { least_tokens: -1 } } }",
    "context_config.breaking_strategy.content_type_chunking.least_tokens is wrong",
  ],
  ["defaults: { contextWindow: big }", "defaults.contextWindow is wrong"],
  ["agent: { compaction: never }", "agent.compaction is wrong"],
  ["context_config: { breaking_strategy: { all_p1: keep } }", "breaking_strategy.all_p1 is wrong"],
  ["texts: seed", "texts is wrong"],
  ["prompt: { sections: tail }", "prompt.sections is wrong"],
  ["prompt: { cache_marks: all }", "prompt.cache_marks is wrong"],
  ["providers: { openai: { baseUrl: 'file:///etc/passwd' } }", "providers.openai.baseUrl is wrong"],
  ["context_config: { breaking_strategy: { chain_order: [magic] } }", "chain_order.0 is wrong"],
  [
    "summariser: haiku",
    "summariser is wrong: give session, or a provider and a model such as anthropic/claude-haiku-4-5",
  ],
  ["summariser: mistral/small", "summariser is wrong: give session, or a provider and a model"],
  ["summariser: anthropic/", "summariser is wrong: give session, or a provider and a model"],
  ["summariser: 5", "summariser is wrong: give session"],
  ["summariser: { provider: anthropic }", "summariser is wrong: name the model"],
  [
    "summariser: { provider: anthropic, modle: x }",
    'unknown key "modle" in summariser: did you mean "model"?',
  ],
  [
    "summariser: { provider: session, model: x }",
    "summariser is wrong: with provider: session, leave out model",
  ],
  ["summariser: { provider: session, maxTokens: 7 }", "summariser.maxTokens is wrong"],
  [
    "summariser: { provider: compatible, model: x, maxUsdPerDay: 1 }",
    "summariser is wrong: maxUsdPerDay needs inputUsdPerMTok and outputUsdPerMTok, because no price is known",
  ],
  [
    "summariser: { provider: openai, model: gpt-5.1, inputUsdPerMTok: 1 }",
    "summariser is wrong: set both",
  ],
  ["retention: { max_age: 30 }", "retention.max_age is wrong"],
  ["retention: { max_age: 0d }", "retention.max_age is wrong: give an age above 0"],
  ["retention: { max_size: 2 parsecs }", "retention.max_size is wrong: give a size above 0"],
  ["retention: { max_ages: 30d }", 'unknown key "max_ages" in retention: did you mean "max_age"?'],
  ["a: [", "is not valid YAML"],
  [
    "targets: { small: [gpt-5.1] }",
    "write each target as provider/model, for example openai/gpt-5.1",
  ],
  ["providers: { openai: { apiKeyEnv: sk-123 } }", "providers.openai.apiKeyEnv is wrong"],
  ["providers: { openai: { maxUsdPerDay: -1 } }", "providers.openai.maxUsdPerDay is wrong"],
  ["providers: { openai: { api: completions } }", "providers.openai.api is wrong"],
  ["defaults: { reasoning: huge }", "defaults.reasoning is wrong"],
  ["agents: { coder: { toolsDenied: shell } }", "agents.coder.toolsDenied is wrong"],
  ["agents: { coder: { contextWindow: 1 } }", 'unknown key "contextWindow" in agents.coder'],
  ["agent: { result_offload: always }", "agent.result_offload is wrong"],
  ["agent: { tool_deferral: always }", "agent.tool_deferral is wrong"],
  ["agent: { deferral_note: system }", "agent.deferral_note is wrong"],
  ["agent: { final_turn: report }", "agent.final_turn is wrong"],
  ["providers: { __proto__: { polluted: 1 } }", '"__proto__" is not allowed'],
])("%s gets one sentence", (text, sentence) => {
  expect(() => parseConfig(text, "x.yaml")).toThrowError(sentence);
  expect(({} as { polluted?: number }).polluted).toBeUndefined();
});

test("an alias bomb is refused at once", () => {
  const lines = ["a: &a [x, x, x, x, x, x, x, x, x]"];
  for (const [name, inner] of ["ba", "cb", "dc", "ed", "fe", "gf", "hg", "ih"].map(
    (pair) => [...pair] as [string, string],
  )) {
    lines.push(`${name}: &${name} [${`*${inner}, `.repeat(8)}*${inner}]`);
  }
  expect(() => parseConfig(lines.join("\n"), "bomb.yaml")).toThrowError(/not valid YAML/);
});

test("PLIMSOLL_DATABASE_URL is an error, and not a store somewhere else", () => {
  const environment = { PLIMSOLL_DATA: folder, PLIMSOLL_DATABASE_URL: "postgres://db/plimsoll" };
  expect(() => loadSettings({}, environment)).toThrowError(
    /PLIMSOLL_DATABASE_URL is set, but Plimsoll does not support PostgreSQL yet/,
  );
  expect(loadSettings({}, { ...environment, PLIMSOLL_DATABASE_URL: "" }).data).toBe(folder);
});

test("flags win over environment, environment over file, file over default", () => {
  const file = join(folder, "c.yaml");
  writeFileSync(file, "server: { port: 1000, host: localhost }");
  const environment = { PLIMSOLL_DATA: folder, PLIMSOLL_CONFIG: file };
  expect(loadSettings({}, { PLIMSOLL_DATA: folder })).toMatchObject({
    port: 4141,
    host: "127.0.0.1",
  });
  expect(loadSettings({}, environment)).toMatchObject({ port: 1000, host: "localhost" });
  expect(loadSettings({}, { ...environment, PLIMSOLL_PORT: "2000" }).port).toBe(2000);
  expect(loadSettings({ port: 3000 }, { ...environment, PLIMSOLL_PORT: "2000" }).port).toBe(3000);
  expect(() => loadSettings({}, { PLIMSOLL_DATA: folder, PLIMSOLL_PORT: "many" })).toThrowError(
    /PLIMSOLL_PORT/,
  );
  expect(() => loadSettings({ config: join(folder, "none.yaml") }, {})).toThrowError(
    /Check the path/,
  );
});
