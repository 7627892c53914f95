/** Finds the service of a data folder, or starts one that outlives this process. */

import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Flags, Settings } from "../../config/config.ts";
import { PlimsollError } from "../../message/error.ts";
import { serviceLogName } from "../../store/forget/files-beside.ts";
import { findService } from "../console/running.ts";

export interface StartOptions {
  readonly settings: Settings;
  readonly flags: Flags;
  /** The port to use if it must be this one, because an agent already knows it. */
  readonly port?: number;
}

const program = fileURLToPath(new URL("../../../bin/plimsoll.mjs", import.meta.url));
/** A service that `run` has started ends after this time without a request. */
const idleMinutes = 30;
const startMs = 30_000;
const lookMs = 100;
/** How long to look for a service after the one that was started here has ended, because another process was faster. */
const otherMs = 3000;

/** Returns the address of the service. */
export async function findOrStart(options: StartOptions): Promise<string> {
  const { data } = options.settings;
  const running = await findService(data);
  if (running !== undefined) {
    if (options.flags.config !== undefined && options.port === undefined)
      throw new PlimsollError(
        "SERVICE_RUNNING",
        `The service on ${running.url} is already running, with the configuration that it was started with. Run \`plimsoll stop\` first, or leave --config out.`,
      );
    return running.url;
  }
  const child = await startDetached(options);
  const deadline = Date.now() + startMs;
  let endedAt: number | undefined;
  child.once("exit", () => {
    endedAt = Date.now();
  });
  while (Date.now() < deadline) {
    const found = await findService(data);
    if (found !== undefined) return found.url;
    if (endedAt !== undefined && Date.now() - endedAt > otherMs) break;
    await pause(lookMs);
  }
  throw new PlimsollError("LISTEN_FAILED", `The service did not start. ${lastLine(data)}`);
}

async function startDetached({
  settings,
  flags,
  port,
}: StartOptions): Promise<ReturnType<typeof spawn>> {
  const { data } = settings;
  const options = ["serve", "--idle-minutes", String(idleMinutes), "--data", data];
  if (flags.config !== undefined) options.push("--config", flags.config);
  options.push("--port", String(port ?? (await freePort(settings, flags))));
  const log = openSync(join(data, serviceLogName), "a", 0o600);
  try {
    const child = spawn(process.execPath, [program, ...options], {
      detached: true,
      stdio: ["ignore", log, log],
      cwd: data,
    });
    child.unref();
    return child;
  } finally {
    closeSync(log);
  }
}

/** The configured port. If it is only the default one and another program uses it, 0: the system then picks a free one. */
async function freePort({ port, host, config }: Settings, flags: Flags): Promise<number> {
  const isChosen =
    flags.port !== undefined ||
    config.server?.port !== undefined ||
    process.env["PLIMSOLL_PORT"] !== undefined;
  return isChosen || (await isFree(host, port)) ? port : 0;
}

function isFree(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen(port, host, () => probe.close(() => resolve(true)));
  });
}

/** What the service wrote last. */
function lastLine(data: string): string {
  const lines = readFileSync(join(data, serviceLogName), "utf8").trim().split("\n");
  return `It said: ${lines.at(-1) ?? "nothing"}`;
}
