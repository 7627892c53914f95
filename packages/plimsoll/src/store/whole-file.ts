/**
 * Writes files that are either complete or absent, and readable only by their user. A file is written under a temporary name and
 * then moved.
 */

import { randomBytes } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";

/** The ending of a temporary name. SQLite may create further files next to a temporary file. */
const temporary = /\.(\d+)-[0-9a-f]{12}\.tmp(?:-journal|-wal|-shm)?$/;

/** The name contains the process id, so that files of dead processes can be recognised. */
export function temporaryName(file: string): string {
  return `${file}.${process.pid}-${randomBytes(6).toString("hex")}.tmp`;
}

/** Contract: after a crash at any moment, the file is the old one, the new one, or absent. */
export function writeWhole(file: string, text: string): void {
  const written = createPrivate(temporaryName(file));
  try {
    writeFileSync(written, text);
    moveIntoPlace(written, file, () => readFileSync(written, "utf8") === text);
  } finally {
    rmSync(written, { force: true });
  }
}

/** Creates an empty file that only its user can read. */
export function createPrivate(file: string): string {
  closeSync(openSync(file, "wx", 0o600));
  return file;
}

/** Contract: if the disk does not accept the content, or `isWhole` returns false, this throws and leaves `file` as it was. */
export function moveIntoPlace(written: string, file: string, isWhole: () => boolean): void {
  sync(written, "r+");
  if (!isWhole()) throw new Error(`${written} could not be written completely`);
  renameSync(written, file);
  // Windows cannot open a folder to sync it.
  if (process.platform !== "win32") sync(dirname(file), "r");
}

function sync(path: string, flags: string): void {
  const descriptor = openSync(path, flags);
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** An interrupted process leaves temporary files behind. This removes those that were to become a file that `isOurs` accepts. */
export function removeLeftovers(folder: string, isOurs: (name: string) => boolean): void {
  for (const name of readdirSync(folder)) {
    const pid = Number(temporary.exec(name)?.[1]);
    const path = join(folder, name);
    if (pid > 0 && isOurs(name.replace(temporary, "")) && isLeftBy(pid, path))
      rmSync(path, { force: true });
  }
}

/**
 * Whether an earlier process left the file. In a container, every start may have the same process id, so a file that is older
 * than this process belongs to an earlier one.
 */
function isLeftBy(pid: number, path: string): boolean {
  if (pid !== process.pid) return !isAlive(pid);
  const madeAt = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY;
  return madeAt < Date.now() - process.uptime() * 1000 - 1000;
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // The process exists, but belongs to another user.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
