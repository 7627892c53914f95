/** Where the service of a data folder runs, if one does: two of them would write over each other's sessions. */

import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PlimsollError } from "../message/error.ts";
import { isObject, parseObject } from "../message/json.ts";

export interface RunningService {
  readonly pid: number;
  readonly url: string;
}

const fileName = "service.json";
const timeoutMs = 2000;

/** The service that this folder's file names, if it is alive: after a crash the file names a dead one. */
export async function findService(data: string): Promise<RunningService | undefined> {
  const named = readServiceFile(data);
  return named !== undefined && isAlive(named.pid) && (await answers(named.url))
    ? named
    : undefined;
}

export async function refuseSecondService(data: string): Promise<void> {
  const running = await findService(data);
  if (running === undefined) return;
  throw new PlimsollError(
    "SERVICE_RUNNING",
    `A service already runs on ${data}, at ${running.url} (process ${running.pid}): use that one, or choose another folder with --data.`,
  );
}

export function writeServiceFile(data: string, url: string): void {
  writeFileSync(join(data, fileName), JSON.stringify({ pid: process.pid, url }), { mode: 0o600 });
}

export function removeServiceFile(data: string): void {
  rmSync(join(data, fileName), { force: true });
}

function readServiceFile(data: string): RunningService | undefined {
  const file = join(data, fileName);
  const { pid, url } = (existsSync(file) && parseObject(readFileSync(file, "utf8"))) || {};
  return typeof pid === "number" && typeof url === "string" ? { pid, url } : undefined;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(timeoutMs) });
    const health: unknown = await response.json();
    return isObject(health) && health["status"] === "ok";
  } catch {
    return false;
  }
}
