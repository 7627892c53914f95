/**
 * The data folder, with the key that signs handles and the owner's token. Plimsoll makes it private where it makes it; the
 * modes of a folder that was there before are its owner's business: the files in it are private all the same.
 */

import { randomBytes } from "node:crypto";
import { lstatSync, mkdirSync, readFileSync, type Stats, statSync } from "node:fs";
import { join } from "node:path";
import { errorMessage, PlimsollError } from "../message/error.ts";
import { takeLock } from "../store/folder-lock.ts";
import { removeLeftovers, writeWhole } from "../store/whole-file.ts";

export interface DataFolder {
  readonly database: string;
  /** Signs handles and hides credentials; made once. */
  readonly key: Uint8Array;
  /** Opens /api and the dashboard; made once, unless PLIMSOLL_TOKEN is set. */
  readonly token: string;
  /** What its user should know of its modes, a sentence each. */
  readonly notices: readonly string[];
}

export const databaseName = "plimsoll.db";
/** Whoever serves the folder has it. */
export const serviceLockName = "service.lock";
/** Files that are written under a temporary name first. */
const wholeFiles = /^(?:key|token|service\.json|plimsoll\.db\.v\d+\.bak)$/;
const minSecretChars = 32;
/** Another process makes the same files: that takes a moment, on any disk that works. */
const setupWaitMs = 10_000;

/** Contract: throws STORE_FAILED with a sentence when the folder cannot be used. */
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

/** A sentence where other users can do something with the folder. */
export function noticesOf(path: string, { mode }: Pick<Stats, "mode">): readonly string[] {
  if ((mode & 0o077) === 0) return [];
  const isShared = (mode & 0o022) !== 0 && (mode & 0o1000) === 0;
  const what = isShared
    ? `Other users can delete or replace files in ${path}`
    : `Other users can see which files are in ${path}, though not read them`;
  return [`${what}: \`chmod 700\` it if it is yours alone, or choose another folder with --data.`];
}

function refusePlanted(file: string, folder: Stats): void {
  const found = lstatSync(file, { throwIfNoEntry: false });
  if (found !== undefined && isPlanted(found, folder, process.getuid?.()))
    throw unusable(file, "it belongs to another user");
}

/** Where others may put files, one of theirs must not pass for ours: they would know the key or the token. */
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

/** Of processes that start at once one makes it, and the others read it. */
function makeSecret(folder: string, file: string): string {
  const lock = takeLock(join(folder, "setup.lock"), setupWaitMs);
  if (lock === undefined) throw unusable(folder, "another process is setting it up");
  try {
    const known = readSecret(file);
    if (isWhole(known)) return known;
    // A start that was broken off left it so; with a database, another key was in use before.
    if (known !== undefined && hasDatabase(folder))
      throw unusable(
        file,
        "it is too short: put the right one back, or delete it to have a new one made",
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
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

/** An empty file is none yet. */
function hasDatabase(folder: string): boolean {
  const database = statSync(join(folder, databaseName), { throwIfNoEntry: false });
  return database !== undefined && database.size > 0;
}

function unusable(path: string, reason: string): PlimsollError {
  return new PlimsollError(
    "STORE_FAILED",
    `${path} cannot be used (${reason}): choose another folder with --data.`,
  );
}
