/** The agents that `plimsoll run` can start, and what in the user's environment is in their way. Pure. */

import { PlimsollError } from "../../message/error.ts";
import {
  agentPrograms,
  type Client,
  type Environment,
  findClient,
  type Place,
  type Pointing,
  type Start,
} from "./clients.ts";

export type Agent = Client & { readonly key: string; readonly start: Start };

/** `program` may be a path. `as` names the agent if the program has another name. */
export function agentOf(program: string, as: string | undefined): Agent {
  const key = as ?? (program.split(/[\\/]/).at(-1) ?? "").replace(/\.(cmd|exe|js|mjs)$/, "");
  const client = findClient(key);
  if (client?.start !== undefined) return { ...client, start: client.start };
  throw new PlimsollError(
    "USAGE",
    `Plimsoll does not know how to start "${key}". It knows ${agentPrograms.join(", ")}. If your program is one of these under another name, add --as NAME. For any other agent, set its base URL to the address of \`plimsoll serve\`; OpenAI clients need /v1 after it.`,
  );
}

/** What one run sets. */
export function pointingOf(agent: Agent, place: Place): Pointing {
  return agent.start.pointAt?.(place) ?? { variables: agent.variables?.(place) ?? {} };
}

/**
 * Throws if the user's environment leads the agent elsewhere. Plimsoll must not change that in silence: the user may need a
 * gateway.
 */
export function refuseOtherWays(
  { name, start: { otherWays = [] } }: Agent,
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

/** Whether a variable is unset, or already contains the address of a service on this machine. */
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
