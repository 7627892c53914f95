/**
 * Runs real agents with `plimsoll run --` against the strict scripted upstream, each in a project folder of its own with an empty
 * home: forty tool calls beyond the window, one more question that continues the conversation, a run that is killed with
 * kill -9, and one after it. Prints what it saw, and fails if the agent had an error, if a file of the home changed in a place that belongs to the user, or if there is not one session.
 * Usage: npm run clients [-- claude codex …]. It installs the programs from npm into a temporary folder, or uses those of the
 * folder in PLIMSOLL_AGENTS.
 */

import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { call, reply, text } from "../harness/answer.ts";
import type { Reply } from "../harness/answer-parts.ts";
import type { JsonObject } from "../harness/json.ts";
import { type ScriptRequest, startUpstream, type Upstream } from "../harness/upstream.ts";
import { eventually } from "../harness/waiting.ts";
import { providersAt } from "../harness/wires.ts";

interface TriedAgent {
  readonly package: string;
  /** The options for one question, and for one more question in the same conversation. */
  readonly ask: (question: string) => readonly string[];
  readonly askAgain?: (question: string) => readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** The agent's own settings. They must be the same bytes afterwards. */
  readonly settings: Readonly<Record<string, string>>;
  /** The call that reads a file, by the tools that the agent offers. */
  readonly read: (file: string, tools: string) => readonly [tool: string, input: JsonObject];
}

const MODEL = "claude-sonnet-4-6";
const CODEX_OPTIONS = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"];
/** opencode adds the key `$schema` by itself where it is missing. */
const OPENCODE_SETTINGS =
  '{ "$schema": "https://opencode.ai/config.json", "compaction": { "auto": false } }\n';
/** Qwen Code adds the version where it is missing. */
const QWEN_SETTINGS = JSON.stringify({ model: { maxSessionTurns: -1 }, $version: 4 }, null, 2);
const AGENTS: Readonly<Record<string, TriedAgent>> = {
  claude: {
    package: "@anthropic-ai/claude-code",
    ask: (question) => ["-p", question, "--model", MODEL, "--allowedTools", "Read"],
    askAgain: (question) => ["-c", "-p", question, "--model", MODEL, "--allowedTools", "Read"],
    environment: { ANTHROPIC_API_KEY: "a-key", DISABLE_AUTO_COMPACT: "1" },
    settings: { ".claude/settings.json": '{\r\n  "includeCoAuthoredBy": false\r\n}\r\n' },
    read: (file) => ["Read", { file_path: file }],
  },
  codex: {
    package: "@openai/codex",
    ask: (question) => ["exec", ...CODEX_OPTIONS, question],
    askAgain: (question) => ["exec", ...CODEX_OPTIONS, "resume", "--last", question],
    environment: { OPENAI_API_KEY: "a-key", CODEX_API_KEY: "a-key" },
    settings: {
      ".codex/config.toml": 'model = "gpt-5.1"\r\nmodel_auto_compact_token_limit = 900000\r\n',
    },
    read: (file, tools) =>
      tools.includes('"exec_command"')
        ? ["exec_command", { cmd: `cat '${file}'` }]
        : ["shell_command", { command: `cat '${file}'` }],
  },
  opencode: {
    package: "opencode-ai",
    ask: (question) => ["run", "-m", `anthropic/${MODEL}`, question],
    askAgain: (question) => ["run", "-c", "-m", `anthropic/${MODEL}`, question],
    environment: { ANTHROPIC_API_KEY: "a-key" },
    settings: { ".config/opencode/opencode.json": OPENCODE_SETTINGS },
    read: (file) => ["read", { filePath: file }],
  },
  cline: {
    package: "cline",
    ask: (question) => [
      "-P",
      "anthropic",
      "-k",
      "a-key",
      "-m",
      MODEL,
      "--compaction",
      "off",
      question,
    ],
    environment: { CLINE_NO_INTERACTIVE: "1" },
    settings: {
      ".cline/data/settings/providers.json":
        '{\r\n"version": 1, "modes": {}, "providers": {}, "lastUsedProvider": "anthropic"}\r\n',
    },
    read: (file) => ["read_files", { files: [{ path: file }] }],
  },
  qwen: {
    package: "@qwen-code/qwen-code",
    ask: (question) => ["--auth-type", "openai", "-y", "-m", "qwen3-coder-plus", "-p", question],
    environment: { OPENAI_API_KEY: "a-key" },
    settings: { ".qwen/settings.json": QWEN_SETTINGS },
    read: (file) => ["read_file", { file_path: file }],
  },
  pi: {
    package: "@earendil-works/pi-coding-agent@0.87.1",
    ask: (question) => ["-p", question, "--provider", "anthropic", "--model", MODEL],
    askAgain: (question) => ["-c", "-p", question, "--provider", "anthropic", "--model", MODEL],
    environment: { ANTHROPIC_API_KEY: "a-key" },
    settings: { ".pi/agent/settings.json": '{ "compaction": { "enabled": false } }\n' },
    read: (file) => ["read", { path: file }],
  },
};
const PROGRAM = fileURLToPath(new URL("../../bin/plimsoll.mjs", import.meta.url));
/** The prompt and the tools of Claude Code take about a third of it. */
const WINDOW = 60_000;
const CALLS = 40;
const MORE_CALLS = 3;
const QUESTION = "Read all the logs and say how many there were.";
const RUN_LIMIT_MS = 300_000;

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function logOf(number: number): string {
  return Array.from(
    { length: 100 },
    (_, line) =>
      `${number}.${line} crane ${(line * 7) % 11} lifted crate ${number * 1000 + line} to hold ${line % 5}`,
  ).join("\n");
}

interface Scene {
  readonly agent: TriedAgent;
  readonly name: string;
  readonly folder: string;
  readonly project: string;
  readonly upstream: Upstream;
  readonly said: { calls: number; goal: number };
}

async function openScene(name: string, agent: TriedAgent): Promise<Scene> {
  const folder = mkdtempSync(join(tmpdir(), `plimsoll-run-${name}-`));
  const project = join(folder, "my project");
  mkdirSync(project);
  for (let number = 0; number < CALLS; number++)
    writeFileSync(join(project, `log-${number}.txt`), logOf(number));
  for (const [path, bytes] of Object.entries(agent.settings)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), bytes);
  }
  const said = { calls: 0, goal: CALLS };
  const script = ({ body }: ScriptRequest): Reply => {
    const tools = JSON.stringify([body["tools"] ?? [], body["input"] ?? []]);
    const [tool] = agent.read("", tools);
    // Agents also ask for titles and the like, without tools.
    if (!tools.includes(`"${tool}"`)) return reply(text("A short title"));
    if (said.calls >= said.goal) return reply(text(`I have read ${said.calls} logs.`));
    const file = join(project, `log-${said.calls % CALLS}.txt`);
    said.calls++;
    return reply(call(`call_${said.calls}`, ...agent.read(file, tools)));
  };
  const upstream = await startUpstream({ script, window: { tokens: WINDOW } });
  mkdirSync(join(folder, "data"), { mode: 0o700 });
  writeFileSync(
    join(folder, "data", "config.yaml"),
    JSON.stringify({ providers: providersAt(upstream.url, { contextWindow: WINDOW }) }),
  );
  return { agent, name, folder, project, upstream, said };
}

interface Ran {
  readonly code: number | null;
  readonly output: string;
}

function environmentOf({ agent, folder }: Scene, programs: string): Record<string, string> {
  return {
    PATH: `${join(programs, "node_modules", ".bin")}:${process.env["PATH"]}`,
    HOME: folder,
    PLIMSOLL_DATA: join(folder, "data"),
    ...agent.environment,
  };
}

function plimsoll(scene: Scene, programs: string, ...options: readonly string[]): Promise<Ran> {
  const child = spawn(process.execPath, [PROGRAM, ...options], {
    cwd: scene.project,
    env: environmentOf(scene, programs),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const timer = setTimeout(() => child.kill("SIGTERM"), RUN_LIMIT_MS);
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (piece: string) => (output += piece));
  return new Promise((resolve) =>
    child.once("exit", (code) => {
      clearTimeout(timer);
      resolve({ code, output });
    }),
  );
}

/** Kills `run` and its agent in the middle of their work. */
async function killInTheMiddle(scene: Scene, programs: string): Promise<void> {
  const { agent, name, said, project } = scene;
  const before = said.calls;
  said.goal = before + CALLS;
  const options = ["run", "--port", "0", "--", name, ...agent.ask(QUESTION)];
  const child = spawn(process.execPath, [PROGRAM, ...options], {
    cwd: project,
    env: environmentOf(scene, programs),
    stdio: "ignore",
    detached: true,
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  await eventually(RUN_LIMIT_MS, "two calls", () =>
    Promise.resolve(said.calls > before + 1 ? true : undefined),
  );
  process.kill(-(child.pid ?? 0), "SIGKILL");
  await ended;
  said.goal = said.calls;
}

/** Returns the sentences of what is wrong. */
async function tryAgent(name: string, agent: TriedAgent, programs: string): Promise<string[]> {
  const scene = await openScene(name, agent);
  const { said, upstream, folder } = scene;
  const run = (options: readonly string[]): Promise<Ran> =>
    plimsoll(scene, programs, "run", "--port", "0", "--", name, ...options);
  try {
    const first = await run(agent.ask(QUESTION));
    if (agent.askAgain !== undefined) said.goal = CALLS + MORE_CALLS;
    const again =
      agent.askAgain === undefined ? first : await run(agent.askAgain("Read three more."));
    const listed = await plimsoll(scene, programs, "sessions", "--json");
    const { items: sessions }: { readonly items: readonly JsonObject[] } = JSON.parse(
      listed.output,
    );
    await killInTheMiddle(scene, programs);
    const afterKill = await run(agent.ask("Say how many there were."));
    const stopped = await plimsoll(scene, programs, "stop");
    say(`\n${name}`);
    for (const [when, { code, output }] of Object.entries({
      first,
      again,
      "after kill -9": afterKill,
    }))
      say(`${when}: exit ${code}; ${output.trim().split("\n").slice(-2).join(" | ")}`);
    say(
      `calls ${said.calls}, requests ${upstream.requests.length}, ${sessions.length} session with the title "${sessions[0]?.["title"]}"; ${stopped.output.trim()}`,
    );
    const wrong = [
      ...([first, again, afterKill].every(({ code }) => code === 0)
        ? []
        : ["the agent had an error"]),
      ...(String(sessions[0]?.["title"]).includes(QUESTION) ? [] : ["the title is wrong"]),
      ...(sessions.length === 1 ? [] : [`${sessions.length} sessions: ${listed.output}`]),
      ...(said.calls === said.goal ? [] : [`${said.calls} of ${said.goal} calls`]),
      ...upstream.refusals.invalid.map(
        (refusal) => `refused: ${JSON.stringify(refusal).slice(0, 300)}`,
      ),
      ...(upstream.refusals.overflow === 0
        ? []
        : [`${upstream.refusals.overflow} requests were too long`]),
      ...Object.entries(agent.settings)
        .filter(([path, bytes]) => readFileSync(join(folder, path), "utf8") !== bytes)
        .map(([path]) => `${path} has changed: ${readFileSync(join(folder, path), "utf8")}`),
    ];
    if (wrong.length > 0) say(`${first.output.slice(-3000)}\n---\n${again.output.slice(-2000)}`);
    return wrong.map((sentence) => `${name}: ${sentence}`);
  } finally {
    await plimsoll(scene, programs, "stop");
    await upstream.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function installed(names: readonly string[]): string {
  const own = process.env["PLIMSOLL_AGENTS"];
  if (own !== undefined) return own;
  const folder = mkdtempSync(join(tmpdir(), "plimsoll-agents-"));
  writeFileSync(join(folder, "package.json"), "{}");
  const packages = names.map((name) => AGENTS[name]?.package ?? name);
  execFileSync("npm", ["install", "--no-audit", "--no-fund", ...packages], {
    cwd: folder,
    stdio: "ignore",
  });
  return folder;
}

const wanted = process.argv.slice(2);
const names = wanted.length === 0 ? Object.keys(AGENTS) : wanted;
const programs = installed(names);
const wrong: string[] = [];
for (const name of names) {
  const agent = AGENTS[name];
  if (agent === undefined) throw new Error(`Choose from ${Object.keys(AGENTS).join(", ")}.`);
  wrong.push(...(await tryAgent(name, agent, programs)));
}
for (const sentence of wrong) say(sentence);
if (wrong.length > 0) process.exitCode = 1;
