/** The MCP server over a Plimsoll object, published as `plimsoll/mcp`. */

import type { McpServer } from "@modelcontextprotocol/server";
import type { Plimsoll } from "../../plimsoll.ts";
import { mcpServerOver } from "./mcp-server.ts";
import type { McpHome } from "./tools.ts";

export interface McpServerOptions {
  /** Only the sessions of this tenant; without one, the sessions of all. */
  readonly tenant?: string;
  /** What the server says of itself. */
  readonly version?: string;
}

/**
 * For one client, or for one request: give each its own. A server that two clients share sends the answers of one to
 * the other (CVE-2026-25536).
 */
export function createMcpServer(
  plimsoll: Pick<Plimsoll, "store" | "own" | "steering">,
  { tenant, version }: McpServerOptions = {},
): McpServer {
  const home = homeOf(plimsoll);
  return mcpServerOver(() => Promise.resolve(home), { tenant, version });
}

function homeOf({ store, own, steering }: Pick<Plimsoll, "store" | "own" | "steering">): McpHome {
  return { store, own, compact: (session) => steering.compact(session, {}) };
}
