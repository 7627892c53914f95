/**
 * What makes each client send its requests to Plimsoll: for one run, without a change to the user's own files, or set by hand.
 * Pure.
 */

import { PlimsollError } from "../../message/error.ts";
import { type JsonObject, parseObject } from "../../message/json.ts";
import type { Vendor } from "../../wire/format/wire.ts";

export interface Client {
  /** The name that people use for it. */
  readonly name: string;
  /** The vendors whose models it uses if its user does not choose others. All vendors if absent. */
  readonly vendors?: readonly Vendor[];
  /** Variables with Plimsoll's address, in a run and by hand. */
  variables?(at: Address): Variables;
  /** What a user writes by hand if no variables are enough. */
  byHand?(base: string): Written;
  /** How `plimsoll run` starts it. Absent if it is no program of its own. */
  readonly start?: Start;
}

export interface Address {
  /** The address of a run, or else of the service, without a slash at the end. */
  readonly address: string;
  /** The address of the service, for agents that accept only a host. Plimsoll cannot tell their runs apart. */
  readonly host: string;
}

export type Variables = Readonly<Record<string, string>>;

export interface Written {
  /** Lines for the client's own configuration, and the file that they belong to. */
  readonly file?: { readonly path: string; readonly text: string };
  readonly code?: string;
}

export interface Start {
  /** The command that installs it. */
  readonly install: string;
  /** Variables by which a user sends the agent to a provider that Plimsoll does not serve. */
  readonly otherWays?: readonly string[];
  /** Variables, flags and files of a run. If absent, a run sets only the client's `variables`. */
  pointAt?(place: Place): Pointing;
}

export interface Place extends Address {
  /** A folder of this run, for files that the agent reads. */
  readonly folder: string;
  readonly environment: Environment;
  readonly home: string;
  /** The text of a file of the user's, or undefined if there is none. */
  readonly read: (file: string) => string | undefined;
}

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Pointing {
  /** Variables for the environment of this one process. */
  readonly variables?: Variables;
  /** Arguments that come before the user's own. */
  readonly flags?: readonly string[];
  /** Names and texts of files in `folder`. */
  readonly files?: Variables;
}

const piExtension = "plimsoll.mjs";
const clineFile = "providers.json";

/** Programs that `plimsoll run` can start, by the name of the program. */
const agents: Readonly<Record<string, Client & { readonly start: Start }>> = {
  claude: {
    name: "Claude Code",
    vendors: ["anthropic"],
    variables: ({ address }) => ({ ANTHROPIC_BASE_URL: address }),
    start: {
      install: "npm install -g @anthropic-ai/claude-code",
      otherWays: ["CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"],
    },
  },
  codex: {
    name: "Codex",
    vendors: ["openai"],
    byHand: (base) => ({
      file: { path: "~/.codex/config.toml", text: `openai_base_url = "${base}/v1"` },
    }),
    start: {
      install: "npm install -g @openai/codex",
      pointAt: ({ address }) => ({ flags: ["-c", `openai_base_url="${address}/v1"`] }),
    },
  },
  gemini: {
    name: "Gemini CLI",
    vendors: ["gemini"],
    variables: ({ address }) => ({ GOOGLE_GEMINI_BASE_URL: address }),
    start: {
      install: "npm install -g @google/gemini-cli",
      otherWays: ["GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA"],
    },
  },
  opencode: {
    name: "opencode",
    byHand: (base) => ({
      file: { path: "opencode.json", text: JSON.stringify(opencodeConfig(base, {}), null, 2) },
    }),
    start: {
      install: "npm install -g opencode-ai",
      pointAt: ({ address, environment }) => ({
        variables: {
          OPENCODE_CONFIG_CONTENT: JSON.stringify(
            opencodeConfig(address, ownOpencodeConfig(environment)),
          ),
        },
      }),
    },
  },
  pi: {
    name: "pi",
    byHand: (base) => ({
      file: {
        path: "~/.pi/agent/models.json",
        text: JSON.stringify({ providers: piProviders(base) }, null, 2),
      },
    }),
    start: {
      install: "npm install -g @earendil-works/pi-coding-agent",
      pointAt: ({ address, folder }) => ({
        flags: ["-e", `${folder}/${piExtension}`],
        files: { [piExtension]: piExtensionText(address) },
      }),
    },
  },
  qwen: {
    name: "Qwen Code",
    vendors: [],
    variables: ({ address }) => ({ OPENAI_BASE_URL: `${address}/v1` }),
    start: { install: "npm install -g @qwen-code/qwen-code" },
  },
  crush: {
    name: "Crush",
    variables: ({ address }) => ({
      ANTHROPIC_API_ENDPOINT: address,
      OPENAI_API_ENDPOINT: `${address}/v1`,
      GEMINI_API_ENDPOINT: address,
    }),
    start: { install: "npm install -g @charmland/crush" },
  },
  cline: {
    name: "Cline",
    byHand: (base) => ({
      file: {
        path: "Cline settings, “Use custom base URL”",
        text: `Anthropic: ${base}\nOpenAI compatible: ${base}/v1`,
      },
    }),
    start: {
      install: "npm install -g cline",
      pointAt: (place) => ({
        variables: { CLINE_PROVIDER_SETTINGS_PATH: `${place.folder}/${clineFile}` },
        files: { [clineFile]: clineSettings(place) },
      }),
    },
  },
  goose: {
    name: "Goose",
    variables: ({ host }) => ({ ANTHROPIC_HOST: host, OPENAI_HOST: host }),
    start: { install: "see https://block.github.io/goose" },
  },
  aider: {
    name: "Aider",
    variables: ({ address }) => ({
      OPENAI_API_BASE: `${address}/v1`,
      ANTHROPIC_API_BASE: address,
    }),
    start: { install: "python -m pip install aider-install && aider-install" },
  },
};

/** Clients that their users start: editors and libraries. */
const others: Readonly<Record<string, Client>> = {
  continue: {
    name: "Continue",
    byHand: (base) => ({
      file: { path: "config.yaml, under each of models", text: `apiBase: ${base}/v1` },
    }),
  },
  "ai-sdk": {
    name: "AI SDK",
    variables: ({ address }) => ({
      ANTHROPIC_BASE_URL: `${address}/v1`,
      OPENAI_BASE_URL: `${address}/v1`,
    }),
  },
  langchain: {
    name: "LangChain",
    byHand: (base) => ({
      code: [
        `new ChatAnthropic({ anthropicApiUrl: "${base}" })`,
        `new ChatOpenAI({ configuration: { baseURL: "${base}/v1" } })`,
        `new ChatGoogleGenerativeAI({ baseUrl: "${base}" })`,
      ].join("\n"),
    }),
  },
  openai: {
    name: "OpenAI SDK",
    vendors: ["openai"],
    variables: ({ address }) => ({ OPENAI_BASE_URL: `${address}/v1` }),
  },
  anthropic: {
    name: "Anthropic SDK",
    vendors: ["anthropic"],
    variables: ({ address }) => ({ ANTHROPIC_BASE_URL: address }),
  },
};

/** Other names for a client that people use, and that Plimsoll has promised to accept. */
const otherNames: Readonly<Record<string, string>> = { "claude-code": "claude" };

export const agentPrograms: readonly string[] = Object.keys(agents);
export const clientNames: readonly string[] = [...agentPrograms, ...Object.keys(others)];

const byName: ReadonlyMap<string, Client> = new Map(Object.entries({ ...agents, ...others }));

/** The client of this name, with the name that the tables have for it. */
export function findClient(name: string): (Client & { readonly key: string }) | undefined {
  const key = new Map(Object.entries(otherNames)).get(name) ?? name;
  const client = byName.get(key);
  return client === undefined ? undefined : { ...client, key };
}

export interface SetByHand extends Written {
  /** Environment variables to set. */
  readonly variables?: Variables;
}

/** What a user sets by hand, with the address of the service. */
export function byHand(client: Client, base: string): SetByHand {
  const variables = client.variables?.({ address: base, host: base });
  return { ...(variables === undefined ? {} : { variables }), ...client.byHand?.(base) };
}

function ownOpencodeConfig(environment: Environment): JsonObject {
  const own = environment["OPENCODE_CONFIG_CONTENT"];
  const config = own === undefined || own === "" ? {} : parseObject(own);
  if (config !== undefined) return config;
  throw new PlimsollError(
    "USAGE",
    "OPENCODE_CONFIG_CONTENT is not JSON, so Plimsoll cannot add its address to it. Correct it, or unset it.",
  );
}

/** The user's own configuration stays. Only the addresses are added. */
function opencodeConfig(address: string, config: JsonObject): JsonObject {
  const providers = objectAt(config, "provider");
  const pointed = Object.entries({ anthropic: "v1", openai: "v1", google: "v1beta" }).map(
    ([name, version]) => {
      const provider = objectAt(providers, name);
      const options = { ...objectAt(provider, "options"), baseURL: `${address}/${version}` };
      return [name, { ...provider, options }] as const;
    },
  );
  return { ...config, provider: { ...providers, ...Object.fromEntries(pointed) } };
}

/**
 * Cline's list of providers with Plimsoll's address in each. Cline reads this copy during the run, so a provider that the user
 * adds meanwhile is not kept.
 */
function clineSettings({ address, environment, home, read }: Place): string {
  const { CLINE_PROVIDER_SETTINGS_PATH: file, CLINE_DATA_DIR: data } = environment;
  const path = file ?? `${data ?? `${home}/.cline/data`}/settings/${clineFile}`;
  const text = read(path);
  const own = text === undefined ? { version: 1, modes: {} } : parseObject(text);
  if (own === undefined)
    throw new PlimsollError("USAGE", `${path} is not JSON. Correct it, and try again.`);
  const providers = objectAt(own, "providers");
  const addresses = {
    anthropic: address,
    openai: `${address}/v1`,
    "openai-native": `${address}/v1`,
  };
  const pointed = Object.entries(addresses).map(([name, baseUrl]) => {
    const provider = objectAt(providers, name);
    const settings = { provider: name, ...objectAt(provider, "settings"), baseUrl };
    return [name, { updatedAt: new Date(0).toISOString(), ...provider, settings }] as const;
  });
  return JSON.stringify({ ...own, providers: { ...providers, ...Object.fromEntries(pointed) } });
}

function objectAt(parent: JsonObject, key: string): JsonObject {
  const value = parent[key];
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : {};
}

function piProviders(address: string): Readonly<Record<string, { readonly baseUrl: string }>> {
  return {
    anthropic: { baseUrl: address },
    openai: { baseUrl: `${address}/v1` },
    google: { baseUrl: `${address}/v1beta` },
  };
}

function piExtensionText(address: string): string {
  return `// Written by \`plimsoll run\`: sends pi's requests to Plimsoll.
const providers = ${JSON.stringify(piProviders(address))};
export default function (pi) {
  for (const [name, provider] of Object.entries(providers)) pi.registerProvider(name, provider);
}
`;
}
