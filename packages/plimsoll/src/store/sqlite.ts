/**
 * SQLite in worker threads. Commits wait for the disk there, and never on the event loop that streams answers. Commits that wait
 * at the same time share one transaction.
 */

import { closeSync, existsSync, openSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { errorMessage, PlimsollError } from "../message/error.ts";
import { Thread } from "../workers/thread.ts";
import type { Forgotten } from "./forget/forgetting.ts";
import { createSqlStore, type SqlDriver } from "./sql-store.ts";
import type {
  Question,
  Rows,
  SqliteAnswer,
  SqliteOptions,
  WorkerError,
} from "./sqlite-questions.ts";
import type { Store } from "./store.ts";

/**
 * Maximum number of waiting questions. If more are waiting, the disk has stopped, and an error is better than filling the memory.
 */
const maxWaiting = 10_000;

/**
 * Two threads: one writes, one reads. With a write-ahead log, the reader never waits for the writer. So a slow disk does not hold
 * up a request that only looks up its session.
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
      // The old reader is still connected to the file that was put aside.
      const before = reader;
      reader = await openThread(readOnly);
      await before.close();
      return {
        aside: String(row?.["aside"]),
        kept: Number(row?.["kept"]),
        lost: JSON.parse(String(row?.["lost"])) as readonly string[],
      };
    },
    size: async () => {
      const [[row] = []] = await reader.ask({ kind: "size" });
      return Number(row?.["bytes"]);
    },
    forget: async (order) => {
      const [[row] = []] = await writer.ask({ kind: "forget", order });
      return JSON.parse(String(row?.["forgotten"])) as Forgotten;
    },
    close: async () => {
      await reader.close();
      await writer.close();
    },
  };
  return createSqlStore(driver);
}

/** Runs the check in a separate thread, because it reads the whole file and nothing else should have to wait for it. */
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
    // It is unknown how much of its work the thread has done, so no other thread continues that work.
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
  const message = `${maxWaiting} writes are waiting for the disk. Check that it still responds.`;
  return new PlimsollError("STORE_FAILED", message);
}

/** Only the user may read the file. SQLite gives its journal files the same permissions. */
function createPrivately(file: string): void {
  if (file !== ":memory:" && !existsSync(file)) closeSync(openSync(file, "a", 0o600));
}

function storeNotStarted(file: string, cause: unknown): PlimsollError {
  return new PlimsollError(
    "STORE_FAILED",
    `The thread for ${file} could not start: ${errorMessage(cause)}. Check the options that Node was started with.`,
    { cause },
  );
}

function storeStopped(file: string, cause?: unknown): PlimsollError {
  return new PlimsollError("STORE_FAILED", `The store ${file} is closed. Restart Plimsoll.`, {
    cause,
  });
}

function storeError(error: WorkerError, file: string): PlimsollError {
  // The primary code of an extended SQLite error code: SQLITE_READONLY for SQLITE_READONLY_DIRECTORY.
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
        `${file} is not a readable database (${error.message}). Move it away, restore a backup, or choose another folder with --data.`,
      );
    case "SQLITE_CANTOPEN":
      return new PlimsollError(
        "STORE_FAILED",
        `${file} cannot be opened. Check that its folder exists and belongs to you, or choose another folder with --data.`,
      );
    case "SQLITE_FULL":
      return new PlimsollError("STORE_FAILED", `The disk of ${file} is full. Free some space.`);
    case "SQLITE_BUSY":
      return new PlimsollError(
        "STORE_FAILED",
        `${file} is locked by another process. Close the program that has it open.`,
      );
    case "SQLITE_READONLY":
      return new PlimsollError(
        "STORE_FAILED",
        `${file} cannot be written to. Check that neither it nor its disk is read-only.`,
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
