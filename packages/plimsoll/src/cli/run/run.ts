/**
 * `plimsoll run -- AGENT …`: starts an agent in the user's folder so that its requests go through Plimsoll. At the end, prints
 * how many tokens the sessions sent and saved.
 */

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { homedir, constants as system } from "node:os";
import { basename, delimiter, isAbsolute, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Flags, loadSettings } from "../../config/config.ts";
import { openDataFolder } from "../../config/data-folder.ts";
import { PlimsollError } from "../../message/error.ts";
import { runPath } from "../../message/run-mark.ts";
import { isAlive } from "../../store/whole-file.ts";
import { harmless } from "../../text/unseen.ts";
import { olderConfiguration } from "../console/running.ts";
import { type Agent, agentOf, pointingOf, refuseOtherWays, withoutProxy } from "./agents.ts";
import type { Pointing } from "./clients.ts";
import { findOrStart } from "./find-or-start.ts";
import { summaryLines } from "./run-summary.ts";
import { watchRun } from "./watch-run.ts";

export interface RunFlags extends Flags {
  /** The name of the agent, if its program has another name. */
  readonly as?: string;
}

/** The last events may arrive just after the agent has ended. */
const lastEventsMs = 300;

export async function runAgent(command: readonly string[], flags: RunFlags): Promise<void> {
  const [program = "", ...own] = command;
  const agent = agentOf(program, flags.as);
  const file = findProgram(program, agent);
  const settings = loadSettings(flags, process.env);
  const token = settings.token ?? openDataFolder(settings.data).token;
  const url = await findOrStart({ settings, flags });
  const older = await olderConfiguration(url, token);
  if (older !== undefined) console.error(`plimsoll: ${harmless(older)}`);
  const folder = makeRunFolder(settings.data);
  const run = randomBytes(6).toString("hex");
  try {
    const pointing = pointAgent(agent, { run, url, folder });
    const watched = watchRun({
      run,
      token,
      locate: () => findOrStart({ settings, flags, port: Number(new URL(url).port) }),
    });
    await watched.ready;
    process.exitCode = await runToEnd(file, own, pointing);
    await pause(lastEventsMs);
    watched.close();
    for (const line of summaryLines(watched.sums(), url)) console.error(`plimsoll: ${line}`);
    // On a terminal the address may have the token. Other output may be stored.
    if (process.stderr.isTTY === true) console.error(`plimsoll: dashboard ${url}/#token=${token}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface RunPlace {
  readonly run: string;
  /** Address of the service. */
  readonly url: string;
  readonly folder: string;
}

function pointAgent(agent: Agent, { run, url, folder }: RunPlace): Pointing {
  const mark = { id: run, program: agent.key, folder: basename(process.cwd()) };
  const address = url + runPath(mark);
  const pointing = pointingOf(agent, {
    address,
    host: url,
    folder,
    environment: process.env,
    home: homedir(),
    read: (file) => (existsSync(file) ? readFileSync(file, "utf8") : undefined),
  });
  refuseOtherWays(agent, pointing, process.env);
  for (const [name, text] of Object.entries(pointing.files ?? {}))
    writeFileSync(join(folder, name), text, { mode: 0o600 });
  return pointing;
}

/** The file of the program, as a shell would find it. */
function findProgram(program: string, { name, start: { install } }: Agent): string {
  const isPath = isAbsolute(program) || /[\\/]/.test(program);
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const candidates = isPath ? [program] : folders.map((folder) => join(folder, program));
  const found = candidates.find(isExecutable);
  if (found !== undefined) return found;
  throw new PlimsollError(
    "NOT_FOUND",
    isPath
      ? `There is no program at ${harmless(program)}.`
      : `${name} is not installed: there is no program "${program}" in your PATH. Install it: ${install}`,
  );
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * A folder for the agent's files. It is below the data folder, because the files may contain the agent's keys. Folders of runs
 * that were killed are removed: each is named after its process.
 */
function makeRunFolder(data: string): string {
  const parent = join(data, "runs");
  mkdirSync(parent, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(parent))
    if (!isAlive(Number.parseInt(name, 10)))
      rmSync(join(parent, name), { recursive: true, force: true });
  return mkdtempSync(join(parent, `${process.pid}-`));
}

/**
 * Runs the agent with this process's terminal and folder, and returns its exit code. A terminal sends Ctrl-C to the agent as well,
 * and the agent decides what it means. Other signals are passed on.
 */
function runToEnd(
  file: string,
  own: readonly string[],
  { flags = [], variables }: Pointing,
): Promise<number> {
  const child = spawn(file, [...flags, ...own], {
    stdio: "inherit",
    env: { ...process.env, ...withoutProxy(process.env), ...variables },
  });
  const ignore = (): void => undefined;
  const passOn = (signal: NodeJS.Signals): void => void child.kill(signal);
  process.on("SIGINT", ignore);
  for (const signal of ["SIGTERM", "SIGHUP"] as const) process.on(signal, passOn);
  return new Promise<number>((resolve, reject) => {
    child.once("error", (cause) =>
      reject(
        new PlimsollError("NOT_FOUND", `${file} cannot be started: ${cause.message}`, { cause }),
      ),
    );
    child.once("exit", (code, signal) =>
      resolve(code ?? 128 + (signal === null ? 1 : system.signals[signal])),
    );
  }).finally(() => {
    process.off("SIGINT", ignore);
    for (const signal of ["SIGTERM", "SIGHUP"] as const) process.off(signal, passOn);
  });
}
