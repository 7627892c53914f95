import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, expect, test, vi } from "vitest";
import { migrateSqlite } from "./migrate-sqlite.ts";

const folder = mkdtempSync(join(tmpdir(), "plimsoll-migrate-"));
afterAll(() => rmSync(folder, { recursive: true }));
const first = { version: 1, statements: ["CREATE TABLE notes (text TEXT)"] };
const second = {
  version: 2,
  statements: ["ALTER TABLE notes ADD COLUMN author TEXT", "UPDATE notes SET author = 'me'"],
};
const broken = {
  version: 3,
  statements: ["CREATE TABLE more (x)", "INSERT INTO nowhere VALUES (1)"],
};
const versionOf = (database: Database.Database): unknown =>
  database.pragma("user_version", { simple: true });

test("an older database is brought up to date, and a backup keeps it as it was", () => {
  const file = join(folder, "old.db");
  const database = new Database(file);
  migrateSqlite(database, file, [first]);
  expect(existsSync(`${file}.v1.bak`)).toBe(false);
  database.exec("INSERT INTO notes VALUES ('kept')");
  migrateSqlite(database, file, [first, second]);
  expect(database.prepare("SELECT * FROM notes").all()).toEqual([{ text: "kept", author: "me" }]);
  const backup = new Database(`${file}.v1.bak`, { readonly: true });
  expect([versionOf(backup), backup.prepare("SELECT * FROM notes").all()]).toEqual([
    1,
    [{ text: "kept" }],
  ]);
  migrateSqlite(database, file, [first, second]);
  expect(versionOf(database)).toBe(2);
});

test("a step that fails leaves the version that was there, whole", () => {
  const file = join(folder, "broken.db");
  const database = new Database(file);
  migrateSqlite(database, file, [first, second]);
  expect(() => migrateSqlite(database, file, [first, second, broken])).toThrowError(/nowhere/);
  expect(versionOf(database)).toBe(2);
  expect(database.prepare("SELECT name FROM sqlite_master WHERE name = 'more'").all()).toEqual([]);
});

test("a newer database is left alone", () => {
  const file = join(folder, "newer.db");
  const database = new Database(file);
  migrateSqlite(database, file, [first, second]);
  expect(() => migrateSqlite(database, file, [first])).toThrowError(/Update Plimsoll/);
  expect(versionOf(database)).toBe(2);
});

test("a step that another process takes in between is not taken twice", () => {
  const file = join(folder, "raced.db");
  const database = new Database(file);
  const other = new Database(file);
  const read = database.pragma.bind(database);
  // The other connection makes all migrations right after this one has read that they are needed.
  vi.spyOn(database, "pragma").mockImplementationOnce((...question) => {
    const version = read(...question);
    migrateSqlite(other, file, [first, second]);
    return version;
  });
  migrateSqlite(database, file, [first, second]);
  expect(versionOf(database)).toBe(2);
  expect(database.prepare("SELECT * FROM notes").all()).toEqual([]);
});

test("another process sees the old version or the newest one, never one in between", () => {
  const file = join(folder, "between.db");
  const database = new Database(file);
  migrateSqlite(database, file, [first]);
  database.pragma("journal_mode = WAL");
  const other = new Database(file);
  const seen: unknown[] = [];
  const third = {
    version: 3,
    statements: [],
    run: (): void => void seen.push(versionOf(other)),
  };
  migrateSqlite(database, file, [first, second, third]);
  expect([...seen, versionOf(other)]).toEqual([1, 3]);
});

test("a step may do in code what SQL cannot, and a failure of that leaves nothing of the step", () => {
  const file = join(folder, "code.db");
  const database = new Database(file);
  migrateSqlite(database, file, [first]);
  database.exec("INSERT INTO notes VALUES ('abc')");
  const reversing = {
    ...second,
    run: (opened: Database.Database): void => {
      for (const { text } of opened.prepare<[], { text: string }>("SELECT text FROM notes").all())
        opened
          .prepare("UPDATE notes SET text = ? WHERE text = ?")
          .run([...text].reverse().join(""), text);
    },
  };
  const failing = {
    ...second,
    run: (): never => {
      throw new Error("no way");
    },
  };
  expect(() => migrateSqlite(database, file, [first, failing])).toThrowError("no way");
  expect([versionOf(database), database.prepare("SELECT * FROM notes").all()]).toEqual([
    1,
    [{ text: "abc" }],
  ]);
  migrateSqlite(database, file, [first, reversing]);
  expect(database.prepare("SELECT * FROM notes").all()).toEqual([{ text: "cba", author: "me" }]);
});

test("half a backup that an older program left is replaced by a whole one, which is private", () => {
  const file = join(folder, "torn.db");
  const database = new Database(file);
  migrateSqlite(database, file, [first]);
  const insert = database.prepare("INSERT INTO notes VALUES (?)");
  for (let row = 0; row < 200; row++) insert.run(`${row} `.repeat(100));
  database.prepare("VACUUM INTO ?").run(`${file}.v1.bak`);
  truncateSync(`${file}.v1.bak`, 3 * 4096 + 100);
  migrateSqlite(database, file, [first, second]);
  const backup = new Database(`${file}.v1.bak`, { readonly: true });
  expect(backup.pragma("quick_check", { simple: true })).toBe("ok");
  expect(backup.prepare("SELECT count(*) AS rows FROM notes").all()).toEqual([{ rows: 200 }]);
  expect(statSync(`${file}.v1.bak`).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder).filter((name) => name.endsWith(".tmp"))).toEqual([]);
});
