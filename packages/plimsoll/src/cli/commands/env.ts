/** `plimsoll env`: prints the settings that point each client at the service. */

import { type Flags, loadSettings } from "../../config/config.ts";
import { PlimsollError } from "../../message/error.ts";
import type { Vendor } from "../../wire/format/wire.ts";

interface ClientSettings {
  /** Environment variables to set. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Lines for the client's own configuration, and the file that they belong to. */
  readonly file?: { readonly path: string; readonly text: string };
  readonly code?: string;
}

/** The vendors whose models a client uses if its user does not choose others. All vendors if the client is not listed. */
const usualVendors: Readonly<Record<string, readonly Vendor[]>> = {
  "claude-code": ["anthropic"],
  codex: ["openai"],
  gemini: ["gemini"],
  openai: ["openai"],
  anthropic: ["anthropic"],
};
const allVendors: readonly Vendor[] = ["anthropic", "openai", "gemini"];

function settingsFor(base: string): Readonly<Record<string, ClientSettings>> {
  const v1 = `${base}/v1`;
  return {
    "claude-code": { variables: { ANTHROPIC_BASE_URL: base } },
    codex: { file: { path: "~/.codex/config.toml", text: `openai_base_url = "${v1}"` } },
    cline: {
      file: {
        path: "Cline settings, “Use custom base URL”",
        text: `Anthropic: ${base}\nOpenAI compatible: ${v1}`,
      },
    },
    aider: { variables: { OPENAI_API_BASE: v1 } },
    opencode: {
      file: {
        path: "opencode.json",
        text: JSON.stringify(
          {
            provider: {
              anthropic: { options: { baseURL: v1 } },
              openai: { options: { baseURL: v1 } },
            },
          },
          null,
          2,
        ),
      },
    },
    gemini: { variables: { GOOGLE_GEMINI_BASE_URL: base } },
    continue: { file: { path: "config.yaml, under each of models", text: `apiBase: ${v1}` } },
    "ai-sdk": { variables: { ANTHROPIC_BASE_URL: v1, OPENAI_BASE_URL: v1 } },
    langchain: {
      code: [
        `new ChatAnthropic({ anthropicApiUrl: "${base}" })`,
        `new ChatOpenAI({ configuration: { baseURL: "${v1}" } })`,
        `new ChatGoogleGenerativeAI({ baseUrl: "${base}" })`,
      ].join("\n"),
    },
    openai: { variables: { OPENAI_BASE_URL: v1 } },
    anthropic: { variables: { ANTHROPIC_BASE_URL: base } },
  };
}

/** Names of programs that differ from the name of their client. */
const programs: ReadonlyMap<string, string> = new Map([["claude", "claude-code"]]);

export const clients: readonly string[] = Object.keys(settingsFor(""));

export async function printEnvironment(
  client: string,
  flags: Flags & { readonly json?: boolean },
): Promise<void> {
  const { port, config } = loadSettings(flags, process.env);
  const name = programs.get(client) ?? client;
  const settings = new Map(Object.entries(settingsFor(`http://127.0.0.1:${port}`))).get(name);
  if (settings === undefined) {
    throw new PlimsollError(
      "USAGE",
      `There is no client "${client}". Choose one of ${clients.join(", ")}.`,
    );
  }
  // Only this command needs the catalogue of models, and every command loads this file.
  const { usualLimits } = await import("../console/known-limits.ts");
  const vendors = usualVendors[name] ?? allVendors;
  const limits = vendors.flatMap((vendor) => usualLimits(config, vendor));
  if (flags.json === true) console.log(JSON.stringify({ ...settings, limits }));
  else console.log([...limits.map((limit) => `# limit ${limit}`), render(settings)].join("\n"));
}

/** Writes the settings as text. Variables are in shell syntax, so that `eval "$(plimsoll env claude-code)"` works. */
function render({ variables, file, code }: ClientSettings): string {
  const lines = Object.entries(variables ?? {}).map(([name, value]) => `export ${name}=${value}`);
  if (file !== undefined) lines.push(`# in ${file.path}:`, file.text);
  if (code !== undefined) lines.push(code);
  return lines.join("\n");
}
