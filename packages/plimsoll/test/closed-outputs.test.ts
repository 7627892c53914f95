/** A service whose outputs nobody reads any more: a pipe that ended, a supervisor that is gone. What it would say is lost; it lives on. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { reply, text } from "./harness/answer.ts";
import { childEnvironment } from "./harness/child-environment.ts";
import { ask, bodyOf } from "./harness/raw-client.ts";
import { makeDataFolder } from "./harness/service.ts";
import { startUpstream, type Upstream } from "./harness/upstream.ts";
import { eventually, within } from "./harness/waiting.ts";

const PROGRAM = fileURLToPath(new URL("../bin/plimsoll.mjs", import.meta.url));
let upstream: Upstream;
let child: ChildProcess;
let data: string;

beforeAll(async () => {
  upstream = await startUpstream({ script: () => reply(text("Noted.")) });
});
afterEach(async () => {
  if (child.exitCode === null) {
    child.kill("SIGKILL");
    await once(child, "exit");
  }
  await rm(data, { recursive: true, force: true });
});
afterAll(() => upstream.close());

/** Its address is read from its file: what it prints may have no reader. */
async function start(closed: readonly ("stdout" | "stderr")[]): Promise<string> {
  data = await makeDataFolder();
  const config = join(data, "config.yaml");
  await writeFile(config, JSON.stringify({ providers: { anthropic: { baseUrl: upstream.url } } }));
  const words = ["serve", "--port", "0", "--data", data, "--config", config];
  child = spawn(process.execPath, [PROGRAM, ...words], {
    stdio: ["ignore", "pipe", "pipe"],
    // It says something on stderr with every turn.
    env: childEnvironment({ HOME: data, CONTEXT_DEBUG: "true" }),
  });
  for (const name of closed) child[name]?.destroy();
  return eventually(20_000, "the service", async () => {
    if (child.exitCode !== null) throw new Error(`The service ended with ${child.exitCode}.`);
    const file = join(data, "service.json");
    return existsSync(file)
      ? (JSON.parse(readFileSync(file, "utf8")) as { readonly url: string }).url
      : undefined;
  });
}

function say(url: string, words: string): Promise<{ readonly status: number }> {
  const body = bodyOf("anthropic", [{ role: "user", content: words }]);
  return within(20_000, "the answer", ask(url, { wire: "anthropic", body }));
}

test("with both outputs closed before it has said anything, the service answers turn after turn", async () => {
  const url = await start(["stdout", "stderr"]);
  const answers = [await say(url, "one"), await say(url, "two"), await say(url, "three")];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect([child.exitCode, child.signalCode]).toEqual([null, null]);
});

test("a reader of stderr that leaves in the middle takes nothing but the warnings with it", async () => {
  const url = await start([]);
  await say(url, "one");
  child.stderr?.destroy();
  const answers = [await say(url, "two"), await say(url, "three")];
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  expect([child.exitCode, child.signalCode]).toEqual([null, null]);
});
