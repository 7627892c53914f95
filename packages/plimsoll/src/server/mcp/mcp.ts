/** The MCP server over a Plimsoll object, published as `plimsoll/mcp`. */

import type { McpServer } from "@modelcontextprotocol/server";
import { engineOf, type Plimsoll } from "../../plimsoll.ts";
import { homeIn, mcpServerOver } from "./mcp-server.ts";

export interface McpServerOptions {
  /** Only the sessions of this tenant. Without it, the sessions of all tenants. */
  readonly tenant?: string;
  /** The version that the server reports. */
  readonly version?: string;
}

/**
 * For one client, or for one request: create a new one each time. A server that two
 * clients share sends the answers of one to the other (CVE-2026-25536).
 */
export function createMcpServer(
  plimsoll: Plimsoll,
  { tenant, version }: McpServerOptions = {},
): McpServer {
  return mcpServerOver(homeIn(engineOf(plimsoll)), { tenant, version });
}
