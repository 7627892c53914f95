/** The questions to the thread that owns the database, and its answers. */

import type { PlimsollError } from "../message/error.ts";
import type { ForgetOrder } from "./forget/forgetting.ts";
import type { SqlRow } from "./seal.ts";
import type { SqlStatement } from "./sql-rows.ts";

export interface SqliteOptions {
  readonly file: string;
  /** full: a commit survives a power failure. normal: a commit survives only a crash of the process. */
  readonly durability?: "full" | "normal";
  /** True if the database is only read: never created, migrated or written. */
  readonly isReadOnly?: boolean;
}

/** `close` ends the thread. */
export type Question =
  | { readonly kind: "transact"; readonly statements: readonly SqlStatement[] }
  | { readonly kind: "query"; readonly statement: SqlStatement }
  | { readonly kind: "aside"; readonly session: string }
  | { readonly kind: "forget"; readonly order: ForgetOrder }
  | { readonly kind: "check" | "rebuild" | "size" | "close" };

/** The rows of each statement. */
export type Rows = readonly (readonly SqlRow[])[];

export interface WorkerError {
  readonly code: string;
  readonly message: string;
  readonly fields?: PlimsollError["fields"];
}

export type SqliteAnswer = { readonly rows: Rows } | { readonly error: WorkerError };
