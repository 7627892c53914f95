/**
 * Runs the real Gemini CLI through the service against the strict scripted upstream: forty tool calls beyond the window, then the
 * same conversation again with --resume. Prints what it saw, and fails if anything was refused.
 * Usage: npm run clients:gemini [-- VERSION]. It installs the program from npm into a temporary folder.
 */

import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { call, reply, text } from "../harness/answer.ts";
import { readEdits, readSessions, startService } from "../harness/service.ts";
import { type ScriptRequest, startUpstream } from "../harness/upstream.ts";

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

const [version = "0.61.0"] = process.argv.slice(2);
const MODEL = "gemini-2.5-pro";
/** Gemini CLI's own prompt and tools take about a third of it. */
const WINDOW = 60_000;
const CALLS = 40;

const folder = mkdtempSync(join(tmpdir(), "plimsoll-gemini-cli-"));
const workspace = join(folder, "workspace");
mkdirSync(workspace);
for (let number = 0; number < CALLS; number++)
  writeFileSync(join(workspace, `log-${number}.txt`), logOf(number));

function logOf(number: number): string {
  return Array.from(
    { length: 120 },
    (_, line) =>
      `${number}.${line} crane ${(line * 7) % 11} lifted crate ${number * 1000 + line} to hold ${line % 5}`,
  ).join("\n");
}

/** How many results the conversation shows or has had: the model reads one file after the other. */
let calls = 0;
let goal = CALLS;

function script({ body }: ScriptRequest) {
  const { tools } = body;
  // The program asks a model now and then whether the conversation goes in circles.
  if (tools === undefined)
    return reply(
      text('{"unproductive_state_analysis":"It goes on.","unproductive_state_confidence":0}'),
    );
  if (calls >= goal) return reply(text(`I have read ${calls} logs.`));
  const file = join(workspace, `log-${calls % CALLS}.txt`);
  calls++;
  // Only the call: beside a text, Gemini CLI 0.61 sends an unanswered call to its own loop detection.
  return reply(call(`c${calls}`, "read_file", { file_path: file }));
}

/** A resumed conversation of Gemini CLI 0.61 has every result twice, which breaks G1, with and without Plimsoll. */
const forgives: string[] = [];
const upstream = await startUpstream({ script, window: { tokens: WINDOW }, forgives });
const service = await startService({
  upstreams: {},
  config: {
    providers: {
      gemini: { baseUrl: upstream.url, models: { [MODEL]: { contextWindow: WINDOW } } },
    },
  },
});

function install(): string {
  writeFileSync(join(folder, "package.json"), "{}");
  execFileSync(
    "npm",
    ["install", "--ignore-scripts", "--no-audit", "--no-fund", `@google/gemini-cli@${version}`],
    { cwd: folder, stdio: "ignore" },
  );
  return join(folder, "node_modules/@google/gemini-cli/bundle/gemini.js");
}

interface Ran {
  readonly code: number | null;
  readonly output: string;
}

function run(program: string, ...options: readonly string[]): Promise<Ran> {
  const child = spawn(process.execPath, [program, "--skip-trust", "-y", "-m", MODEL, ...options], {
    cwd: workspace,
    env: {
      PATH: process.env["PATH"],
      HOME: folder,
      GOOGLE_GEMINI_BASE_URL: service.url,
      GEMINI_API_KEY: "a-key",
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (piece: string) => (output += piece));
  return new Promise((resolve) => child.once("exit", (code) => resolve({ code, output })));
}

try {
  const program = install();
  mkdirSync(join(folder, ".gemini"));
  writeFileSync(
    join(folder, ".gemini/settings.json"),
    JSON.stringify({
      security: { auth: { selectedType: "gemini-api-key" } },
      general: { enableAutoUpdate: false },
      privacy: { usageStatisticsEnabled: false },
      // Plimsoll keeps the conversation inside the window, so the program's own compression is off.
      model: { compressionThreshold: 1, maxSessionTurns: -1 },
    }),
  );
  const first = await run(program, "-p", "Read all the logs and say how many there were.");
  goal = CALLS + 3;
  forgives.push("G1");
  const again = await run(program, "--resume", "latest", "-p", "Read three more.");
  const sessions = await readSessions(service);
  const turns = upstream.requests.filter(({ path }) => /generateContent/i.test(path));
  const sideJobs = turns.filter(({ body }) => !body.includes('"tools"')).length;
  const edits = (await Promise.all(sessions.map(({ id }) => readEdits(service, id)))).flat();
  const largest = Math.max(...turns.map(({ body }) => body.length));
  say(`Gemini CLI ${version}`);
  say(`first run: exit ${first.code}, ends with "${lastLine(first.output)}"`);
  say(`resumed: exit ${again.code}, ends with "${lastLine(again.output)}"`);
  say(`tool calls: ${calls}; requests to the provider: ${turns.length}; largest: ${largest} bytes`);
  say(
    `refused as too long: ${upstream.refusals.overflow}; refused as invalid: ${upstream.refusals.invalid.length}`,
  );
  say(
    `sessions: ${sessions.length}, ${sideJobs} of them side jobs of the program; edits: ${edits.length}`,
  );
  const isFine =
    first.code === 0 &&
    again.code === 0 &&
    calls === goal &&
    upstream.refusals.invalid.length === 0 &&
    sessions.length === 1 + sideJobs;
  if (!isFine) {
    say(first.output.slice(-2000));
    say(again.output.slice(-2000));
    say(JSON.stringify(upstream.refusals.invalid, null, 2));
    process.exitCode = 1;
  }
} finally {
  await service.stop();
  await upstream.close();
  rmSync(folder, { recursive: true, force: true });
}

function lastLine(output: string): string {
  return output.trim().split("\n").at(-1) ?? "";
}
