/** What is asked of the thread that owns the database, and what it answers. */

import type { PlimsollError } from "../message/error.ts";
import type { SqlRow } from "./seal.ts";
import type { SqlStatement } from "./sql-rows.ts";

export interface SqliteOptions {
  readonly file: string;
  /** full: a commit survives power loss; normal: it survives a crash of the process. */
  readonly durability?: "full" | "normal";
  /** Never creates, migrates or writes. */
  readonly isReadOnly?: boolean;
}

/** What the worker is asked. `close` ends it. */
export type WorkerRequest =
  | { readonly id: number; readonly kind: "transact"; readonly statements: readonly SqlStatement[] }
  | { readonly id: number; readonly kind: "query"; readonly statement: SqlStatement }
  | { readonly id: number; readonly kind: "aside"; readonly session: string }
  | { readonly id: number; readonly kind: "check" | "rebuild" | "close" };

export interface WorkerError {
  readonly code: string;
  readonly message: string;
  readonly fields?: PlimsollError["fields"];
}

export type WorkerReply =
  | { readonly id: number; readonly rows: readonly (readonly SqlRow[])[] }
  | { readonly id: number; readonly error: WorkerError };
