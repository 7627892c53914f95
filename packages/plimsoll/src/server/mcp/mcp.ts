/** The MCP server over a Plimsoll object, published as `plimsoll/mcp`. */

import type { McpServer } from "@modelcontextprotocol/server";
import { libraryTenant } from "../../open-session.ts";
import { engineOf, type Plimsoll } from "../../plimsoll.ts";
import { homeIn, mcpServerOver } from "./mcp-server.ts";

export interface McpServerOptions {
  /** The tenant whose sessions, tasks and tickets are visible. If absent, those of all tenants are visible. */
  readonly tenant?: string;
  /** The version that the server reports. */
  readonly version?: string;
}

/**
 * Creates a server for one client or one request. Create a new server each time: if two clients share one, it sends the answers
 * of one client to the other (CVE-2026-25536).
 */
export function createMcpServer(
  plimsoll: Plimsoll,
  { tenant, version }: McpServerOptions = {},
): McpServer {
  const engine = engineOf(plimsoll);
  const work = engine.work.of({ tenant: tenant ?? libraryTenant, isOwner: tenant === undefined });
  return mcpServerOver(homeIn(engine), { tenant, version, work });
}
