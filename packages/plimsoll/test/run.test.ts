/**
 * `plimsoll run -- AGENT`, with programs that stand in for agents: each says where it was started and with what, and asks its
 * model. `npm run clients` does the same with the real agents.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { chmod, mkdir, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { reply, text } from "./harness/answer.ts";
import { childEnvironment } from "./harness/child-environment.ts";
import type { JsonObject } from "./harness/json.ts";
import { makeDataFolder } from "./harness/service.ts";
import { startUpstream, type Upstream } from "./harness/upstream.ts";
import { eventually, within } from "./harness/waiting.ts";
import { providersAt } from "./harness/wires.ts";

const PROGRAM = fileURLToPath(new URL("../bin/plimsoll.mjs", import.meta.url));
const RUN_LIMIT_MS = 30_000;

/** Prints what it was given. Asks its model as often as ASKS says, and waits before the last time for a line on its input. */
const AGENT = `#!/usr/bin/env node
const require = (await import("node:module")).createRequire("/");
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => /BASE_URL|_HOST$|API_BASE|OPENCODE|NO_PROXY/.test(name)));
const { CLINE_PROVIDER_SETTINGS_PATH: settings } = process.env;
const copy = settings && require("node:fs").readFileSync(settings, "utf8");
console.log(JSON.stringify({ folder: process.cwd(), options: process.argv.slice(2), env, copy }));
const address = process.env.ANTHROPIC_BASE_URL ?? process.env.ADDRESS;
const ask = async (words) => {
  const response = await fetch(address + "/v1/messages", {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": "a-key", "anthropic-version": "2023-06-01" },
    body: JSON.stringify({ model: "claude-sonnet-4-6", max_tokens: 100, messages: [{ role: "user", content: words }] }),
  });
  if (!response.ok) throw new Error(response.status + " " + (await response.text()));
  await response.text();
};
const asks = Number(process.env.ASKS ?? 1);
for (let number = 1; number <= asks; number++) {
  if (process.env.WAITS && number === asks) {
    console.log("waiting");
    await new Promise((resolve) => process.stdin.once("data", resolve));
    for (let left = 100; left > 0; left--) {
      try { await fetch(new URL(address).origin + "/healthz"); break; } catch { await new Promise((resolve) => setTimeout(resolve, 100)); }
    }
  }
  await ask(process.env.WORDS ?? "Is the crane in order?");
}
process.exit(Number(process.env.CODE ?? 0));
`;

let upstream: Upstream;
let home: string;
let project: string;
const children = new Set<ChildProcess>();

beforeAll(async () => {
  upstream = await startUpstream({
    script: ({ body }) =>
      JSON.stringify(body).includes("refuse this")
        ? { kind: "failure", status: 401, body: { error: { message: "Missing bearer token" } } }
        : reply(text("It is.")),
  });
  home = await realpath(await makeDataFolder());
  project = join(home, "the crane's project");
  await mkdir(project);
  await mkdir(join(home, "bin"));
  for (const name of ["claude", "codex", "opencode", "pi", "goose", "cline", "my-claude"]) {
    await writeFile(
      join(home, "bin", name),
      AGENT.replace("#!/usr/bin/env node", `#!${process.execPath}`),
    );
    await chmod(join(home, "bin", name), 0o755);
  }
  await mkdir(join(home, ".plimsoll"), { mode: 0o700 });
  await writeFile(
    join(home, ".plimsoll", "config.yaml"),
    JSON.stringify({ providers: providersAt(upstream.url) }),
  );
});
afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  await plimsoll(["stop"]);
  await upstream.close();
  await rm(home, { recursive: true, force: true });
});

interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}
interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ran>;
  readonly said: { stdout: string; stderr: string };
}

function start(options: readonly string[], env: Readonly<Record<string, string>> = {}): Running {
  const child = spawn(process.execPath, [PROGRAM, ...options], {
    cwd: project,
    env: { ...childEnvironment(), HOME: home, PATH: `${join(home, "bin")}:/usr/bin:/bin`, ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  children.add(child);
  const said = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (piece: string) => (said.stdout += piece));
  child.stderr.setEncoding("utf8").on("data", (piece: string) => (said.stderr += piece));
  const ended = new Promise<Ran>((resolve) =>
    child.once("close", (code) => resolve({ code, ...said })),
  );
  return { child, ended: within(RUN_LIMIT_MS, options.join(" "), ended), said };
}

function plimsoll(
  options: readonly string[],
  env?: Readonly<Record<string, string>>,
): Promise<Ran> {
  return start(options, env).ended;
}

/** On any free port, because other tests run at the same time. */
function run(agent: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ran> {
  return plimsoll(["run", "--port", "0", "--", ...agent], env);
}

interface Told {
  readonly folder: string;
  readonly options: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The file that CLINE_PROVIDER_SETTINGS_PATH names. */
  readonly copy?: string;
}

function told({ stdout }: Pick<Ran, "stdout">): Told {
  return JSON.parse(stdout.split("\n")[0] ?? "") as Told;
}

async function servicePid(): Promise<number> {
  const file = await readFile(join(home, ".plimsoll", "service.json"), "utf8");
  return (JSON.parse(file) as { readonly pid: number }).pid;
}

describe("an agent", () => {
  test("starts in the user's folder with the user's own arguments, and ends with its own code", async () => {
    const ran = await run(["claude", "-p", "--port", "words of mine"], { CODE: "3" });
    expect(ran.code).toBe(3);
    expect(told(ran)).toMatchObject({
      folder: project,
      options: ["-p", "--port", "words of mine"],
    });
    expect(told(ran).env["ANTHROPIC_BASE_URL"]).toMatch(
      /^http:\/\/127\.0\.0\.1:\d+\/run\/claude~the-crane-s-project~[0-9a-f]+$/,
    );
  });

  test("hears at its end what its sessions took, and where to look", async () => {
    const { stderr } = await run(["claude"], { ASKS: "1" });
    expect(stderr).toMatch(
      /^plimsoll: 1 turn, \d+ tokens sent.*, nothing had to be cut\. See http:\/\/127\.0\.0\.1:\d+\/#\/session\/ses_\w+$/m,
    );
  });

  test("hears of as many tokens sent as `plimsoll cost` tells", async () => {
    const { stderr } = await run(["claude"], { ASKS: "2", WORDS: "How heavy is the anchor?" });
    const [, sent = "", session = ""] = /([\d,]+) tokens sent.*\/(ses_\w+)$/m.exec(stderr) ?? [];
    const { stdout } = await plimsoll(["cost", session, "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({ sentTokens: Number(sent.replaceAll(",", "")) });
  });

  test("has a session with a title, and the folder where it worked", async () => {
    await run(["claude"], { WORDS: "Grease the crane, please." });
    const { stdout } = await plimsoll(["sessions", "--json"]);
    const { items } = JSON.parse(stdout) as { readonly items: readonly JsonObject[] };
    expect(items[0]).toMatchObject({
      title: "Grease the crane, please.",
      folder: "the-crane-s-project",
    });
  });

  test("whose requests fail hears how many, and nothing of tokens sent", async () => {
    const { stderr } = await run(["claude"], { WORDS: "refuse this" });
    expect(stderr).toMatch(/^plimsoll: 1 request failed\. See http/m);
  });

  test("that asks nothing is told so", async () => {
    const { stderr, code } = await run(["claude"], { ASKS: "0" });
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(/^plimsoll: No request reached Plimsoll\./),
    });
  });

  test.each([
    [
      "codex",
      (address: string) => ({ options: ["-c", `openai_base_url="${address}/v1"`, "exec"] }),
    ],
    ["goose", () => ({ env: { ANTHROPIC_HOST: expect.stringMatching(/:\d+$/) } })],
  ] as const)("%s gets the address in its own way", async (name, wanted) => {
    const ran = await run([name, "exec"], { ASKS: "0" });
    const address = /http:[^"]*(?=\/v1)/.exec(told(ran).options[1] ?? "")?.[0] ?? "";
    expect(told(ran)).toMatchObject(wanted(address));
  });

  test("opencode keeps what the user's own inline configuration says", async () => {
    const own = { theme: "dark", provider: { anthropic: { options: { timeout: 5 } } } };
    const ran = await run(["opencode"], {
      ASKS: "0",
      OPENCODE_CONFIG_CONTENT: JSON.stringify(own),
    });
    expect(JSON.parse(told(ran).env["OPENCODE_CONFIG_CONTENT"] ?? "")).toMatchObject({
      theme: "dark",
      provider: {
        anthropic: { options: { timeout: 5, baseURL: expect.stringMatching(/\/v1$/) } },
        google: { options: { baseURL: expect.stringMatching(/\/v1beta$/) } },
      },
    });
  });

  test("cline gets a copy of its providers, with the address, and the user's own file stays as it is", async () => {
    const file = join(home, ".cline", "data", "settings", "providers.json");
    const own =
      '{\r\n "version": 1, "providers": { "anthropic": { "settings": { "apiKey": "k" } } } }\r\n';
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, own);
    const ran = await run(["cline"], { ASKS: "0" });
    const copy = JSON.parse(told(ran).copy ?? "") as JsonObject;
    expect(copy).toMatchObject({
      version: 1,
      providers: {
        anthropic: { settings: { apiKey: "k", baseUrl: expect.stringMatching(/\/run\/cline~/) } },
      },
    });
    expect(await readFile(file, "utf8")).toBe(own);
  });

  test("pi gets an extension, which is gone afterwards", async () => {
    const ran = await run(["pi", "-p"], { ASKS: "0" });
    expect(told(ran).options).toEqual(["-e", expect.stringMatching(/plimsoll\.mjs$/), "-p"]);
    expect(await readdir(join(home, ".plimsoll", "runs"))).toEqual([]);
  });

  test("whose run is killed leaves nothing behind after the next one, and no settings changed", async () => {
    const file = join(home, ".cline", "data", "settings", "providers.json");
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, '{ "version": 1, "providers": {} }');
    const killed = start(["run", "--port", "0", "--", "cline"], { ASKS: "1", WAITS: "1" });
    await eventually(RUN_LIMIT_MS, "the agent", () =>
      Promise.resolve(killed.said.stdout.includes("waiting") ? true : undefined),
    );
    killed.child.kill("SIGKILL");
    killed.child.stdin?.end("\n");
    await killed.ended;
    expect(await readdir(join(home, ".plimsoll", "runs"))).toHaveLength(1);
    await run(["claude"], { ASKS: "0" });
    expect(await readdir(join(home, ".plimsoll", "runs"))).toEqual([]);
    expect(await readFile(file, "utf8")).toBe('{ "version": 1, "providers": {} }');
  });

  test("under another name is started with --as", async () => {
    const ran = await plimsoll(["run", "--port", "0", "--as", "claude", "--", "my-claude"], {
      ASKS: "0",
    });
    expect(told(ran).env["ANTHROPIC_BASE_URL"]).toMatch(/\/run\/claude~/);
  });

  test("reaches Plimsoll although the user has a proxy", async () => {
    const ran = await run(["claude"], { HTTPS_PROXY: "http://127.0.0.1:9", NO_PROXY: "internal" });
    expect(told(ran).env["NO_PROXY"]).toBe("internal,127.0.0.1,localhost");
    expect(ran.code).toBe(0);
  });
});

describe("the service", () => {
  test("is shared by two runs at once, and each hears only of its own session", async () => {
    await plimsoll(["stop"]);
    const both = await Promise.all([
      run(["claude"], { ASKS: "2", WORDS: "How many cranes are there?" }),
      run(["claude"], { ASKS: "3", WORDS: "How many ships are there?" }),
    ]);
    expect(
      both.map(({ code }) => code),
      both.map(({ stderr }) => stderr).join(),
    ).toEqual([0, 0]);
    const turns = both.map(({ stderr }) =>
      [...stderr.matchAll(/(\d+) turns?,/g)].reduce((sum, [, count]) => sum + Number(count), 0),
    );
    expect(turns).toEqual([2, 3]);
    const { stdout } = await plimsoll(["doctor"]);
    expect(stdout).toMatch(/ok {3}service +process \d+/);
  });

  test("that dies while the agent works is started again on the same port", async () => {
    const { child, ended, said } = start(["run", "--port", "0", "--", "claude"], {
      ASKS: "2",
      WAITS: "1",
    });
    await eventually(RUN_LIMIT_MS, "the first turn", () =>
      Promise.resolve(said.stdout.includes("waiting") ? true : undefined),
    );
    const pid = await servicePid();
    process.kill(pid, "SIGKILL");
    await eventually(RUN_LIMIT_MS, "another service", async () =>
      (await servicePid()) === pid ? undefined : true,
    );
    child.stdin?.write("go on\n");
    expect(await ended).toMatchObject({ code: 0, stderr: expect.stringMatching(/turns?, /) });
  });

  test("that runs with another configuration is not used in silence", async () => {
    await run(["claude"]);
    const other = join(home, "other.yaml");
    await writeFile(other, "{}");
    const { code, stderr } = await plimsoll(["run", "--config", other, "--", "claude"]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/already running, with the configuration .* Run `plimsoll stop` first/);
  });

  test("that has an older version of its configuration is named with what to do, by run and doctor, until it is restarted", async () => {
    await plimsoll(["stop"]);
    expect((await run(["claude"], { ASKS: "0" })).stderr).not.toContain("older version");
    const file = join(home, ".plimsoll", "config.yaml");
    const config = { providers: providersAt(upstream.url), agent: { context_budget: 54_321 } };
    await writeFile(file, JSON.stringify(config));
    const { code, stderr } = await run(["claude"], { ASKS: "0" });
    const older = `still uses an older version of ${file}. To use the new one, run \`plimsoll stop\``;
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining(older) });
    expect(stderr).not.toContain("54321");
    const doctor = await plimsoll(["doctor"]);
    expect(doctor).toMatchObject({ code: 1, stdout: expect.stringContaining(older) });
    await plimsoll(["stop"]);
    expect((await run(["claude"], { ASKS: "0" })).stderr).not.toContain("older version");
    expect((await plimsoll(["doctor"])).stdout).not.toContain("older version");
  });

  test("ends when it is stopped, and says so; a second stop finds none", async () => {
    await run(["claude"]);
    const stopped = await plimsoll(["stop"]);
    expect(stopped.stdout).toMatch(/^The service on http:\/\/127\.0\.0\.1:\d+ has stopped\.$/m);
    expect((await plimsoll(["stop"])).stdout).toMatch(/^No service is running on /);
  });
});

describe("says in one sentence what to do, and starts nothing", () => {
  const cases: readonly (readonly [string, readonly string[], Record<string, string>, RegExp])[] = [
    [
      "an unknown agent",
      ["run", "--", "winamp"],
      {},
      /does not know how to start "winamp"\. It knows claude, codex/,
    ],
    [
      "an agent that is not installed",
      ["run", "--", "gemini"],
      {},
      /Gemini CLI is not installed: .* npm install -g @google\/gemini-cli/,
    ],
    ["no agent", ["run"], {}, /missing required argument 'agent'/],
    [
      "an address that is already set",
      ["run", "--port", "0", "--", "claude"],
      { ANTHROPIC_BASE_URL: "https://gateway.example" },
      /ANTHROPIC_BASE_URL is already set to https:\/\/gateway\.example\. .* unset ANTHROPIC_BASE_URL/,
    ],
    [
      "a cloud that Plimsoll does not serve",
      ["run", "--port", "0", "--", "claude"],
      { CLAUDE_CODE_USE_BEDROCK: "1" },
      /CLAUDE_CODE_USE_BEDROCK sends Claude Code to a provider/,
    ],
    [
      "no home",
      ["run", "--", "claude"],
      { HOME: "" },
      /does not know your home folder, because HOME is empty/,
    ],
  ];
  test.each(cases)("%s", async (_, options, env, sentence) => {
    const { code, stdout, stderr } = await plimsoll(options, env);
    expect(stderr.replaceAll("\n", " ")).toMatch(sentence);
    expect(stdout).toBe("");
    expect([1, 2]).toContain(code);
  });

  test("a port that belongs to another program", async () => {
    await plimsoll(["stop"]);
    const other = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => other.once("listening", resolve));
    const { port } = other.address() as { readonly port: number };
    try {
      const { code, stderr } = await plimsoll(["run", "--port", String(port), "--", "claude"]);
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: expect.stringContaining(`Port ${port} on 127.0.0.1 is already in use.`),
      });
    } finally {
      other.close();
    }
  });
});
