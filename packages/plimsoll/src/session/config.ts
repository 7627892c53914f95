/** Configuration: YAML or TOML, then environment, then flags. Keys keep the spelling that users know. */

import { existsSync, readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { extname, join } from "node:path";
import { parse as parseToml } from "smol-toml";
import { parse as parseYaml } from "yaml";
import { z } from "zod";
import { errorMessage, PlimsollError } from "../message/error.ts";
import { isObject } from "../message/json.ts";

const tokens = z.number().int().nonnegative();
const share = z.number().min(0).max(1);
const priority = z.union([z.literal(1), z.literal(2), z.literal(3)]);

const limitSettings = {
  contextWindow: tokens.optional(),
  maxOutputTokens: tokens.optional(),
  contextWindowBufferTokens: tokens.optional(),
  tokenizer: z.string().optional(),
};

const retryPolicy = z.strictObject({
  max_attempts: z.number().int().min(1).max(100).optional(),
  backoff_base_seconds: z.number().nonnegative().optional(),
  max_delay_seconds: z.number().nonnegative().optional(),
});

/** US dollars for a million tokens. */
const usd = z.number().nonnegative();
const prices = z.strictObject({
  input: usd.optional(),
  output: usd.optional(),
  cache_read: usd.optional(),
  cache_write: usd.optional(),
  cache_write_long: usd.optional(),
  cache_min_tokens: tokens.optional(),
  cache_ttl_seconds: z.number().positive().optional(),
});

const provider = z.strictObject({
  wire: z.enum(["anthropic", "openai", "gemini"]).optional(),
  baseUrl: z.url({ protocol: /^https?$/ }).optional(),
  native_tool_deferral: z.boolean().optional(),
  ...limitSettings,
  models: z
    .record(z.string(), z.strictObject({ ...limitSettings, prices: prices.optional() }))
    .optional(),
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
    .optional(),
  summarize_old: z
    .strictObject({ old_threshold: share.optional(), summary_length: tokens.optional() })
    .optional(),
  prioritize_recent: z
    .strictObject({
      rel_threshold: share.optional(),
      recent_bias: share.optional(),
      priority_boost: z.number().min(1).optional(),
    })
    .optional(),
  content_type_chunking: z
    .strictObject({
      compress_ratios: z
        .strictObject({
          code: share.optional(),
          text: share.optional(),
          plan_ref: share.optional(),
          log: share.optional(),
          other: share.optional(),
        })
        .optional(),
    })
    .optional(),
  discard_low_rel: z
    .strictObject({
      discard_percent: share.optional(),
      placeholder_detail: z.enum(["brief", "linked"]).optional(),
    })
    .optional(),
  hybrid: z.strictObject({ max_iterations: z.number().int().min(1).max(10).optional() }).optional(),
});

const contextConfig = z.strictObject({
  min_limit: tokens.optional(),
  default_limit: tokens.optional(),
  warning_threshold: share.optional(),
  per_agent: z.record(z.string(), tokens).optional(),
  per_llm: z
    .array(
      z.strictObject({ type: z.string(), limit: tokens, follow_default: z.boolean().optional() }),
    )
    .optional(),
  breaking_strategy: breakingStrategy.optional(),
  recovery_mode: z.enum(["fresh_start", "truncate", "error"]).optional(),
  retry_policies: z
    .strictObject({
      default: retryPolicy.optional(),
      per_tool: z.record(z.string(), retryPolicy).optional(),
    })
    .optional(),
});

const schema = z.strictObject({
  server: z
    .strictObject({
      host: z.string().optional(),
      port: z.number().int().min(0).max(65_535).optional(),
      allowed_hosts: z.array(z.string()).optional(),
    })
    .optional(),
  durability: z.enum(["full", "normal"]).optional(),
  providers: z.record(z.string().regex(/^[\w-]{1,64}$/), provider).optional(),
  targets: z.record(z.string(), z.array(z.string())).optional(),
  tokens: z.record(z.string().regex(/^[\w-]{1,64}$/), z.string().min(16)).optional(),
  defaults: z
    .strictObject({
      toolResponseMaxBytes: tokens.optional(),
      tool_output_mode: z.enum(["auto", "read-grep", "truncate", "full-chunked"]).optional(),
      contextWindowBufferTokens: tokens.optional(),
      maxOutputTokens: tokens.optional(),
    })
    .optional(),
  agent: z
    .strictObject({
      context_budget: tokens.optional(),
      max_output_tokens: tokens.optional(),
      compact_trigger: share.optional(),
      hard_block: share.optional(),
      warning_note: z.boolean().optional(),
      result_offload_threshold: tokens.optional(),
      tool_deferral_threshold: share.optional(),
    })
    .optional(),
  context_config: contextConfig.optional(),
  /** A sentence model for relevance: a local folder, or the name of one on the hub. */
  embedder: z
    .union([z.strictObject({ folder: z.string() }), z.strictObject({ model: z.string() })])
    .optional(),
  summariser: z
    .strictObject({
      provider: z.enum(["anthropic", "openai", "compatible", "ollama"]),
      model: z.string(),
      baseUrl: z.url({ protocol: /^https?$/ }).optional(),
      /** The name of a variable, never the key itself. */
      apiKeyEnv: z.string().regex(/^[A-Z][A-Z0-9_]*$/),
      maxTokens: z.number().int().min(100).max(8000).optional(),
      timeoutMs: z.number().int().min(100).max(60_000).optional(),
      maxUsdPerDay: z.number().nonnegative().optional(),
      inputUsdPerMTok: z.number().nonnegative().optional(),
      outputUsdPerMTok: z.number().nonnegative().optional(),
      maxCallsPerHour: z.number().int().min(1).max(10_000).optional(),
    })
    .refine(
      ({ maxUsdPerDay, inputUsdPerMTok, outputUsdPerMTok }) =>
        maxUsdPerDay === undefined ||
        (inputUsdPerMTok !== undefined && outputUsdPerMTok !== undefined),
      "maxUsdPerDay needs inputUsdPerMTok and outputUsdPerMTok: without prices nothing can be added up",
    )
    .optional(),
  llm: z
    .strictObject({
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
    })
    .optional(),
  priority_areas: z
    .array(z.strictObject({ name: z.string(), priority, patterns: z.array(z.string()) }))
    .optional(),
  tool_classes: z
    .strictObject({ mcp: z.array(z.string()).optional(), skill: z.array(z.string()).optional() })
    .optional(),
  cost: z
    .strictObject({
      /** forced: never for money's sake. cold: when the provider's cache has expired. pays: whenever it saves. */
      when: z.enum(["forced", "cold", "pays"]).optional(),
      /** Of the limit: below that nothing is taken out for money's sake. */
      compact_from: share.optional(),
      expected_turns: z.number().int().min(1).max(1000).optional(),
    })
    .optional(),
  own_tools: z.enum(["first-edit", "first-request"]).optional(),
  context: z
    .strictObject({
      raw_window_size: z.number().int().positive().optional(),
      summarize_every: z.number().int().positive().optional(),
      max_summary_tokens: tokens.optional(),
    })
    .optional(),
});

export type Config = z.infer<typeof schema>;
export type ProviderSettings = z.infer<typeof provider>;

/** Larger files are no configuration; the limit also bounds what a parser can be made to do. */
const maxConfigBytes = 256 * 1024;
const forbiddenKeys = new Set(["__proto__", "constructor", "prototype"]);

export interface Settings {
  readonly config: Config;
  readonly data: string;
  readonly host: string;
  readonly port: number;
  /** From PLIMSOLL_TOKEN; else one is made and kept in the data folder. */
  readonly token?: string;
}

export interface Flags {
  readonly config?: string;
  readonly data?: string;
  readonly host?: string;
  readonly port?: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Flags win over environment, environment over file, file over default. */
export function loadSettings(flags: Flags, environment: Environment): Settings {
  const data = flags.data ?? environment["PLIMSOLL_DATA"] ?? join(homedir(), ".plimsoll");
  const named = flags.config ?? environment["PLIMSOLL_CONFIG"];
  const file =
    named ??
    ["config.yaml", "config.yml", "config.toml"].map((name) => join(data, name)).find(existsSync);
  const config = file === undefined ? {} : readConfigFile(file);
  const token = environment["PLIMSOLL_TOKEN"];
  return {
    config,
    data,
    host: flags.host ?? environment["PLIMSOLL_HOST"] ?? config.server?.host ?? "127.0.0.1",
    port: flags.port ?? readPort(environment["PLIMSOLL_PORT"]) ?? config.server?.port ?? 4141,
    ...(token === undefined || token === "" ? {} : { token }),
  };
}

export function readPort(text: string | undefined): number | undefined {
  if (text === undefined || text === "") return undefined;
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw invalid(`PLIMSOLL_PORT is "${text}": give a number from 0 to 65535.`);
}

function readConfigFile(file: string): Config {
  let text: string;
  try {
    if (statSync(file).size > maxConfigBytes) {
      throw invalid(
        `${file} is larger than ${maxConfigBytes} bytes: this is no configuration file.`,
      );
    }
    text = readFileSync(file, "utf8");
  } catch (cause) {
    if (PlimsollError.is(cause)) throw cause;
    throw invalid(
      `${file} cannot be read (${errorMessage(cause)}): check the path given by --config.`,
    );
  }
  return parseConfig(text, file);
}

/** Contract: throws CONFIG_INVALID with one sentence that names the file, the key and what to do. */
export function parseConfig(text: string, file: string): Config {
  let raw: unknown;
  try {
    raw = extname(file) === ".toml" ? parseToml(text) : parseYaml(text, { maxAliasCount: 20 });
  } catch (cause) {
    const reason = errorMessage(cause).split("\n")[0];
    throw invalid(`${file} is not valid ${extname(file) === ".toml" ? "TOML" : "YAML"}: ${reason}`);
  }
  return checkConfig(raw ?? {}, file);
}

export function checkConfig(raw: unknown, file: string): Config {
  const forbidden = findForbiddenKey(raw);
  if (forbidden !== undefined) throw invalid(`${file}: the key "${forbidden}" is not allowed.`);
  const result = schema.safeParse(raw);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  if (issue === undefined) throw invalid(`${file} is not a valid configuration.`);
  const place = issue.path.join(".");
  if (issue.code === "unrecognized_keys") throw unknownKey(file, issue.path, issue.keys[0] ?? "");
  throw invalid(`${file}: ${place === "" ? "the file" : place} is wrong: ${issue.message}.`);
}

function findForbiddenKey(value: unknown): string | undefined {
  if (Array.isArray(value)) return value.map(findForbiddenKey).find((key) => key !== undefined);
  if (!isObject(value)) return undefined;
  for (const key of Object.keys(value)) {
    if (forbiddenKeys.has(key)) return key;
    const inside = findForbiddenKey(value[key]);
    if (inside !== undefined) return inside;
  }
  return undefined;
}

function unknownKey(file: string, path: readonly PropertyKey[], key: string): PlimsollError {
  const known = knownKeys(path);
  const nearest = known.toSorted((left, right) => distance(key, left) - distance(key, right))[0];
  const place = path.length === 0 ? "" : ` in ${path.join(".")}`;
  const advice = nearest === undefined ? "remove it" : `did you mean "${nearest}"?`;
  return invalid(`${file}: unknown key "${key}"${place}: ${advice}`);
}

/** The keys that the schema takes at a path; records take any name, so their values are looked into. */
function knownKeys(path: readonly PropertyKey[]): readonly string[] {
  let at: unknown = schema;
  for (const step of path) {
    const inner = unwrapped(at);
    if (inner instanceof z.ZodObject) at = inner.shape[String(step)];
    else if (inner instanceof z.ZodRecord) at = inner.valueType;
    else if (inner instanceof z.ZodArray) at = inner.element;
  }
  const end = unwrapped(at);
  return end instanceof z.ZodObject ? Object.keys(end.shape) : [];
}

function unwrapped(type: unknown): unknown {
  return type instanceof z.ZodOptional ? unwrapped(type.unwrap()) : type;
}

/** Edit distance, for suggestions only: both words are short. */
function distance(left: string, right: string): number {
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    for (let column = 1; column <= right.length; column++) {
      const change = left[row - 1] === right[column - 1] ? 0 : 1;
      current.push(
        Math.min(
          (previous[column] ?? 0) + 1,
          (current[column - 1] ?? 0) + 1,
          (previous[column - 1] ?? 0) + change,
        ),
      );
    }
    previous = current;
  }
  return previous[right.length] ?? right.length;
}

function invalid(message: string): PlimsollError {
  return new PlimsollError("CONFIG_INVALID", message, { status: 400 });
}
