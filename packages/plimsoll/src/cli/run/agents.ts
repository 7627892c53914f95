/** What makes each agent send its requests to Plimsoll, without a change to the user's own files. Pure. */

import { PlimsollError } from "../../message/error.ts";
import { type JsonObject, parseObject } from "../../message/json.ts";

export interface Agent {
  /** The name that people use for it. */
  readonly name: string;
  /** The command that installs it. */
  readonly install: string;
  /** Variables by which a user sends the agent to a provider that Plimsoll does not serve. */
  readonly otherWays?: readonly string[];
  pointAt(place: Place): Pointing;
}

export interface Place {
  /** The address of this run, without a slash at the end. */
  readonly address: string;
  /** The address of the service, for agents that accept only a host. Plimsoll cannot tell their runs apart. */
  readonly host: string;
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
  readonly variables?: Readonly<Record<string, string>>;
  /** Arguments that come before the user's own. */
  readonly flags?: readonly string[];
  /** Names and texts of files in `folder`. */
  readonly files?: Readonly<Record<string, string>>;
}

const piExtension = "plimsoll.mjs";
const clineFile = "providers.json";

/** By the name of the program. */
const agents: Readonly<Record<string, Agent>> = {
  claude: {
    name: "Claude Code",
    install: "npm install -g @anthropic-ai/claude-code",
    otherWays: ["CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"],
    pointAt: ({ address }) => ({ variables: { ANTHROPIC_BASE_URL: address } }),
  },
  codex: {
    name: "Codex",
    install: "npm install -g @openai/codex",
    pointAt: ({ address }) => ({ flags: ["-c", `openai_base_url="${address}/v1"`] }),
  },
  gemini: {
    name: "Gemini CLI",
    install: "npm install -g @google/gemini-cli",
    otherWays: ["GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA"],
    pointAt: ({ address }) => ({ variables: { GOOGLE_GEMINI_BASE_URL: address } }),
  },
  opencode: {
    name: "opencode",
    install: "npm install -g opencode-ai",
    pointAt: ({ address, environment }) => ({
      variables: { OPENCODE_CONFIG_CONTENT: opencodeConfig(address, environment) },
    }),
  },
  pi: {
    name: "pi",
    install: "npm install -g @earendil-works/pi-coding-agent",
    pointAt: ({ address, folder }) => ({
      flags: ["-e", `${folder}/${piExtension}`],
      files: { [piExtension]: piExtensionText(address) },
    }),
  },
  qwen: {
    name: "Qwen Code",
    install: "npm install -g @qwen-code/qwen-code",
    pointAt: ({ address }) => ({ variables: { OPENAI_BASE_URL: `${address}/v1` } }),
  },
  crush: {
    name: "Crush",
    install: "npm install -g @charmland/crush",
    pointAt: ({ address }) => ({
      variables: {
        ANTHROPIC_API_ENDPOINT: address,
        OPENAI_API_ENDPOINT: `${address}/v1`,
        GEMINI_API_ENDPOINT: address,
      },
    }),
  },
  cline: {
    name: "Cline",
    install: "npm install -g cline",
    pointAt: (place) => ({
      variables: { CLINE_PROVIDER_SETTINGS_PATH: `${place.folder}/${clineFile}` },
      files: { [clineFile]: clineSettings(place) },
    }),
  },
  goose: {
    name: "Goose",
    install: "see https://block.github.io/goose",
    pointAt: ({ host }) => ({ variables: { ANTHROPIC_HOST: host, OPENAI_HOST: host } }),
  },
  aider: {
    name: "Aider",
    install: "python -m pip install aider-install && aider-install",
    pointAt: ({ address }) => ({
      variables: { OPENAI_API_BASE: `${address}/v1`, ANTHROPIC_API_BASE: address },
    }),
  },
};

/** The user's own inline configuration stays. Only the addresses are added. */
function opencodeConfig(address: string, environment: Environment): string {
  const own = environment["OPENCODE_CONFIG_CONTENT"];
  const config = own === undefined || own === "" ? {} : parseObject(own);
  if (config === undefined)
    throw new PlimsollError(
      "USAGE",
      "OPENCODE_CONFIG_CONTENT is not JSON, so Plimsoll cannot add its address to it. Correct it, or unset it.",
    );
  const providers = objectAt(config, "provider");
  const pointed = Object.entries({ anthropic: "v1", openai: "v1", google: "v1beta" }).map(
    ([name, version]) => {
      const provider = objectAt(providers, name);
      const options = { ...objectAt(provider, "options"), baseURL: `${address}/${version}` };
      return [name, { ...provider, options }] as const;
    },
  );
  return JSON.stringify({
    ...config,
    provider: { ...providers, ...Object.fromEntries(pointed) },
  });
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

function piExtensionText(address: string): string {
  const providers = { anthropic: address, openai: `${address}/v1`, google: `${address}/v1beta` };
  return `// Written by \`plimsoll run\`: sends pi's requests to Plimsoll.
const providers = ${JSON.stringify(providers)};
export default function (pi) {
  for (const [name, baseUrl] of Object.entries(providers)) pi.registerProvider(name, { baseUrl });
}
`;
}

export const agentPrograms: readonly string[] = Object.keys(agents);

/** `program` may be a path. `as` names the agent if the program has another name. */
export function agentOf(program: string, as: string | undefined): Agent & { readonly key: string } {
  const key = as ?? (program.split(/[\\/]/).at(-1) ?? "").replace(/\.(cmd|exe|js|mjs)$/, "");
  const agent = new Map(Object.entries(agents)).get(key);
  if (agent !== undefined) return { ...agent, key };
  throw new PlimsollError(
    "USAGE",
    `Plimsoll does not know how to start "${key}". It knows ${agentPrograms.join(", ")}. If your program is one of these under another name, add --as NAME. For any other agent, set its base URL to the address of \`plimsoll serve\`; OpenAI clients need /v1 behind it.`,
  );
}

/**
 * Throws if the user's environment leads the agent elsewhere. Plimsoll must not change that in silence: the user may need a
 * gateway.
 */
export function refuseOtherWays(
  { name, otherWays = [] }: Agent,
  { variables = {} }: Pointing,
  environment: Environment,
): void {
  const other = otherWays.find(
    (variable) => !["", "0", "false"].includes(environment[variable] ?? ""),
  );
  if (other !== undefined)
    throw new PlimsollError(
      "USAGE",
      `${other} sends ${name} to a provider that Plimsoll does not serve. Unset it to run ${name} through Plimsoll.`,
    );
  const taken = Object.entries(variables).find(
    ([variable, value]) =>
      value.startsWith("http") && !isOwnAddress(environment[variable], new URL(value).host),
  );
  if (taken !== undefined)
    throw new PlimsollError(
      "USAGE",
      `${taken[0]} is already set to ${environment[taken[0]]}. If your requests must go there, write that address into the configuration as the provider's baseUrl (docs/configuration.md). Then unset ${taken[0]} and try again.`,
    );
}

/** Whether a variable is unset, or already leads to a service on this machine. */
function isOwnAddress(value: string | undefined, host: string): boolean {
  if (value === undefined || value === "") return true;
  return URL.parse(value)?.host === host;
}

/** Lets the agent reach this machine without the user's own proxy. */
export function withoutProxy(environment: Environment): Readonly<Record<string, string>> {
  const hasProxy = ["http_proxy", "https_proxy", "all_proxy"].some(
    (name) => (environment[name] ?? environment[name.toUpperCase()] ?? "") !== "",
  );
  if (!hasProxy) return {};
  const own = environment["NO_PROXY"] ?? environment["no_proxy"] ?? "";
  const list = [own, "127.0.0.1", "localhost"].filter((entry) => entry !== "").join(",");
  // Some programs read the one, some the other.
  return { NO_PROXY: list, no_proxy: list };
}
