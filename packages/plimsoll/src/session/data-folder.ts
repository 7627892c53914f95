/** The data folder: private to the user, with the key that signs handles and the owner's token. */

import { randomBytes } from "node:crypto";
import { chmodSync, lstatSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { errorMessage, PlimsollError } from "../message/error.ts";

export interface DataFolder {
  readonly database: string;
  /** Signs handles and hides credentials; made once. */
  readonly key: Uint8Array;
  /** Opens /api and the dashboard; made once, unless PLIMSOLL_TOKEN is set. */
  readonly token: string;
}

export const databaseName = "plimsoll.db";

/** Contract: throws STORE_FAILED with a sentence when the folder cannot be used. */
export function openDataFolder(path: string): DataFolder {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    if (lstatSync(path).isSymbolicLink()) throw unusable(path, "it is a symbolic link");
    if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o700);
    return {
      database: join(path, databaseName),
      key: Buffer.from(readOrMake(join(path, "key")), "base64url"),
      token: readOrMake(join(path, "token")),
    };
  } catch (cause) {
    if (PlimsollError.is(cause)) throw cause;
    throw unusable(path, errorMessage(cause));
  }
}

/** Written with `wx`: of two processes that start at once, the second reads what the first wrote. */
function readOrMake(file: string): string {
  try {
    writeFileSync(file, randomBytes(32).toString("base64url"), { flag: "wx", mode: 0o600 });
  } catch (error) {
    const exists = error instanceof Error && "code" in error && error.code === "EEXIST";
    if (!exists) throw error;
  }
  const text = readFileSync(file, "utf8").trim();
  if (text.length < 32) throw unusable(file, "it is too short: delete it to have a new one made");
  return text;
}

function unusable(path: string, reason: string): PlimsollError {
  return new PlimsollError(
    "STORE_FAILED",
    `${path} cannot be used (${reason}): choose another folder with --data.`,
  );
}
