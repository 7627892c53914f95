/** Whether a database is still where it was opened. SQLite goes on writing into files that were deleted: all of that would be lost. */

import { statSync } from "node:fs";
import { PlimsollError } from "../message/error.ts";

/**
 * Contract: the result throws STORE_FAILED while the database, or the write-ahead log that belongs to it, is gone or
 * another file stands in its place; put back, it is in order again.
 */
export function keptPlace(file: string): () => void {
  if (file === ":memory:") return () => undefined;
  const names = [file, `${file}-wal`];
  const opened = names.map(identityOf);
  return () => {
    if (names.every((name, index) => identityOf(name) === opened[index])) return;
    throw new PlimsollError(
      "STORE_FAILED",
      `${file} was deleted or replaced while Plimsoll runs: put it back, or start Plimsoll again.`,
    );
  };
}

function identityOf(file: string): string {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? "" : `${found.dev}:${found.ino}`;
}
