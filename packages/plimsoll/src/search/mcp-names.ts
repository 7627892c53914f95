/**
 * Recognises the tools of MCP servers by their names. Each client puts the name of the server before the name of the tool, but in
 * its own way. Some ways would also fit other tools, so they count only in a list that has the client's own tools.
 */

export interface McpName {
  readonly server: string;
  readonly tool: string;
}

/** Splits the name of an MCP tool. Undefined for any other tool. */
export type ReadMcpName = (name: string) => McpName | undefined;

/** Matches names that are clear in every list. The groups are the server and the tool. */
const clearNames: readonly RegExp[] = [
  // Claude Code
  /^mcp__(.+?)__(.+)$/su,
  // Gemini CLI 0.61
  /^mcp_([^_]+)_(.+)$/su,
  // Cline in VS Code, with a key for the server
  /^(.+?)0mcp0(.+)$/su,
  // Cline CLI 3.0
  /^(.+?)__(.+)$/su,
];

/** Goose names its own tools like those of servers. These are its own. The list is from memory and was not checked. */
const ownServers = new Set([
  "developer",
  "platform",
  "todo",
  "memory",
  "skills",
  "apps",
  "tutorial",
  "computercontroller",
  "autovisualiser",
  "extensionmanager",
  "chatrecall",
  "code_execution",
]);

interface ClientNaming {
  /** Tools of the client itself. A list that has all of them is this client's. */
  readonly signature: readonly string[];
  readonly pattern: RegExp;
  /** Tools of the client itself that the pattern would match. */
  readonly own: ReadonlySet<string>;
}

/** The lists of tools were read off the clients named here. */
const clients: readonly ClientNaming[] = [
  {
    // opencode 1.18
    signature: ["glob", "grep", "read", "webfetch"],
    pattern: /^([^_]+)_(.+)$/su,
    own: new Set(["apply_patch", "plan_enter", "plan_exit"]),
  },
  {
    // GitHub Copilot CLI 1.0
    signature: ["read_bash", "stop_bash", "view"],
    pattern: /^([^-]+)-(.+)$/su,
    own: new Set(),
  },
];

/** Reads names in the way of the client that sent this list of tools. */
export function mcpNamesIn(names: readonly string[]): ReadMcpName {
  const all = new Set(names);
  const client = clients.find(({ signature }) => signature.every((name) => all.has(name)));
  return (name) => {
    const match = clearNames.map((pattern) => pattern.exec(name)).find((found) => found !== null);
    if (match !== undefined)
      return ownServers.has(match[1] ?? "") && !name.startsWith("mcp") ? undefined : parts(match);
    if (client === undefined || client.own.has(name)) return undefined;
    const found = client.pattern.exec(name);
    return found === null ? undefined : parts(found);
  };
}

function parts([, server = "", tool = ""]: RegExpExecArray): McpName {
  return { server, tool };
}
