/**
 * Checks that a database is still where it was opened. If its file is deleted, SQLite keeps writing into the deleted file, and
 * the data is lost.
 */

import { statSync } from "node:fs";
import { PlimsollError } from "../message/error.ts";

/**
 * Contract: the returned function throws STORE_FAILED while the database or its write-ahead log is deleted, or replaced by
 * another file. It stops throwing when the original file is put back.
 */
export function keptPlace(file: string): () => void {
  if (file === ":memory:") return () => undefined;
  const names = [file, `${file}-wal`];
  const opened = names.map(identityOf);
  return () => {
    if (names.every((name, index) => identityOf(name) === opened[index])) return;
    throw new PlimsollError(
      "STORE_FAILED",
      `${file} was deleted or replaced while Plimsoll was running. Put it back, or restart Plimsoll.`,
    );
  };
}

function identityOf(file: string): string {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? "" : `${found.dev}:${found.ino}`;
}
