/** The thread that owns the SQLite connection: opens and migrates the database, and answers questions in order. */

import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import Database from "better-sqlite3";
import { BoundedMap } from "../bounds/bounded-map.ts";
import { PlimsollError } from "../message/error.ts";
import { type Answered, type Asked, greetingId } from "../workers/thread.ts";
import { forgetSessions, liveBytes } from "./forget/sqlite-forget.ts";
import { keptPlace } from "./kept-place.ts";
import { migrateSqlite, schemaVersionOf } from "./migrate-sqlite.ts";
import { migrations, schemaVersion } from "./migrations.ts";
import type { SqlRow } from "./seal.ts";
import { type SqlStatement, sealedRows } from "./sql-rows.ts";
import { keptErrors, keptEvents } from "./sql-store.ts";
import type { Question, SqliteAnswer, SqliteOptions, WorkerError } from "./sqlite-questions.ts";
import { checkDatabase, checkSchema, putSessionAside, rebuildDatabase } from "./sqlite-repair.ts";
import { isBusy, whileBusy } from "./while-busy.ts";

type Reply = Answered<SqliteAnswer>;
type Transaction = Asked<Extract<Question, { kind: "transact" }>>;

/**
 * Maximum number of prepared statements to keep. Few are needed, but statements with lists of placeholders exist in many lengths.
 */
const maxPrepared = 500;
const eventsBetweenTrims = 1000;
/** How long opening waits for a process that has locked the database. */
const openWaitMs = 5000;
/**
 * How long a commit waits for another writer. While the database stays locked, later commits do not wait as long: each is tried
 * only briefly, and its caller tries again later.
 */
const busyWaitMs = 2000;
const lockedWaitMs = 50;
const port = parentPort;
if (port === null) throw new Error("sqlite-worker.ts runs only as a worker thread.");
/** Replies that are waiting. They are sent together, as soon as all questions that have arrived are answered. */
let replies: Reply[] = [];
const sendReplies = (): void => {
  port.postMessage(replies);
  replies = [];
};

function open(options: SqliteOptions): Database.Database {
  const isReadOnly = options.isReadOnly === true;
  const opened = new Database(options.file, { readonly: isReadOnly, timeout: openWaitMs });
  const version = schemaVersionOf(opened, options.file, migrations);
  if (isReadOnly) return ofThisVersion(opened, options.file, version);
  whileBusy(() => opened.pragma("journal_mode = WAL"), openWaitMs);
  opened.pragma(`synchronous = ${options.durability === "normal" ? "NORMAL" : "FULL"}`);
  migrateSqlite(opened, options.file, migrations);
  checkSchema(opened);
  return opened;
}

/** Throws if the schema is older than this program's, because a thread that only reads may not migrate the database. */
function ofThisVersion(
  opened: Database.Database,
  file: string,
  version: number,
): Database.Database {
  if (version === schemaVersion) return opened;
  throw new PlimsollError(
    "STORE_FAILED",
    `${file} was written by an earlier Plimsoll (schema ${version}; this one reads schema ${schemaVersion}). Start \`plimsoll serve\` once to update it.`,
  );
}

let database = openOrReport();
let checkPlace = keptPlace((workerData as SqliteOptions).file);
let isLocked = false;
waitForLock(busyWaitMs);
const prepared = new BoundedMap<string, Database.Statement>({ entries: maxPrepared });
let eventsSinceTrim = 0;

function openOrReport(): Database.Database {
  try {
    const opened = open(workerData as SqliteOptions);
    replies.push({ id: greetingId, answer: { rows: [] } });
    sendReplies();
    return opened;
  } catch (error) {
    replies.push({ id: greetingId, answer: { error: describe(error) } });
    sendReplies();
    process.exit(1);
  }
}

function describe(error: unknown): WorkerError {
  const code = error instanceof Error && "code" in error ? String(error.code) : "UNKNOWN";
  const message = error instanceof Error ? error.message : String(error);
  return { code, message, ...(PlimsollError.is(error) ? { fields: error.fields } : {}) };
}

function run(statement: SqlStatement): readonly SqlRow[] {
  const compiled = prepare(statement.sql);
  if (compiled.reader) {
    const rows = compiled.all(...statement.values) as SqlRow[];
    return statement.sealed === undefined ? rows : sealedRows(rows, statement.sealed);
  }
  const { changes } = compiled.run(...statement.values);
  const { otherwise, values } = statement;
  return changes === 0 && otherwise !== undefined ? run({ sql: otherwise, values }) : [];
}

function prepare(sql: string): Database.Statement {
  return prepared.get(sql) ?? prepared.set(sql, database.prepare(sql));
}

/** Writes all waiting transactions in one durable transaction. If one of them fails, the others are still written. */
function commit(transactions: readonly Transaction[]): void {
  const done: Reply[] = [];
  const isShared = transactions.length > 1;
  try {
    checkPlace();
    run({ sql: "BEGIN IMMEDIATE", values: [] });
    for (const transaction of transactions) {
      done.push(isShared ? runGuarded(transaction) : runAll(transaction));
    }
    trimEvents(transactions);
    run({ sql: "COMMIT", values: [] });
    replies.push(...done);
    noteLock(false);
  } catch (error) {
    if (database.inTransaction) database.exec("ROLLBACK");
    noteLock(isBusy(error));
    for (const { id } of transactions) replies.push({ id, answer: { error: describe(error) } });
  }
}

function noteLock(isLockedNow: boolean): void {
  if (isLocked !== isLockedNow) waitForLock(isLockedNow ? lockedWaitMs : busyWaitMs);
  isLocked = isLockedNow;
}

function waitForLock(mostMs: number): void {
  database.pragma(`busy_timeout = ${mostMs}`);
}

function runAll({ id, question }: Transaction): Reply {
  return { id, answer: { rows: question.statements.map(run) } };
}

function runGuarded(transaction: Transaction): Reply {
  run({ sql: "SAVEPOINT one", values: [] });
  try {
    const done = runAll(transaction);
    run({ sql: "RELEASE one", values: [] });
    return done;
  } catch (error) {
    // A full disk may have ended the whole transaction. In that case nothing can be rolled back.
    if (!database.inTransaction) throw error;
    database.exec("ROLLBACK TO one");
    database.exec("RELEASE one");
    return { id: transaction.id, answer: { error: describe(error) } };
  }
}

function trimEvents(transactions: readonly Transaction[]): void {
  eventsSinceTrim += transactions.length;
  if (eventsSinceTrim < eventsBetweenTrims) return;
  eventsSinceTrim = 0;
  run({
    sql: "DELETE FROM events WHERE seq <= (SELECT max(seq) FROM events) - ?",
    values: [keptEvents],
  });
  run({
    sql: "DELETE FROM errors WHERE number <= (SELECT max(number) FROM errors) - ?",
    values: [keptErrors],
  });
}

type Other = Exclude<Question, { kind: "transact" }>;

function answerTo(question: Other): SqliteAnswer {
  try {
    return { rows: [rowsFor(question)] };
  } catch (error) {
    return { error: describe(error) };
  }
}

function rowsFor(request: Other): readonly SqlRow[] {
  const options = workerData as SqliteOptions;
  switch (request.kind) {
    case "query":
      return run(request.statement);
    case "aside":
      return [{ file: putSessionAside(database, options.file, request.session) }];
    case "check":
      return checkDatabase(database).map((problem) => ({ problem }));
    case "rebuild": {
      prepared.clear();
      try {
        const { aside, kept, lost } = rebuildDatabase(database, options.file);
        return [{ aside, kept, lost: JSON.stringify(lost) }];
      } finally {
        if (!database.open) database = open(options);
        checkPlace = keptPlace(options.file);
      }
    }
    case "forget":
      checkPlace();
      return [{ forgotten: JSON.stringify(forgetSessions(database, options.file, request.order)) }];
    case "size":
      return [{ bytes: liveBytes(database) }];
    case "close":
      database.close();
      return [];
  }
}

/** Answers all questions that have arrived, in order. Adjacent transactions are committed together. */
port.on("message", (first: readonly Asked<Question>[]) => {
  const requests = [...first];
  for (
    let more = receiveMessageOnPort(port);
    more !== undefined;
    more = receiveMessageOnPort(port)
  ) {
    requests.push(...(more.message as readonly Asked<Question>[]));
  }
  let together: Transaction[] = [];
  const flush = (): void => {
    if (together.length > 0) commit(together);
    together = [];
  };
  for (const { id, question } of requests) {
    if (question.kind === "transact") together.push({ id, question });
    else {
      flush();
      replies.push({ id, answer: answerTo(question) });
    }
  }
  flush();
  sendReplies();
  // The thread ends by itself once its port is closed.
  if (requests.some(({ question }) => question.kind === "close")) port.close();
});
