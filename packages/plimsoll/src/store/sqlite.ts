/**
 * SQLite behind worker threads: a commit waits for the disk there, never on the event loop that
 * streams answers. Commits that wait together share one transaction.
 */

import { closeSync, existsSync, openSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { errorMessage, PlimsollError } from "../message/error.ts";
import { Thread } from "../workers/thread.ts";
import { createSqlStore, type SqlDriver } from "./sql-store.ts";
import type {
  Question,
  Rows,
  SqliteAnswer,
  SqliteOptions,
  WorkerError,
} from "./sqlite-questions.ts";
import type { Store } from "./store.ts";

/** More than this waiting for the disk means that it has stopped: say so instead of filling memory. */
const maxWaiting = 10_000;

/**
 * Two threads: one writes, one reads. A reader of a write-ahead log never waits for the writer, so a
 * disk that is slow to write does not hold up a request that only wants to know its session.
 */
export async function openSqliteStore(options: SqliteOptions): Promise<Store> {
  if (!options.isReadOnly) createPrivately(options.file);
  const writer = await openThread(options);
  const readOnly = { ...options, isReadOnly: true };
  let reader = options.isReadOnly ? writer : await openThread(readOnly);
  const driver: SqlDriver = {
    kind: "sqlite",
    transact: (statements) => writer.ask({ kind: "transact", statements }),
    query: async (statement) => (await reader.ask({ kind: "query", statement }))[0] ?? [],
    putAside: async (session) => {
      const [[row] = []] = await writer.ask({ kind: "aside", session });
      return String(row?.["file"]);
    },
    check: () => checkApart(readOnly),
    rebuild: async () => {
      const [[row] = []] = await writer.ask({ kind: "rebuild" });
      // Its connection is to the file that was put aside.
      const before = reader;
      reader = await openThread(readOnly);
      await before.close();
      return {
        aside: String(row?.["aside"]),
        kept: Number(row?.["kept"]),
        lost: JSON.parse(String(row?.["lost"])) as readonly string[],
      };
    },
    close: async () => {
      await reader.close();
      await writer.close();
    },
  };
  return createSqlStore(driver);
}

/** In a thread of its own: a check reads the whole file, and nobody should wait for it. */
async function checkApart(options: SqliteOptions): Promise<readonly string[]> {
  const thread = await openThread(options);
  try {
    const [rows = []] = await thread.ask({ kind: "check" });
    return rows.map((row) => String(row["problem"]));
  } finally {
    await thread.close();
  }
}

interface Connection {
  ask(question: Question): Promise<Rows>;
  close(): Promise<void>;
}

async function openThread(options: SqliteOptions): Promise<Connection> {
  const { file } = options;
  let failure: PlimsollError | undefined;
  let isOpen = false;
  const thread = new Thread<Question, SqliteAnswer>({
    startWorker: () =>
      new Worker(new URL("./sqlite-worker.ts", import.meta.url), { workerData: options }),
    // What it had begun is not known any more: no other thread goes on from there.
    onEnd: (cause) => {
      const hasNotStarted = cause !== undefined && !isOpen;
      failure ??= hasNotStarted ? storeNotStarted(file, cause) : storeStopped(file, cause);
    },
  });
  const rowsIn = async (answering: Promise<SqliteAnswer>): Promise<Rows> => {
    const answer = await answering.catch((error: unknown) => {
      throw failure ?? error;
    });
    if ("error" in answer) throw storeError(answer.error, file);
    return answer.rows;
  };
  const ask = (question: Question): Promise<Rows> => {
    if (failure !== undefined) return Promise.reject(failure);
    if (thread.waiting >= maxWaiting) return Promise.reject(storeStuck());
    return rowsIn(thread.ask(question));
  };
  await rowsIn(thread.greeting());
  isOpen = true;
  return {
    ask,
    close: async () => {
      if (failure === undefined) await ask({ kind: "close" });
      failure ??= storeStopped(file);
      await thread.end();
    },
  };
}

function storeStuck(): PlimsollError {
  const message = `${maxWaiting} writes wait for the disk: check that it is not stuck.`;
  return new PlimsollError("STORE_FAILED", message);
}

/** SQLite gives its journal files the permissions of the database: only the user may read them. */
function createPrivately(file: string): void {
  if (file !== ":memory:" && !existsSync(file)) closeSync(openSync(file, "a", 0o600));
}

function storeNotStarted(file: string, cause: unknown): PlimsollError {
  return new PlimsollError(
    "STORE_FAILED",
    `The thread for ${file} could not start: ${errorMessage(cause)}. Look at the options that node was started with.`,
    { cause },
  );
}

function storeStopped(file: string, cause?: unknown): PlimsollError {
  return new PlimsollError("STORE_FAILED", `The store ${file} is closed: start Plimsoll again.`, {
    cause,
  });
}

function storeError(error: WorkerError, file: string): PlimsollError {
  // Of SQLITE_READONLY_DIRECTORY and its like, what kind they are.
  const kind = /^SQLITE_[A-Z]+|.*/.exec(error.code)?.[0];
  switch (kind) {
    case "STORE_NEWER":
    case "STORE_FAILED":
    case "STORE_CORRUPT":
      return new PlimsollError(kind, error.message, { fields: error.fields ?? {} });
    case "SQLITE_NOTADB":
    case "SQLITE_CORRUPT":
      return new PlimsollError(
        "STORE_CORRUPT",
        `${file} is not a readable database (${error.message}): move it away or restore a backup, or choose another folder with --data.`,
      );
    case "SQLITE_CANTOPEN":
      return new PlimsollError(
        "STORE_FAILED",
        `${file} cannot be opened: check that the folder exists and is yours, or choose another with --data.`,
      );
    case "SQLITE_FULL":
      return new PlimsollError("STORE_FAILED", `The disk of ${file} is full: free some space.`);
    case "SQLITE_BUSY":
      return new PlimsollError(
        "STORE_FAILED",
        `${file} is locked by another process: close what has it open.`,
      );
    case "SQLITE_READONLY":
      return new PlimsollError(
        "STORE_FAILED",
        `${file} cannot be written to: check that neither it nor its disk is read-only.`,
      );
    default:
      if (error.code.startsWith("SQLITE_CONSTRAINT")) {
        return new PlimsollError(
          "STORE_CONFLICT",
          `Another process has written to ${file}: ${error.message}.`,
        );
      }
      return new PlimsollError(
        "STORE_FAILED",
        `The store failed: ${error.message} (${error.code}).`,
      );
  }
}
