/** The tarball in an empty folder with an empty home: as a command, as a service, and as a library that a user's compiler accepts. */
import { type ChildProcess, spawn } from "node:child_process";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { reply, text } from "./harness/answer.ts";
import { type Installed, installPackage, readmeExample } from "./harness/installed-package.ts";
import { makeDataFolder } from "./harness/service.ts";
import { startUpstream, type Upstream } from "./harness/upstream.ts";
import { eventually } from "./harness/waiting.ts";
import { providersAt } from "./harness/wires.ts";

/** The folder of another Node (`npm run try:package`). */
const NODE = process.env["PLIMSOLL_TRY_NODE"];
const INSTALL_LIMIT_MS = 300_000;
const SERVE_LIMIT_MS = 30_000;

let folder: string;
let installed: Installed;
let upstream: Upstream;
let service: ChildProcess | undefined;

beforeAll(async () => {
  folder = await makeDataFolder();
  upstream = await startUpstream({ script: () => reply(text("The login test is green.")) });
  installed = await installPackage({
    folder,
    packages: ["@anthropic-ai/sdk", "typescript", "@types/node"],
    ...(NODE === undefined ? {} : { node: NODE }),
  });
}, INSTALL_LIMIT_MS);
afterAll(async () => {
  service?.kill("SIGTERM");
  await upstream.close();
  await rm(folder, { recursive: true, force: true });
});

test("doctor finds everything in place, and says how to start the service", async () => {
  const said = await installed.run("plimsoll", "doctor");
  expect(said).toMatch(/^ok {3}service +not running .* `plimsoll run` or `plimsoll serve`/m);
  expect(said).not.toContain("FAIL");
});

test("serve answers a request of the official SDK, with the dashboard beside it", async () => {
  const config = join(folder, "config.yaml");
  await writeFile(config, JSON.stringify({ providers: providersAt(upstream.url) }));
  const program = join(installed.project, "node_modules", ".bin", "plimsoll");
  service = spawn(program, ["serve", "--port", "0", "--config", config], {
    cwd: installed.project,
    env: installed.environment,
  });
  let said = "";
  service.stdout?.setEncoding("utf8").on("data", (piece: string) => (said += piece));
  const url = await eventually(SERVE_LIMIT_MS, "the ready line", () =>
    Promise.resolve(/plimsoll ready on (\S+)/.exec(said)?.[1]),
  );
  await writeFile(
    join(installed.project, "ask.mjs"),
    `import Anthropic from "@anthropic-ai/sdk";
const client = new Anthropic({ baseURL: ${JSON.stringify(url)}, apiKey: "a-key" });
const answer = await client.messages.create({ model: "claude-sonnet-4-6", max_tokens: 50, messages: [{ role: "user", content: "Is it green?" }] });
console.log(answer.content[0].text);`,
  );
  const node = installed.environment["PATH"]?.split(":")[0] ?? "";
  const asked = spawn(join(node, "node"), ["ask.mjs"], {
    cwd: installed.project,
    env: installed.environment,
  });
  let answer = "";
  asked.stdout.setEncoding("utf8").on("data", (piece: string) => (answer += piece));
  await new Promise((resolve) => asked.once("close", resolve));
  expect(answer.trim()).toBe("The login test is green.");
  expect(await (await fetch(`${url}/`)).text()).toContain("<title>Plimsoll");
  expect(await installed.run("plimsoll", "log")).toContain("Is it green?");
});

test("the README's example compiles with the usual settings, and runs", async () => {
  await installed.run("tsc", "--init");
  const report = "console.log(turn.outcome.kind, answer.content[0]);";
  await writeFile(join(installed.project, "agent.ts"), `${await readmeExample()}${report}`);
  const compiled = await installed
    .run("tsc", "-p", ".")
    .catch((error: { readonly stdout: string }) => error.stdout);
  expect(compiled).toBe("");
  const node = join(installed.environment["PATH"]?.split(":")[0] ?? "", "node");
  const ran = spawn(node, ["agent.js"], {
    cwd: installed.project,
    env: {
      ...installed.environment,
      ANTHROPIC_BASE_URL: upstream.url,
      ANTHROPIC_API_KEY: "a-key",
    },
  });
  let said = "";
  for (const stream of [ran.stdout, ran.stderr])
    stream.setEncoding("utf8").on("data", (piece: string) => (said += piece));
  await new Promise((resolve) => ran.once("close", resolve));
  expect(said).toMatch(/^passthrough \{ type: 'text', text: 'The login test is green\.' \}/);
});
