/** Files that are whole or not there, and that only their user can read: written under another name first, then moved into place. */

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

/** What a temporary name ends with; SQLite may put files of its own beside one. */
const temporary = /\.(\d+)-[0-9a-f]{12}\.tmp(?:-journal|-wal|-shm)?$/;

/** The name says whose it is, so that those of dead processes can be told. */
export function temporaryName(file: string): string {
  return `${file}.${process.pid}-${randomBytes(6).toString("hex")}.tmp`;
}

/** Contract: after a crash at any moment the file is the old one, or this one, or not there. */
export function writeWhole(file: string, text: string): void {
  const written = createPrivate(temporaryName(file));
  try {
    writeFileSync(written, text);
    moveIntoPlace(written, file, () => readFileSync(written, "utf8") === text);
  } finally {
    rmSync(written, { force: true });
  }
}

/** An empty file that only its user can read. */
export function createPrivate(file: string): string {
  closeSync(openSync(file, "wx", 0o600));
  return file;
}

/** Contract: throws, and leaves `file` as it was, when the disk does not take what was written or `isWhole` finds fault. */
export function moveIntoPlace(written: string, file: string, isWhole: () => boolean): void {
  sync(written, "r+");
  if (!isWhole()) throw new Error(`${written} could not be written as a whole`);
  renameSync(written, file);
  // Windows lets nobody open a folder for that.
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

/** What starts that were broken off have left behind, of the files with these names. */
export function removeLeftovers(folder: string, isOurs: (name: string) => boolean): void {
  for (const name of readdirSync(folder)) {
    const pid = Number(temporary.exec(name)?.[1]);
    const path = join(folder, name);
    if (pid > 0 && isOurs(name.replace(temporary, "")) && isLeftBy(pid, path))
      rmSync(path, { force: true });
  }
}

/** In a container every start may have the same number: then what is older than this process is of another one. */
function isLeftBy(pid: number, path: string): boolean {
  if (pid !== process.pid) return !isAlive(pid);
  const madeAt = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY;
  return madeAt < Date.now() - process.uptime() * 1000 - 1000;
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // There is one, but it is not ours.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
