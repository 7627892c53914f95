import { expect, test } from "vitest";
import { clientName } from "./client-name.ts";

test.each([
  ["claude-cli/2.1.325 (external, sdk-cli)", "Claude Code"],
  ["codex_exec/0.166.0 (Debian 12.0.0; x86_64) unknown (codex_exec; 0.166.0)", "Codex"],
  ["codex_cli_rs/0.40.0 (Ubuntu 24.4.0; x86_64)", "Codex"],
  ["QwenCode/0.24.4 (linux; x64)", "Qwen Code"],
  ["GeminiCLI/0.9.0/gemini-2.5-pro (linux; x64)", "Gemini CLI"],
  ["factory-cli/0.215.0", "Droid"],
  ["langchainjs-openai/1.0.0 ((node/v24.21.0; linux; x64))", "LangChain"],
  ["Agents/JavaScript 0.20.0", "OpenAI Agents SDK"],
  ["Anthropic/JS 0.94.0", "Anthropic SDK"],
  ["OpenAI/Python 2.1.0", "OpenAI SDK"],
  ["curl/8.5.0", "curl"],
])("%s is %s", (userAgent, name) => {
  expect(clientName({ userAgent })).toBe(name);
});

test("the client's session name says more than the library that it uses", () => {
  expect(clientName({ userAgent: "OpenAI/JS 6.1", clientKey: "goose:20261116_1" })).toBe("Goose");
  expect(clientName({ clientKey: "claude-code:ef71f0f2#auxiliary" })).toBe("Claude Code");
});

test("a program that nobody knows has no name", () => {
  expect(clientName({ userAgent: "my-own-thing/1", clientKey: "plimsoll:x" })).toBeUndefined();
  expect(clientName({})).toBeUndefined();
});
