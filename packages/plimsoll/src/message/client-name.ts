/** The name of the program that sent a request, as people call it. Pure. */

export interface ClientSigns {
  readonly userAgent?: string | undefined;
  /** The client's own name for the conversation, as `client:name`. */
  readonly clientKey?: string | undefined;
}

/** By the beginning of the user agent. Agents come before the libraries that they use. */
const byUserAgent: readonly (readonly [RegExp, string])[] = [
  [/^claude(?:-cli|-code)\//i, "Claude Code"],
  [/^codex[_-]/i, "Codex"],
  [/^opencode\//i, "opencode"],
  [/^QwenCode\//i, "Qwen Code"],
  [/^Gemini-?CLI\//i, "Gemini CLI"],
  [/^goose[/ ]/i, "Goose"],
  [/^factory-cli\//i, "Droid"],
  [/^(?:github-?)?copilot/i, "Copilot CLI"],
  [/^cline\//i, "Cline"],
  [/^roo-?code\//i, "Roo Code"],
  [/^aider\b/i, "Aider"],
  [/^continue\//i, "Continue"],
  [/^litellm\//i, "LiteLLM"],
  [/^langchain/i, "LangChain"],
  [/^Agents\/(?:JavaScript|Python)/i, "OpenAI Agents SDK"],
  [/^ai-sdk\/|^ai\/\d/i, "AI SDK"],
  [/^OpenAI\/(?:JS|Python|Async)|^(?:Async)?OpenAI\//i, "OpenAI SDK"],
  [/^(?:Async)?Anthropic\//i, "Anthropic SDK"],
  [/^google-genai-sdk\//i, "Google Gen AI SDK"],
  [/^curl\//i, "curl"],
];

/** By the client's name for the conversation, if the user agent says nothing or names only a library. */
const byKey: ReadonlyMap<string, string> = new Map([
  ["claude-code", "Claude Code"],
  ["codex", "Codex"],
  ["opencode", "opencode"],
  ["goose", "Goose"],
]);

/** The only known client that does not try again by itself, unless it is told to. */
const triesOnce = "curl";

/**
 * Whether the client tries again by itself after a 429 or a 5xx. All agents and SDKs above do. Nothing is known about others.
 */
export function retriesItself(client: string | undefined): boolean {
  return client !== undefined && client !== triesOnce;
}

/** Undefined if nothing names the client. */
export function clientName({ userAgent = "", clientKey = "" }: ClientSigns): string | undefined {
  const known = byKey.get(clientKey.split(":")[0] ?? "");
  return known ?? byUserAgent.find(([pattern]) => pattern.test(userAgent))?.[1];
}
