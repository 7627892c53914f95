/** Runs `plimsoll serve` as a child process, with its own data folder and the scripted upstream. */

import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export interface Program {
  readonly url: string;
  readonly token: string;
  /** The service's address and the dashboard's address with the token. The token is safe to print: it opens only made-up data. */
  readonly greeting: string;
  /** The dashboard's address with the token. */
  readonly dashboard: string;
  /** Rejects if the program ends before `stop`. */
  readonly failed: Promise<never>;
  stop(): Promise<void>;
}

export interface ProgramOptions {
  readonly data: string;
  readonly port: number;
  /** The text of config.yaml. */
  readonly config: string;
  /** Ids and keys come from this seed. */
  readonly seed: number;
  warn(line: string): void;
}

const file = fileURLToPath(new URL("../bin/plimsoll.mjs", import.meta.url));
const seededIds = new URL("./seeded-ids.mjs", import.meta.url).href;
const readyMs = 30_000;
const stopMs = 5_000;
const readyPattern = /^plimsoll ready on (\S+)\n/m;
/** Number of characters of its last output to keep for the error message. */
const keptChars = 4_000;

/** Creates a new folder in the system's temporary folder, or uses the named one, which must be empty. */
export function makeFolder(named: string | undefined): string {
  if (named === undefined) return mkdtempSync(join(tmpdir(), "plimsoll-demo-"));
  const folder = resolve(named);
  mkdirSync(folder, { recursive: true });
  if (readdirSync(folder).length > 0)
    throw new Error(`${folder} is not empty: give --data a folder that is new or empty.`);
  return folder;
}

/** Retries, because a service that was just killed may still be writing. */
export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
}

/** The wanted port if it is free, otherwise any free port. */
export async function freePort(wanted: number): Promise<number> {
  const probe = createServer();
  try {
    probe.listen(wanted, "127.0.0.1");
    await once(probe, "listening");
    probe.close();
    await once(probe, "close");
    return wanted;
  } catch {
    return 0;
  }
}

/** The key of the demo's made-up data, in the form of a data folder's own key. */
function seededKey(seed: number): string {
  return createHash("sha256").update(`the demo's key ${seed}`).digest("base64url");
}

export async function startProgram(options: ProgramOptions): Promise<Program> {
  const config = join(options.data, "config.yaml");
  writeFileSync(config, options.config);
  const words = [
    "serve",
    "--port",
    String(options.port),
    "--data",
    options.data,
    "--config",
    config,
  ];
  writeFileSync(join(options.data, "key"), seededKey(options.seed), { mode: 0o600 });
  const child = spawn(process.execPath, ["--import", seededIds, file, ...words], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...cleanEnvironment(), DEMO_SEED: String(options.seed) },
  });
  const killChild = (): void => void child.kill("SIGKILL");
  process.once("exit", killChild);
  child.once("exit", () => process.off("exit", killChild));
  // If the program does not become ready, the error contains its output up to then.
  let [isReady, isStopping] = [false, false];
  const output = listen(child, (line) => isReady && options.warn(line));
  const failed = new Promise<never>((_, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) => {
      if (!isStopping)
        reject(new Error(`The service ended with ${code ?? signal}. It said: ${output.text}`));
    });
  });
  failed.catch(() => undefined);
  const [, url = ""] = await Promise.race([ready(child, output), failed]);
  const token = readFileSync(join(options.data, "token"), "utf8").trim();
  isReady = true;
  return {
    url,
    token,
    greeting: `plimsoll ready on ${url}\ndashboard ${url}/#token=${token}`,
    dashboard: `${url}/#token=${token}`,
    failed,
    stop: async () => {
      isStopping = true;
      await end(child);
    },
  };
}

/** Removes settings for the user's own Plimsoll and for telemetry, because the demo must not use them. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(?:PLIMSOLL|OTEL)_/.test(name)),
  );
}

interface Output {
  text: string;
}

function listen(child: ChildProcess, warn: (line: string) => unknown): Output {
  const output = { text: "" };
  const add = (text: string): void => {
    output.text = (output.text + text).slice(-keptChars);
  };
  child.stdout?.setEncoding("utf8").on("data", add);
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    add(text);
    for (const line of text.split("\n")) if (line !== "") warn(line);
  });
  return output;
}

function ready(child: ChildProcess, output: Output): Promise<RegExpExecArray> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`The service was not ready after 30 s. It said: ${output.text}`)),
      readyMs,
    );
    child.stdout?.on("data", () => {
      const found = readyPattern.exec(output.text);
      if (found === null) return;
      clearTimeout(timer);
      resolve(found);
    });
    child.once("exit", () => clearTimeout(timer));
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), stopMs);
  await gone;
  clearTimeout(timer);
}
