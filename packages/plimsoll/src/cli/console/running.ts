/** Finds the running service of a data folder. Two services on one folder would overwrite each other's sessions. */

import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { serviceLockName } from "../../config/data-folder.ts";
import { PlimsollError } from "../../message/error.ts";
import { isObject, parseObject } from "../../message/json.ts";
import { type FolderLock, takeLock } from "../../store/folder-lock.ts";
import { isAlive, writeWhole } from "../../store/whole-file.ts";

interface NamedService {
  readonly pid: number;
  readonly url: string;
}

export interface RunningService extends NamedService {
  /** Problems with the service's store, one sentence each. */
  readonly problems: readonly string[];
}

const fileName = "service.json";
const timeoutMs = 2000;

/** The running service that this folder's service file names. After a crash, the file names a dead one; then undefined. */
export async function findService(data: string): Promise<RunningService | undefined> {
  const named = readServiceFile(data);
  if (named === undefined || !isAlive(named.pid)) return undefined;
  const problems = await problemsAt(named.url);
  return problems === undefined ? undefined : { ...named, problems };
}

/**
 * The right to be the service of this folder until the process ends. The operating system holds the lock, so neither a
 * suspended service nor one that starts at the same moment is overlooked. Commands and the library do not need it.
 */
export function takeService(data: string): FolderLock {
  const lock = takeLock(join(data, serviceLockName), 0);
  if (lock !== undefined) return lock;
  const named = readServiceFile(data);
  const where =
    named !== undefined && isAlive(named.pid) ? `, at ${named.url} (process ${named.pid})` : "";
  throw new PlimsollError(
    "SERVICE_RUNNING",
    `A service is already running on ${data}${where}. Use that one, or choose another folder with --data.`,
  );
}

/** Other commands find the service by this file. */
export function writeServiceFile(data: string, url: string): void {
  writeWhole(join(data, fileName), JSON.stringify({ pid: process.pid, url }));
}

/** If the folder was replaced meanwhile, the file belongs to another service and stays. */
export function removeServiceFile(data: string): void {
  if (readServiceFile(data)?.pid === process.pid) rmSync(join(data, fileName), { force: true });
}

function readServiceFile(data: string): NamedService | undefined {
  const file = join(data, fileName);
  const { pid, url } = (existsSync(file) && parseObject(readFileSync(file, "utf8"))) || {};
  return typeof pid === "number" && typeof url === "string" ? { pid, url } : undefined;
}

/** Undefined if no service answers there. */
async function problemsAt(url: string): Promise<readonly string[] | undefined> {
  try {
    const response = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(timeoutMs) });
    const health: unknown = await response.json();
    if (!isObject(health) || typeof health["status"] !== "string") return undefined;
    return Array.isArray(health["problems"]) ? health["problems"].map(String) : [];
  } catch {
    return undefined;
  }
}
