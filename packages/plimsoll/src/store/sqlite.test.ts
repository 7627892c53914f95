/** What happens if the file of a running store is deleted, replaced, made read-only or locked. */

import { execFile } from "node:child_process";
import {
  closeSync,
  copyFileSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import Database from "better-sqlite3";
import { afterAll, afterEach, beforeEach, expect, test } from "vitest";
import { openSqliteStore } from "./sqlite.ts";
import type { Store, Write } from "./store.ts";

const folder = mkdtempSync(join(tmpdir(), "plimsoll-sqlite-"));
afterAll(() => rmSync(folder, { recursive: true }));
let fileNumber = 0;
let file: string;
let store: Store;

beforeEach(async () => {
  file = join(folder, `store-${++fileNumber}.db`);
  store = await openSqliteStore({ file });
  await commit("ses_0");
});
afterEach(() => store.close());

function commit(id: string): Promise<unknown> {
  const record = { id, tenant: "t", wire: "anthropic", createdAt: 1, updatedAt: 1 };
  const write: Write = { kind: "session", session: record };
  return store.commit([write]);
}

const idsIn = async (opened: Store): Promise<readonly string[]> =>
  (await opened.sessions({ limit: 100 })).map(({ id }) => id).sort();

const movedAway = {
  code: "STORE_FAILED",
  message: expect.stringMatching(
    /was deleted or replaced while Plimsoll was running. Put it back, or/,
  ),
};

test.each([
  ["database", () => file],
  ["write-ahead log", () => `${file}-wal`],
])("a %s that is deleted fails each commit, until it is put back", async (_, place) => {
  renameSync(place(), `${place()}.away`);
  await expect(commit("ses_1")).rejects.toMatchObject(movedAway);
  await expect(commit("ses_1")).rejects.toMatchObject(movedAway);
  expect(await idsIn(store)).toEqual(["ses_0"]);
  renameSync(`${place()}.away`, place());
  await commit("ses_2");
  expect(await idsIn(store)).toEqual(["ses_0", "ses_2"]);
});

test("another file in its place fails each commit, and nothing is written to either", async () => {
  copyFileSync(file, `${file}.copy`);
  renameSync(`${file}.copy`, file);
  await expect(commit("ses_1")).rejects.toMatchObject(movedAway);
  expect(await idsIn(store)).toEqual(["ses_0"]);
});

test("a database that may only be read says so, and is read", async () => {
  await store.close();
  // The format version for writers. It is too new, so SQLite opens the file read-only.
  const descriptor = openSync(file, "r+");
  writeSync(descriptor, Buffer.from([3]), 0, 1, 18);
  closeSync(descriptor);
  store = await openSqliteStore({ file });
  await expect(commit("ses_1")).rejects.toMatchObject({
    code: "STORE_FAILED",
    message: expect.stringMatching(/cannot be written to. Check .* read-only/),
  });
  expect(await idsIn(store)).toEqual(["ses_0"]);
});

test("a locked database is said to be locked, to all that wait, and takes commits when it is free again", async () => {
  const other = new Database(file);
  other.exec("BEGIN IMMEDIATE");
  const answers = await Promise.allSettled(["ses_1", "ses_2", "ses_3"].map(commit));
  const locked = {
    status: "rejected",
    reason: { code: "STORE_FAILED", message: expect.stringContaining("is locked by another") },
  };
  expect(answers).toMatchObject([locked, locked, locked]);
  other.exec("COMMIT");
  other.close();
  await commit("ses_4");
  expect(await idsIn(store)).toEqual(["ses_0", "ses_4"]);
});

test("a thread that cannot start says why", async () => {
  const module = fileURLToPath(new URL("./sqlite.ts", import.meta.url));
  const program = `
    const { openSqliteStore } = await import(${JSON.stringify(module)});
    await openSqliteStore({ file: ${JSON.stringify(`${file}.new`)} }).catch(({ message }) => console.log(message));`;
  // A worker thread inherits the options of its program, and this option does not work with files.
  const words = ["--input-type=module", "--eval", program];
  const said = await new Promise<string>((resolve) => {
    execFile(process.execPath, words, (_error, stdout) => resolve(stdout));
  });
  expect(said).toMatch(/The thread for .* could not start: --input-type can only be used/);
});

test("a memory that was spoilt is left out, and its session is read", async () => {
  const memory = (name: string): Write => ({
    kind: "memory",
    session: "ses_0",
    name,
    memory: { turns: 1 },
  });
  await store.commit([memory("main"), memory("side")]);
  const database = new Database(file);
  database.prepare("UPDATE memories SET memory = ? WHERE name = 'main'").run('{"turns":9}');
  database.close();
  const snapshot = await store.snapshot("ses_0");
  expect(snapshot?.session.id).toBe("ses_0");
  expect(snapshot?.memories).toEqual(new Map([["side", { turns: 1 }]]));
});
