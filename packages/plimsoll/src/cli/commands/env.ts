/** `plimsoll env`: prints the settings that point a client at the service, or the clients that can be named. */

import { type Flags, loadSettings } from "../../config/config.ts";
import { PlimsollError } from "../../message/error.ts";
import type { Vendor } from "../../wire/format/wire.ts";
import { table } from "../console/terminal.ts";
import { byHand, type Client, clientNames, findClient, type SetByHand } from "../run/clients.ts";

const allVendors: readonly Vendor[] = ["anthropic", "openai", "gemini"];

type EnvFlags = Flags & { readonly json?: boolean };

export async function printEnvironment(name: string | undefined, flags: EnvFlags): Promise<void> {
  if (name === undefined) {
    printClients(flags);
    return;
  }
  const { port, config } = loadSettings(flags, process.env);
  const client = findClient(name);
  if (client === undefined) {
    throw new PlimsollError(
      "USAGE",
      `There is no client "${name}". Choose one of ${clientNames.join(", ")}.`,
    );
  }
  const settings = byHand(client, `http://127.0.0.1:${port}`);
  // Only this command needs the catalogue of models, and every command loads this file.
  const { usualLimits } = await import("../console/known-limits.ts");
  const vendors = client.vendors ?? allVendors;
  const limits = vendors.flatMap((vendor) => usualLimits(config, vendor));
  if (flags.json === true) console.log(JSON.stringify({ ...settings, limits }));
  else console.log([...limits.map((limit) => `# limit ${limit}`), render(settings)].join("\n"));
}

/** One line for each client: its name here, the name that people use, and what `plimsoll env` prints for it. */
function printClients({ json }: EnvFlags): void {
  const clients = clientNames.flatMap((key) => findClient(key) ?? []);
  if (json === true) {
    const items = clients.map(({ key, name, start }) => ({
      client: key,
      name,
      run: start !== undefined,
    }));
    console.log(JSON.stringify({ items }));
    return;
  }
  const rows = clients.map((client) => [client.key, client.name, kindOf(client), startOf(client)]);
  console.log(
    table([["client", "name", "what `plimsoll env CLIENT` prints", "or start it with"], ...rows]),
  );
}

function kindOf(client: Client): string {
  const { variables, file } = byHand(client, "");
  if (variables !== undefined) return Object.keys(variables).join(", ");
  return file === undefined ? "lines of code" : `lines for ${file.path}`;
}

function startOf({ key, start }: Client & { readonly key: string }): string {
  return start === undefined ? "" : `plimsoll run -- ${key}`;
}

/** Writes the settings as text. Variables are in shell syntax, so that `eval "$(plimsoll env claude)"` works. */
function render({ variables, file, code }: SetByHand): string {
  const lines = Object.entries(variables ?? {}).map(([name, value]) => `export ${name}=${value}`);
  if (file !== undefined) lines.push(`# in ${file.path}:`, file.text);
  if (code !== undefined) lines.push(code);
  return lines.join("\n");
}
