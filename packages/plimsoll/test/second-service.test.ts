/** A second service on one data folder: it ends with one sentence, however the first one fares. Everything else goes on working there. */

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { openPlimsoll } from "plimsoll";
import { afterEach, beforeEach, expect, test } from "vitest";
import { childEnvironment } from "./harness/child-environment.ts";
import { makeDataFolder } from "./harness/service.ts";
import { eventually, within } from "./harness/waiting.ts";

const PROGRAM = fileURLToPath(new URL("../bin/plimsoll.mjs", import.meta.url));
const LIMIT_MS = 30_000;
const running = new Set<ChildProcess>();
let data: string;

beforeEach(async () => {
  data = await makeDataFolder();
});
afterEach(async () => {
  for (const child of running) {
    child.kill("SIGKILL");
    await once(child, "exit");
  }
  await rm(data, { recursive: true, force: true });
});

interface Start {
  readonly child: ChildProcess;
  readonly outcome: Promise<"ready" | { readonly code: number | null; readonly stderr: string }>;
}

function serve(): Start {
  const child = spawn(process.execPath, [PROGRAM, "serve", "--port", "0", "--data", data], {
    stdio: ["ignore", "pipe", "pipe"],
    env: childEnvironment({ HOME: data }),
  });
  running.add(child);
  child.once("exit", () => running.delete(child));
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const ready = once(child.stdout, "data").then(() => "ready" as const);
  const ended = once(child, "close").then(() => ({ code: child.exitCode, stderr }));
  return { child, outcome: within(LIMIT_MS, "a start", Promise.race([ready, ended])) };
}

function exitCodeOf(...words: readonly string[]): Promise<number | null> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [PROGRAM, ...words], () => resolve(child.exitCode));
  });
}

const refused = {
  code: 1,
  stderr: expect.stringMatching(/^plimsoll: A service is already running on .*--data\.\n$/),
};

test("of services that are started at the same moment, one comes up", async () => {
  const outcomes = await Promise.all([serve(), serve(), serve()].map(({ outcome }) => outcome));
  expect(outcomes.filter((outcome) => outcome === "ready")).toHaveLength(1);
  expect(outcomes.filter((outcome) => outcome !== "ready")).toEqual([refused, refused]);
});

test("a first one that stands still is not taken for dead, and one that was killed is not in the way", async () => {
  const first = serve();
  expect(await first.outcome).toBe("ready");
  // Everything that is no service works beside it.
  await (await openPlimsoll({ data })).close();
  expect(await exitCodeOf("sessions", "--data", data)).toBe(0);
  first.child.kill("SIGSTOP");
  expect(await serve().outcome).toEqual(refused);
  first.child.kill("SIGKILL");
  await eventually(LIMIT_MS, "its end", async () => first.child.signalCode ?? undefined);
  expect(await serve().outcome).toBe("ready");
});
