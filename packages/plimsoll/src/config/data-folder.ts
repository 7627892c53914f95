/**
 * The data folder, which contains the key for signing handles and the owner's token. If Plimsoll creates the folder, only the
 * user can open it. If the folder existed before, Plimsoll does not change its permissions. The files in it are private in both
 * cases.
 */

import { randomBytes } from "node:crypto";
import {
  accessSync,
  constants,
  lstatSync,
  mkdirSync,
  readFileSync,
  type Stats,
  statSync,
} from "node:fs";
import { join } from "node:path";
import { errorMessage, PlimsollError } from "../message/error.ts";
import { takeLock } from "../store/folder-lock.ts";
import { removeLeftovers, writeWhole } from "../store/whole-file.ts";

export interface DataFolder {
  readonly database: string;
  /** The key for signing handles and hashing credentials. It is made once. */
  readonly key: Uint8Array;
  /**
   * The owner's token, which gives access to /api and the dashboard. It is made once. If PLIMSOLL_TOKEN is set, that value is
   * used instead.
   */
  readonly token: string;
  /** Warnings about the permissions of the folder, one sentence each. */
  readonly notices: readonly string[];
}

export const databaseName = "plimsoll.db";
/** Name of the lock that the service takes while it runs. */
export const serviceLockName = "service.lock";
/** Files that are first written under a temporary name. */
const wholeFiles = /^(?:key|token|service\.json|plimsoll\.db\.v\d+\.bak)$/;
const minSecretChars = 32;
/** How long to wait while another process makes the same files, in milliseconds. Making them normally takes only a moment. */
const setupWaitMs = 10_000;

/** Contract: throws STORE_FAILED with a sentence if the folder cannot be used. */
export function openDataFolder(path: string): DataFolder {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    const folder = lstatSync(path);
    if (folder.isSymbolicLink()) throw unusable(path, "it is a symbolic link");
    for (const name of ["key", "token", databaseName]) refusePlanted(join(path, name), folder);
    removeLeftovers(path, (name) => wholeFiles.test(name));
    return {
      database: join(path, databaseName),
      key: Buffer.from(readOrMake(path, "key"), "base64url"),
      token: readOrMake(path, "token"),
      notices: noticesOf(path, folder),
    };
  } catch (cause) {
    if (PlimsollError.is(cause)) throw cause;
    throw unusable(path, errorMessage(cause));
  }
}

/** Whether this process may read a file, or open a folder and see what is in it. */
export function accessTo(path: string): "readable" | "missing" | "unreadable" {
  try {
    accessSync(path, constants.R_OK);
    return "readable";
  } catch (error) {
    return isMissing(error) ? "missing" : "unreadable";
  }
}

export function unreadable(path: string): PlimsollError {
  return new PlimsollError(
    "STORE_FAILED",
    `You may not read ${path}. Run the command as the user who runs \`plimsoll serve\`, or choose another folder with --data.`,
  );
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}

/** Returns a warning if other users have access to the folder. */
export function noticesOf(path: string, { mode }: Pick<Stats, "mode">): readonly string[] {
  if ((mode & 0o077) === 0) return [];
  const isShared = (mode & 0o022) !== 0 && (mode & 0o1000) === 0;
  const what = isShared
    ? `Other users can delete or replace files in ${path}`
    : `Other users can see which files are in ${path}, but cannot read them`;
  return [
    `${what}. Run \`chmod 700\` on it if only you use it, or choose another folder with --data.`,
  ];
}

function refusePlanted(file: string, folder: Stats): void {
  const found = lstatSync(file, { throwIfNoEntry: false });
  if (found !== undefined && isPlanted(found, folder, process.getuid?.()))
    throw unusable(file, "it belongs to another user");
}

/**
 * Whether another user put this file into the folder. Plimsoll must not use such a file, because that user knows the key or the
 * token in it.
 */
export function isPlanted(
  file: Pick<Stats, "uid">,
  folder: Pick<Stats, "uid" | "mode">,
  user: number | undefined,
): boolean {
  const isOpen = (folder.mode & 0o022) !== 0;
  return isOpen && file.uid !== user && file.uid !== folder.uid;
}

function readOrMake(folder: string, name: string): string {
  const file = join(folder, name);
  const known = readSecret(file);
  return isWhole(known) ? known : makeSecret(folder, file);
}

/** Makes a secret. If several processes start at once, one of them makes it and the others read it. */
function makeSecret(folder: string, file: string): string {
  const lock = takeLock(join(folder, "setup.lock"), setupWaitMs);
  if (lock === undefined)
    throw unusable(
      folder,
      "another process is setting it up",
      "Wait until it has finished, or choose another folder with --data.",
    );
  try {
    const known = readSecret(file);
    if (isWhole(known)) return known;
    // An interrupted start can leave a file that is too short. Plimsoll replaces it, unless there is already a database, which
    // was written with the original key.
    if (known !== undefined && hasDatabase(folder))
      throw unusable(
        file,
        "it is too short",
        "Restore the correct file, or delete this one so that Plimsoll makes a new one.",
      );
    const made = randomBytes(32).toString("base64url");
    writeWhole(file, made);
    return made;
  } finally {
    lock.release();
  }
}

function isWhole(secret: string | undefined): secret is string {
  return secret !== undefined && secret.length >= minSecretChars;
}

function readSecret(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Whether the folder contains a database. An empty file is not a database. */
function hasDatabase(folder: string): boolean {
  const database = statSync(join(folder, databaseName), { throwIfNoEntry: false });
  return database !== undefined && database.size > 0;
}

function unusable(
  path: string,
  reason: string,
  advice = "Choose another folder with --data.",
): PlimsollError {
  return new PlimsollError("STORE_FAILED", `Plimsoll cannot use ${path}: ${reason}. ${advice}`);
}
