import { existsSync } from "node:fs";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { migrateSqlite } from "./migrate-sqlite.ts";
import { migrations } from "./migrations.ts";
import { isSealed, type SealedTable, type SqlRow, sealedColumns } from "./seal.ts";

/** A store of schema 2 whose one branch mixes two people. The first person's question is not on the path to its end. */
function oldStore(): Database.Database {
  const database = new Database(":memory:");
  migrateSqlite(
    database,
    ":memory:",
    migrations.filter(({ version }) => version <= 2),
  );
  database.exec("INSERT INTO sessions VALUES ('s', 't', 'anthropic', NULL, NULL, 1, 1)");
  database.exec("INSERT INTO branches VALUES (1, 's', 'main', NULL, 'new', NULL, 4, NULL, 1)");
  const turn = database.prepare("INSERT INTO turns (session, id, record) VALUES ('s', ?, ?)");
  for (const id of ["t1", "t2"]) turn.run(id, Buffer.from(JSON.stringify({ id, branch: "main" })));
  turn.run("t3", Buffer.from("no record"));
  const message = database.prepare(
    `INSERT INTO messages VALUES ('s', ?, ?, 't', ?, ?, ?, ?, ?, NULL, ?, 1, 1, 'exact', 1, 1, 'raw', x'00')`,
  );
  const rows = [
    [1, null, "user", "request", "t1"],
    [2, 1, "user", "request", "t1"],
    [3, 1, "user", "request", "t2"],
    [4, 3, "assistant", "answer", "t2"],
    [5, 4, "assistant", "inner", "t3"],
  ] as const;
  for (const [seq, parent, role, source, id] of rows)
    message.run(seq, parent, role, source, id, `identity ${seq}`, `chain ${seq}`, `hash ${seq}`);
  database.exec("INSERT INTO edits VALUES ('s', 1, 'main', 1, '{}')");
  return database;
}

test("a store in memory leaves no backup in the working folder", () => {
  migrateSqlite(oldStore(), ":memory:", migrations.slice(2));
  expect(existsSync(":memory:.v2.bak")).toBe(false);
});

test("every row of an older store gets its seal", () => {
  const database = oldStore();
  migrateSqlite(database, ":memory:", migrations.slice(2));
  for (const table of Object.keys(sealedColumns) as SealedTable[])
    for (const row of database.prepare(`SELECT * FROM ${table}`).all() as SqlRow[])
      expect([table, isSealed(table, row)]).toEqual([table, true]);
});

test("only what a branch ends with is surely its own", () => {
  const database = oldStore();
  migrateSqlite(database, ":memory:", migrations.slice(2));
  const branches = database.prepare("SELECT branch FROM messages ORDER BY seq").pluck().all();
  expect(branches).toEqual(["main", null, "main", "main", null]);
});

test("messages can be found by what was said up to them; lookups of a model cannot", () => {
  const database = oldStore();
  migrateSqlite(database, ":memory:", migrations.slice(2));
  const talks = database.prepare("SELECT talk FROM messages ORDER BY seq").pluck().all();
  expect(new Set(talks).size).toBe(5);
  expect(talks.map((talk) => talk !== null)).toEqual([true, true, true, true, false]);
});
