/** A service whose optional packages are not there, or do not work: it runs, and says once what to install. */

import { execFile } from "node:child_process";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { diceOf } from "../demo/dice.ts";
import { reply, text } from "./harness/answer.ts";
import type { JsonObject } from "./harness/json.ts";
import { ask, bodyOf } from "./harness/raw-client.ts";
import { makeDataFolder, type Service, startService } from "./harness/service.ts";
import { startUpstream, type Upstream } from "./harness/upstream.ts";
import { eventually } from "./harness/waiting.ts";
import { prose } from "./harness/words.ts";

const program = fileURLToPath(new URL("../bin/plimsoll.mjs", import.meta.url));
const names = /^@(?:ast-grep|opentelemetry|huggingface)\//;

/** A process that imports this finds none of them, as after an installation without them … */
const missing = `const { registerHooks } = await import("node:module");
registerHooks({ resolve(name, context, next) {
  if (!${names}.test(name) || context.parentURL.includes("node_modules")) return next(name, context);
  throw Object.assign(new Error("Cannot find package '" + name + "' imported from here"), { code: "ERR_MODULE_NOT_FOUND" });
} });`;
/** … or finds one of them to be something else. */
const instead = (source: string): string => `const { registerHooks } = await import("node:module");
registerHooks({ load(url, context, next) {
  if (!url.includes("node_modules/@opentelemetry/sdk-trace/")) return next(url, context);
  return { format: "module", source: ${JSON.stringify(source)}, shortCircuit: true };
} });`;
const older = instead("export class BasicTracerProvider {}");
const broken = instead(
  "export class BatchSpanProcessor {}; export class TracerProvider {}; throw new Error('built for another machine');",
);

function env(hook: string): Readonly<Record<string, string>> {
  const module = `data:text/javascript;base64,${Buffer.from(hook).toString("base64")}`;
  return { NODE_OPTIONS: `--import=${module}` };
}

let upstream: Upstream;
let data: string;
let service: Service | undefined;

beforeAll(async () => {
  upstream = await startUpstream({ script: () => reply(text("Noted.")) });
  data = await makeDataFolder();
});
afterEach(async () => {
  await service?.stop();
  service = undefined;
});
afterAll(async () => {
  await upstream.close();
  await rm(data, { recursive: true, force: true });
});

const anthropic = (model: JsonObject): JsonObject => ({
  anthropic: { baseUrl: upstream.url, models: { "claude-sonnet-4-6": model } },
});

/** How often a sentence was written by the service. */
function said({ stderr }: Service, sentence: string): number {
  return stderr.split(sentence).length - 1;
}

test.each([
  ["missing", missing, "@opentelemetry/api is not installed"],
  ["of another version", older, "@opentelemetry/sdk-trace cannot be used (The requested module"],
  ["broken", broken, "one of its packages cannot be used (built for another machine)"],
])(
  "telemetry that is configured and %s is one sentence, and the service runs",
  async (_, hook, reason) => {
    const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" };
    service = await startService({ upstreams: {}, env: { ...env(hook), ...endpoint } });
    expect(said(service, `Exporting telemetry (OTEL_EXPORTER_OTLP_ENDPOINT) is off, because`)).toBe(
      1,
    );
    expect(service.stderr).toContain(reason);
    expect(service.stderr).toContain('run "npm install @opentelemetry/api@^');
    expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
  },
);

test("without telemetry in the environment nothing is said", async () => {
  service = await startService({ upstreams: {}, env: env(missing) });
  expect(service.stderr).not.toContain("npm install");
});

test("a tokenizer of the user is estimated, which is said once", async () => {
  const file = join(data, "tokenizer.json");
  await writeFile(file, "{}");
  const providers = anthropic({ tokenizer: `hf:${file}`, contextWindow: 200_000 });
  service = await startService({ upstreams: {}, env: env(missing), config: { providers } });
  for (const content of ["Hello.", "A longer text, in which there is more to count."])
    expect(
      (
        await ask(service.url, {
          wire: "anthropic",
          body: bodyOf("anthropic", [{ role: "user", content }]),
        })
      ).status,
    ).toBe(200);
  expect(said(service, "Counting with a tokenizer.json of your own (hf:FILE) is off")).toBe(1);
});

test("code is cut by lines, which is said once, however often the strategy runs", async () => {
  const random = diceOf(7);
  const contextWindow = 6_000;
  service = await startService({
    upstreams: {},
    env: env(missing),
    config: {
      providers: anthropic({ contextWindow, maxOutputTokens: 300, contextWindowBufferTokens: 300 }),
      context_config: { breaking_strategy: { chain_order: ["content_type_chunking"] } },
    },
  });
  const history: JsonObject[] = [];
  let compactions = 0;
  for (let turn = 0; turn < 40 && compactions < 2; turn++) {
    history.push({ role: "user", content: prose(random, 400) });
    const body = { ...bodyOf("anthropic", [...history]), max_tokens: 300 };
    const headers = { "x-plimsoll-session": "coder" };
    const asked = await ask(service.url, { wire: "anthropic", body, headers });
    expect(asked.status, asked.answer).toBe(200);
    if (asked.headers.get("x-plimsoll-action") === "compacted") compactions += 1;
    history.push(asked.message);
  }
  expect(compactions).toBe(2);
  const { stderr } = service;
  await eventually(5_000, "the warning", async () => (stderr === "" ? undefined : stderr));
  expect(said(service, "Shortening code by its syntax (content_type_chunking) is off")).toBe(1);
});

interface Ran {
  readonly code: number;
  readonly stdout: string;
}

function doctor(config: JsonObject, extra: Readonly<Record<string, string>> = {}): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const file = join(data, "config.json");
    const words = [program, "doctor", "--data", join(data, "none"), "--config", file];
    const run = (): void => {
      const child = execFile(
        process.execPath,
        words,
        { env: { PATH: process.env["PATH"], ...env(missing), ...extra } },
        (_error, stdout) => resolve({ code: child.exitCode ?? -1, stdout }),
      );
    };
    writeFile(file, JSON.stringify(config)).then(run, reject);
  });
}

test("doctor names what is missing, and finds fault with it only where it is wanted", async () => {
  const idle = await doctor({});
  expect(idle.stdout.match(/^ok {3}packages .+ is off, because .+npm install/gm)).toHaveLength(4);
  const wanted = await doctor(
    {
      providers: anthropic({ tokenizer: "hf:/x.json" }),
      embedder: { model: "x" },
      context_config: { breaking_strategy: { chain_order: ["hybrid"] } },
    },
    { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://127.0.0.1:1" },
  );
  expect(wanted.stdout.match(/^FAIL packages .+ is off, because .+npm install/gm)).toHaveLength(4);
  expect(wanted.code).toBe(1);
});
