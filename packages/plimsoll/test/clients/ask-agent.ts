/**
 * A real agent from npm (Claude Code) with Plimsoll's MCP server, against the strict scripted upstream: it reports a task, asks a
 * question, gets the answer that a person types into the dashboard in a real browser, and goes on.
 * Usage: npm run clients:ask. It installs the agent from npm into a temporary folder, or uses that of the folder in
 * PLIMSOLL_AGENTS.
 */

import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { call, reply, text } from "../harness/answer.ts";
import type { Reply } from "../harness/answer-parts.ts";
import { startBrowser } from "../harness/browser.ts";
import type { JsonObject } from "../harness/json.ts";
import { type ScriptRequest, startUpstream } from "../harness/upstream.ts";
import { eventually } from "../harness/waiting.ts";
import { providersAt } from "../harness/wires.ts";

const PROGRAM = fileURLToPath(new URL("../../bin/plimsoll.mjs", import.meta.url));
const MODEL = "claude-sonnet-4-6";
const LIMIT_MS = 60_000;
const ANSWER = "Oxide red, as the last time.";
const TOKEN = "ask-agent-owner-token-0123456789-0123456789ab";

/** What the scripted model does, one step for each request that offers the tools. */
const STEPS: readonly ((said: string) => Reply)[] = [
  () =>
    reply(
      call("call_1", "mcp__plimsoll__reportTaskStatus", {
        title: "Paint the hull",
        status: "in_progress",
      }),
    ),
  () =>
    reply(
      call("call_2", "mcp__plimsoll__askQuestion", {
        question: "Which red does the hull get?",
        taskId: "T-1",
      }),
    ),
  (said) =>
    reply(
      call("call_3", "mcp__plimsoll__reportTaskStatus", {
        taskId: "T-1",
        status: "done",
        note: said.includes(ANSWER) ? `Painted: ${ANSWER}` : "No answer came.",
      }),
    ),
  () => reply(text("The hull is painted.")),
];

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function programs(): string {
  const own = process.env["PLIMSOLL_AGENTS"];
  if (own !== undefined) return own;
  const folder = mkdtempSync(join(tmpdir(), "plimsoll-agents-"));
  writeFileSync(join(folder, "package.json"), "{}");
  execFileSync("npm", ["install", "--no-audit", "--no-fund", "@anthropic-ai/claude-code"], {
    cwd: folder,
    stdio: "ignore",
  });
  return folder;
}

const folder = mkdtempSync(join(tmpdir(), "plimsoll-ask-"));
const project = join(folder, "shipyard");
const data = join(folder, "data");
for (const path of [project, data]) mkdirSync(path, { mode: 0o700 });
let step = 0;
const upstream = await startUpstream({
  script: ({ body }: ScriptRequest): Reply => {
    const isAgent = JSON.stringify(body["tools"] ?? []).includes("mcp__plimsoll__askQuestion");
    if (!isAgent) return reply(text("A short title"));
    const make = STEPS[step] ?? STEPS.at(-1);
    step++;
    return make?.(JSON.stringify(body["messages"])) ?? reply(text("Done."));
  },
});
writeFileSync(
  join(data, "config.yaml"),
  JSON.stringify({
    providers: providersAt(upstream.url),
    // The scripted model does not search for tools.
    agent: { tool_deferral_threshold: 1 },
  }),
);
const server = {
  command: process.execPath,
  args: [PROGRAM, "mcp"],
  env: { PLIMSOLL_DATA: data, PLIMSOLL_TOKEN: TOKEN },
};
writeFileSync(join(folder, "mcp.json"), JSON.stringify({ mcpServers: { plimsoll: server } }));
const environment = {
  PATH: `${join(programs(), "node_modules", ".bin")}:${process.env["PATH"]}`,
  HOME: folder,
  PLIMSOLL_DATA: data,
  PLIMSOLL_TOKEN: TOKEN,
  ANTHROPIC_API_KEY: "a-key",
};
const plimsoll = (...options: readonly string[]): string =>
  execFileSync(process.execPath, [PROGRAM, ...options], {
    cwd: project,
    env: environment,
    encoding: "utf8",
  });

const options = [
  "run",
  "--port",
  "0",
  "--",
  "claude",
  "-p",
  "Paint the hull.",
  "--model",
  MODEL,
  "--mcp-config",
  join(folder, "mcp.json"),
  "--allowedTools",
  "mcp__plimsoll__reportTaskStatus,mcp__plimsoll__askQuestion",
];
const agent = spawn(process.execPath, [PROGRAM, ...options], {
  cwd: project,
  env: environment,
  stdio: ["ignore", "pipe", "pipe"],
});
let output = "";
for (const stream of [agent.stdout, agent.stderr])
  stream.setEncoding("utf8").on("data", (piece: string) => (output += piece));
const ended = new Promise<number | null>((resolve) => agent.once("exit", resolve));
const browser = await startBrowser();
try {
  const { url } = await eventually(LIMIT_MS, "the service", async () => {
    try {
      return JSON.parse(readFileSync(join(data, "service.json"), "utf8")) as {
        readonly url: string;
      };
    } catch {
      return undefined;
    }
  });
  const { page, trouble } = await browser.open({
    url,
    token: TOKEN,
    path: "#/tickets",
  });
  page.setDefaultTimeout(LIMIT_MS);
  await page.getByText("Which red does the hull get?").first().click();
  await page.getByRole("textbox").fill(ANSWER);
  await page.getByRole("button", { name: "Answer", exact: true }).click();
  await page.getByText("Your answer is stored.").waitFor();
  const code = await ended;
  const task = JSON.parse(plimsoll("tasks", "show", "T-1", "--json")) as JsonObject;
  say(`agent: exit ${code}; ${output.trim().split("\n").slice(-2).join(" | ")}`);
  say(`T-1: ${task["status"]}, ${task["note"]}`);
  const wrong = [
    ...(code === 0 ? [] : [`the agent had an error: ${output.slice(-2000)}`]),
    ...(task["status"] === "done" && task["note"] === `Painted: ${ANSWER}`
      ? []
      : ["the answer did not reach the agent"]),
    ...upstream.refusals.invalid.map(
      (refusal) => `refused: ${JSON.stringify(refusal).slice(0, 300)}`,
    ),
    ...trouble,
  ];
  for (const sentence of wrong) say(sentence);
  if (wrong.length > 0) process.exitCode = 1;
} catch (error) {
  say(`${output.slice(-3000)}\n${upstream.requests.length} requests`);
  throw error;
} finally {
  agent.kill("SIGTERM");
  await browser.close();
  plimsoll("stop");
  await upstream.close();
  rmSync(folder, { recursive: true, force: true });
}
