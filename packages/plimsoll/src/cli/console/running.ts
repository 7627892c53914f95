/** Finds the running service of a data folder. Two services on one folder would overwrite each other's sessions. */

import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { serviceLockName } from "../../config/data-folder.ts";
import { PlimsollError } from "../../message/error.ts";
import { isObject, type JsonObject, parseObject } from "../../message/json.ts";
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

/** The file by which other commands find the service. */
export const serviceFileName = "service.json";
const timeoutMs = 2000;
/** Without a wait, two services that start at the same moment would disturb each other, and neither would get the lock. */
const lockMs = 500;

/**
 * The running service that the service file of this folder names. Undefined if that service is no longer running, for example
 * after a crash.
 */
export async function findService(data: string): Promise<RunningService | undefined> {
  const named = readServiceFile(data);
  if (named === undefined || !isAlive(named.pid)) return undefined;
  const problems = await problemsAt(named.url);
  return problems === undefined ? undefined : { ...named, problems };
}

/**
 * Makes this process the only service of the folder until the process ends. The operating system holds the lock, so a service
 * that is suspended, or that starts at the same moment, is not overlooked. Commands and the library do not need the lock.
 */
export function takeService(data: string): FolderLock {
  const lock = takeLock(join(data, serviceLockName), lockMs);
  if (lock !== undefined) return lock;
  const named = readServiceFile(data);
  const where =
    named !== undefined && isAlive(named.pid) ? `, at ${named.url} (process ${named.pid})` : "";
  throw new PlimsollError(
    "SERVICE_RUNNING",
    `A service is already running on ${data}${where}. Use that one, or choose another folder with --data.`,
  );
}

/** Writes the file by which other commands find the service. */
export function writeServiceFile(data: string, url: string): void {
  writeWhole(join(data, serviceFileName), JSON.stringify({ pid: process.pid, url }));
}

/** Removes the service file, unless the folder was replaced meanwhile and the file belongs to another service. */
export function removeServiceFile(data: string): void {
  if (readServiceFile(data)?.pid === process.pid)
    rmSync(join(data, serviceFileName), { force: true });
}

function readServiceFile(data: string): NamedService | undefined {
  const file = join(data, serviceFileName);
  const { pid, url } = (existsSync(file) && parseObject(readFileSync(file, "utf8"))) || {};
  return typeof pid === "number" && typeof url === "string" ? { pid, url } : undefined;
}

/**
 * A sentence if the service has an older version of its configuration file than the file has now. The service says only which
 * revision of the file it uses.
 */
export async function olderConfiguration(url: string, token: string): Promise<string | undefined> {
  const config = await configAt(url, token);
  const { file, revision, loadedRevision } = config ?? {};
  if (typeof loadedRevision !== "string" || revision === loadedRevision) return undefined;
  return `The service on ${url} still uses an older version of ${String(file)}. To use the new one, run \`plimsoll stop\`, then start the service or your agent again.`;
}

async function configAt(url: string, token: string): Promise<JsonObject | undefined> {
  try {
    const response = await fetch(`${url}/api/config`, {
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(timeoutMs),
    });
    const config: unknown = await response.json();
    return isObject(config) ? config : undefined;
  } catch {
    return undefined;
  }
}

/** The problems that the service at this address reports. Undefined if no service answers. */
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
