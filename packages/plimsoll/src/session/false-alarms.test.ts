/** What looks like damage and is none: a healthy session is never put aside, and a healthy database never replaced. */

import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, expect, test } from "vitest";
import { type Engine, openEngine } from "../engine.ts";
import type { JsonObject } from "../message/json.ts";
import { wires } from "../wire/wires.ts";
import type { ReceivedTurn } from "./turn/turn.ts";

const folders: string[] = [];
const opened: Engine[] = [];

afterEach(async () => {
  for (const plimsoll of opened.splice(0)) await plimsoll.close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "plimsoll-alarm-"));
  folders.push(path);
  return path;
}

async function open(data: string, said: string[]): Promise<Engine> {
  const plimsoll = await openEngine({ data });
  opened.push(plimsoll);
  plimsoll.on("store-spoilt", ({ message }) => said.push(message));
  return plimsoll;
}

function receive(
  plimsoll: Engine,
  messages: readonly JsonObject[],
  clientKey?: string,
): Promise<ReceivedTurn> {
  return plimsoll.receive({
    tenant: "t",
    provider: "anthropic",
    wire: wires.anthropic,
    body: new TextEncoder().encode(JSON.stringify({ model: "m", max_tokens: 9, messages })),
    hints: { isCompacted: false, ...(clientKey === undefined ? {} : { clientKey }) },
  });
}

const answerOf = (text: string) =>
  ({
    status: "complete",
    answer: { outcome: "message", choices: [[{ role: "assistant", content: text }]] },
  }) as const;

test("two processes that take turns of one session at the same moment overtake each other, and nothing more", async () => {
  const data = folder();
  const said: string[] = [];
  const [one, other] = [await open(data, said), await open(data, said)];
  const messages: JsonObject[] = [];
  let session = "";
  for (let number = 0; number < 6; number++) {
    messages.push({ role: "user", content: `question ${number}` });
    const turns = [
      await receive(one, [...messages, { role: "user", content: "of one" }], "client:s"),
      await receive(other, [...messages, { role: "user", content: "of the other" }], "client:s"),
    ];
    for (const [index, turn] of turns.entries()) await turn.end(answerOf(`by ${index}`));
    session ||= turns[0]?.session ?? "";
    messages.push({ role: "assistant", content: `answer ${number}` });
  }
  await one.health.check();
  expect(said).toEqual([]);
  expect(await one.store.session(session)).toMatchObject({ id: session });
  expect(readdirSync(data).filter((name) => /aside|spoilt/.test(name))).toEqual([]);
});

test.each([
  ["ANALYZE"],
  ["CREATE TABLE _replication (id INTEGER PRIMARY KEY, seq INTEGER)"],
  ["CREATE INDEX of_mine ON turns (session)"],
  ["CREATE VIEW mine AS SELECT id FROM sessions"],
])("what others add to the database is theirs: %s", async (sql) => {
  const data = folder();
  const said: string[] = [];
  const first = await open(data, said);
  await (await receive(first, [{ role: "user", content: "hi" }])).end(answerOf("Hello!"));
  await first.close();
  opened.splice(0);
  const database = new Database(join(data, "plimsoll.db"));
  database.exec(sql);
  database.close();
  const second = await open(data, said);
  await second.health.check();
  expect(said).toEqual([]);
  expect((await second.store.figures()).sessions).toBe(1);
});

test("a session goes without an event, a turn's record or a number of an edit when a database is made anew", async () => {
  const data = folder();
  const said: string[] = [];
  const first = await open(data, said);
  const turn = await receive(first, [{ role: "user", content: "hi" }]);
  await turn.end(answerOf("Hello!"));
  for (const label of ["one", "two", "three"])
    await first.steering.checkpoint(turn.session, { label });
  await first.close();
  opened.splice(0);
  const database = new Database(join(data, "plimsoll.db"));
  database.exec("UPDATE events SET at = at + 1; UPDATE turns SET id = id || 'x'");
  database.exec("DELETE FROM edits WHERE seq = 2");
  database.close();
  const second = await open(data, said);
  const { kept, lost } = await second.store.rebuild();
  expect([kept, lost]).toEqual([1, []]);
  expect((await second.store.edits(turn.session)).map(({ seq }) => seq)).toEqual([1, 3]);
});

test("a library session that is spoilt is put aside when it is asked for, and not there then", async () => {
  const data = folder();
  const said: string[] = [];
  const first = await open(data, said);
  const session = await first.session();
  await session.append({ role: "user", content: "hi" });
  await session.prepare({ target: "anthropic/claude-sonnet-4-6" });
  await first.close();
  opened.splice(0);
  const database = new Database(join(data, "plimsoll.db"));
  database.exec("UPDATE branches SET created_at = 1");
  database.close();
  const second = await open(data, said);
  await expect(second.session(session.id)).rejects.toMatchObject({ code: "SESSION_UNKNOWN" });
  expect(said).toEqual([expect.stringContaining("was put aside in")]);
});
