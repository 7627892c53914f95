/** The bytes of a deleted session: in the database and its journal, in all files beside it, and after a failure halfway. */

import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { packBody, sha256 } from "./body.ts";
import type { Forgotten } from "./forget/forgetting.ts";
import { forgetSessions } from "./forget/sqlite-forget.ts";
import { schemaVersion } from "./migrations.ts";
import { openSqliteStore } from "./sqlite.ts";
import type { Store, Write } from "./store.ts";

const one = "ses_AAAAAAAAAAAAAAAAAAAAAA";
const other = "ses_BBBBBBBBBBBBBBBBBBBBBB";
const third = "ses_CCCCCCCCCCCCCCCCCCCCCC";

let folder: string;
let file: string;
let store: Store;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "plimsoll-bytes-"));
  file = join(folder, "plimsoll.db");
  store = await openSqliteStore({ file });
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

const wordOf = (id: string, number: number): string => `word-${number}-of-${id.at(-1)}`;
const textOf = (id: string, number: number): string => `${wordOf(id, number)}. `.repeat(20);

async function write(id: string, from = 1, count = 40): Promise<void> {
  const record = { id, tenant: "t", wire: "anthropic", createdAt: 1, updatedAt: 1 };
  const numbers = Array.from({ length: count }, (_, index) => from + index);
  const messages = numbers.map(async (seq): Promise<Write> => {
    const text = textOf(id, seq);
    return {
      kind: "message",
      session: id,
      tenant: "t",
      node: {
        seq,
        parent: seq === 1 ? null : seq - 1,
        role: "user",
        source: "request",
        turn: "turn_1",
        identity: text,
        chain: `${id} ${seq}`,
        hash: sha256(text),
        bytes: text.length,
        tokens: 1,
        certainty: "exact",
        isComplete: true,
        at: 1,
      },
      body: await packBody(new TextEncoder().encode(text)),
    };
  });
  const branch = { id: "main", relation: "new", forkSeq: null, tipSeq: 1, createdAt: 1 } as const;
  await store.commit([
    { kind: "session", session: record },
    { kind: "branch", session: id, branch },
    ...(await Promise.all(messages)),
  ]);
}

/** The names of the files that contain a word of this session. */
function filesWith(id: string): readonly string[] {
  const words = Array.from({ length: 40 }, (_, index) => wordOf(id, index + 1));
  return readdirSync(folder).filter((name) => {
    const text = readFileSync(join(folder, name), "latin1");
    return words.some((word) => text.includes(`${word}.`));
  });
}

const forget = (...sessions: readonly string[]): Promise<Forgotten> =>
  store.forget({ sessions, at: 1 });

test("its words are in the database and the journal before, and in no file afterwards", async () => {
  // Turns of both sessions alternate, so that they share pages.
  for (let from = 1; from < 40; from += 3) {
    await write(one, from, 3);
    await write(other, from, 3);
  }
  expect(filesWith(one)).toContain("plimsoll.db-wal");
  const size = statSync(file).size + statSync(`${file}-wal`).size;
  expect(await forget(one)).toMatchObject({
    gone: [{ session: one, messages: 39 }],
    unfinished: [],
  });
  expect(filesWith(one)).toEqual([]);
  expect(statSync(`${file}-wal`).size).toBeLessThan(10_000);
  expect(statSync(file).size).toBeLessThan(size);
  expect(filesWith(other)).toEqual(["plimsoll.db"]);
  const [body] = (await store.bodies(other, [7])).values();
  expect(new TextDecoder().decode(body)).toBe(textOf(other, 7));
});

test("words that were overwritten or deleted earlier go too, although no row has them", async () => {
  await write(one);
  await write(other);
  const database = new Database(file);
  database.prepare("DELETE FROM messages WHERE session = ? AND seq > 20").run(one);
  database.pragma("wal_checkpoint(TRUNCATE)");
  database.close();
  expect(filesWith(one)).toContain("plimsoll.db");
  await forget(one);
  expect(filesWith(one)).toEqual([]);
});

test("a session that was put aside goes from that file, and others that were put aside stay in it", async () => {
  for (const id of [one, other, third]) await write(id);
  const aside = await store.putAside(one);
  await store.putAside(other);
  expect(await forget(one)).toMatchObject({ gone: [], goneAside: [one], unfinished: [] });
  expect(filesWith(one)).toEqual([]);
  expect(filesWith(other)).toEqual([`plimsoll.db.aside-v${schemaVersion}`]);
  expect(await forget(other)).toMatchObject({ goneAside: [other] });
  expect(existsSync(aside)).toBe(false);
  expect((await store.session(third))?.id).toBe(third);
});

test.each([
  ["backup", "plimsoll.db.v3.bak"],
  ["database that was put aside", "plimsoll.db.spoilt-2026-01-01"],
  ["backup that was being written", "plimsoll.db.v4.bak.99-0123456789ab.tmp"],
])("a %s that contains the session is deleted, and one without it stays", async (_, name) => {
  await write(other);
  await store.close();
  writeFileSync(join(folder, "plimsoll.db.v2.bak"), readFileSync(file));
  store = await openSqliteStore({ file });
  await write(one);
  // The id may be anywhere in a damaged file, also where two blocks of the file meet.
  const filler = "x".repeat(1024 * 1024 - 10);
  writeFileSync(join(folder, name), `${filler}${one}${wordOf(one, 1)}.`);
  expect(filesWith(one)).toContain(name);
  await forget(one);
  expect(filesWith(one)).toEqual([]);
  expect(readdirSync(folder)).toContain("plimsoll.db.v2.bak");
});

test("everything: no backup and nothing that was put aside stays", async () => {
  await write(one);
  for (const name of ["plimsoll.db.v2.bak", "plimsoll.db.spoilt-2026-01-01-wal"])
    writeFileSync(join(folder, name), "pages that nobody can read");
  await store.forget({ sessions: [one], at: 1, isEverything: true });
  const left = readdirSync(folder).filter((name) => name.startsWith("plimsoll.db."));
  expect(left).toEqual([]);
});

test("lines of the log about the session are blanked, and the others stay in their places", async () => {
  await write(one);
  const lines = [
    "plimsoll ready on http://127.0.0.1:1",
    `plimsoll: ${one}: the provider said ${wordOf(one, 1)}.`,
    `and on a second line ${wordOf(one, 2)}.`,
    `plimsoll: ${other}: ${wordOf(other, 1)}.`,
    "",
  ];
  const log = join(folder, "service.log");
  writeFileSync(log, lines.join("\n"));
  await forget(one);
  expect(filesWith(one)).toEqual([]);
  const kept = readFileSync(log, "utf8").split("\n");
  expect(kept.map((line) => line.length)).toEqual(lines.map((line) => line.length));
  expect(kept.filter((line) => line.trim() !== "")).toEqual([lines[0], lines[3]]);
});

test("a reader that holds old pages is named, and the same deletion is finished later", async () => {
  await write(one);
  const reader = new Database(file, { readonly: true });
  reader.exec("BEGIN");
  reader.prepare("SELECT count(*) FROM messages").get();
  const first = await forget(one);
  expect(first.gone).toMatchObject([{ session: one }]);
  expect(first.unfinished).toEqual([
    expect.stringMatching(/another program is reading .*again\.$/),
  ]);
  reader.exec("COMMIT");
  reader.close();
  expect(await forget()).toEqual({ gone: [], goneAside: [], resumed: [], unfinished: [] });
  expect(filesWith(one)).toEqual([]);
});

test("a database that is too large to be written anew at once loses its rows, and says so", async () => {
  await write(one);
  await write(other);
  const bounded = await store.forget({ sessions: [one], at: 1, mostBytes: 1000 });
  expect(bounded.unfinished).toEqual([expect.stringMatching(/too large .*`plimsoll stop`/)]);
  expect(await store.session(one)).toBeUndefined();
  expect(await forget(one)).toEqual({ gone: [], goneAside: [], resumed: [one], unfinished: [] });
  expect(filesWith(one)).toEqual([]);
});

/** A connection on which each statement that begins like this fails, as on a full disk. */
function failing(database: Database.Database, beginning: string): Database.Database {
  const full = (): never => {
    throw Object.assign(new Error("database or disk is full"), { code: "SQLITE_FULL" });
  };
  return new Proxy(database, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      return (...given: unknown[]): unknown =>
        (name === "prepare" || name === "exec") && String(given[0]).startsWith(beginning)
          ? full()
          : Reflect.apply(member, target, given);
    },
  });
}

test("on a full disk, a deletion that cannot be stored deletes nothing", async () => {
  await write(one);
  await write(other);
  const database = new Database(file);
  const doomed = failing(database, "DELETE FROM events");
  const order = { sessions: [one], at: 1 };
  expect(() => forgetSessions(doomed, file, order)).toThrow(/disk is full/);
  database.close();
  expect((await store.snapshot(one))?.nodes).toHaveLength(40);
  await write(one, 41, 1);
  expect((await store.snapshot(one))?.nodes).toHaveLength(41);
});

test("a database that may only be read says so, and keeps the session", async () => {
  await write(one);
  await store.close();
  // The format version for writers. It is too new, so SQLite opens the file read-only.
  const descriptor = openSync(file, "r+");
  writeSync(descriptor, Buffer.from([3]), 0, 1, 18);
  closeSync(descriptor);
  store = await openSqliteStore({ file });
  await expect(forget(one)).rejects.toMatchObject({
    code: "STORE_FAILED",
    message: expect.stringMatching(/cannot be written to\. Check .* read-only/),
  });
  expect((await store.snapshot(one))?.nodes).toHaveLength(40);
});

test("on a full disk, rows that are deleted but not written anew are said, and finished later", async () => {
  await write(one);
  await write(other);
  const database = new Database(file);
  const { gone, unfinished } = forgetSessions(failing(database, "VACUUM"), file, {
    sessions: [one],
    at: 1,
  });
  database.close();
  expect(gone).toHaveLength(1);
  expect(unfinished).toEqual([expect.stringMatching(/have room for a second copy/)]);
  expect((await forget(one)).resumed).toEqual([one]);
  expect(filesWith(one)).toEqual([]);
  expect((await store.snapshot(other))?.nodes).toHaveLength(40);
});

test("deleted sessions stay deleted in a database that is rebuilt", async () => {
  await write(one);
  await write(other);
  await forget(one);
  await store.rebuild();
  await expect(write(one)).rejects.toMatchObject({ code: "STORE_CONFLICT" });
  expect((await store.snapshot(other))?.nodes).toHaveLength(40);
});
