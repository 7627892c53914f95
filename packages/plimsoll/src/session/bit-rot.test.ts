/**
 * Bytes that flip on the disk: in every kind of row and anywhere in the file, while Plimsoll runs and over a restart. What
 * goes to the model is the client's own or what was committed; the conversation fits again within two turns; other
 * conversations are as they were.
 */

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, beforeAll, expect, test } from "vitest";
import { effort } from "../../test/harness/effort.ts";
import { type Engine, openEngine } from "../engine.ts";
import type { JsonObject } from "../message/json.ts";
import { schemaVersion } from "../store/migrations.ts";
import { packRecord, unpackRecord } from "../store/record.ts";
import { wires } from "../wire/wires.ts";

const windowTokens = 3000;
const config = {
  providers: {
    anthropic: {
      contextWindow: windowTokens,
      maxOutputTokens: 300,
      contextWindowBufferTokens: 100,
      tokenizer: "tiktoken:o200k_base",
    },
  },
};
/** What a flipped byte would show the model. */
const rot = "ROTTEN";

interface Talk {
  readonly name: string;
  readonly messages: JsonObject[];
  session: string;
}

const system = "You keep the ship's log. ".repeat(12);

/** One turn of a talk: a question, and the model's answer. Gives what was sent. */
async function speak(plimsoll: Engine, talk: Talk): Promise<{ sent: string; tokens: number }> {
  const number = talk.messages.length / 2;
  const text = `Entry ${number} of ${talk.name}: the port is ${4000 + number}, wind ${number} knots. `;
  talk.messages.push({ role: "user", content: text.repeat(6) });
  const body = { model: "claude-sonnet-4-6", max_tokens: 300, system, messages: talk.messages };
  const bytes = new TextEncoder().encode(JSON.stringify(body));
  const turn = await plimsoll.receive({
    tenant: talk.name,
    provider: "anthropic",
    wire: wires.anthropic,
    body: bytes,
    hints: { isCompacted: false },
  });
  const sent = new TextDecoder().decode(turn.body ?? bytes);
  talk.session = turn.session;
  const answer = { role: "assistant", content: `Noted entry ${number} of ${talk.name}.` };
  await turn.end({ status: "complete", answer: { outcome: "message", choices: [[answer]] } });
  talk.messages.push(answer);
  return { sent, tokens: turn.fitted.tokensAfter };
}

/** A store with two compacted conversations, and what their clients have. */
const origin = mkdtempSync(join(tmpdir(), "plimsoll-rot-"));
let talks: readonly Talk[] = [];

beforeAll(async () => {
  const plimsoll = await openEngine({ data: origin, config });
  talks = ["ada", "bob"].map((name) => ({ name, messages: [], session: "" }));
  for (const talk of talks) for (let turn = 0; turn < 24; turn++) await speak(plimsoll, talk);
  await plimsoll.close();
});

afterAll(() => rmSync(origin, { recursive: true, force: true }));

interface Stage {
  readonly data: string;
  readonly ada: Talk;
  readonly bob: Talk;
}

function stage(): Stage {
  const data = mkdtempSync(join(tmpdir(), "plimsoll-rot-"));
  cpSync(origin, data, { recursive: true });
  const copyOf = (name: string): Talk => {
    const talk = talks.find((known) => known.name === name);
    return { name, messages: [...(talk?.messages ?? [])], session: talk?.session ?? "" };
  };
  return { data, ada: copyOf("ada"), bob: copyOf("bob") };
}

/** Two more turns: nothing rotten is sent, and the second of them fits. */
async function goesOn(plimsoll: Engine, talk: Talk): Promise<string> {
  const before = talk.session;
  const first = await speak(plimsoll, talk);
  const second = await speak(plimsoll, talk);
  for (const { sent } of [first, second]) expect(sent).not.toContain(rot);
  expect(second.tokens).toBeLessThanOrEqual(windowTokens);
  // The newest words are there, whatever else is.
  expect(second.sent).toContain(`Entry ${talk.messages.length / 2 - 1} of ${talk.name}`);
  return talk.session === before ? "same" : "new";
}

/** Changes rows of one session behind Plimsoll's back; their seals and hashes stay. */
function change(data: string, sql: string, session: string): number {
  const database = new Database(join(data, "plimsoll.db"));
  database.function("rotten_record", (record) => rottenRecord(record as Buffer));
  const { changes } = database.prepare(sql).run(session);
  database.close();
  return changes;
}

/** A record that is as readable as before and says something else. */
function rottenRecord(record: Buffer): Buffer {
  const said = JSON.stringify(unpackRecord(record));
  const rotten = said.replaceAll(/"text":"[^"]{3}/g, `"text":"${rot}`).replaceAll("main", rot);
  return Buffer.from(packRecord(JSON.parse(rotten)));
}

const rows: readonly (readonly [kind: string, sql: string, becomes: "same" | "new"])[] = [
  ["a session", "UPDATE sessions SET created_at = created_at + 1 WHERE id = ?", "new"],
  ["a branch", "UPDATE branches SET tip_seq = tip_seq - 2 WHERE session = ?", "new"],
  ["counters", "UPDATE branches SET counters = x'7b7d' WHERE session = ?", "new"],
  ["an edit", "UPDATE edits SET edit = rotten_record(edit) WHERE session = ? AND seq > 1", "new"],
  ["the order of edits", "UPDATE edits SET at = at + 1 WHERE session = ? AND seq = 2", "new"],
  [
    "the role of a message",
    "UPDATE messages SET role = 'system' WHERE session = ? AND seq = 3",
    "new",
  ],
  ["the size of a message", "UPDATE messages SET tokens = 1 WHERE session = ? AND seq < 9", "new"],
  ["a message that is missing", "DELETE FROM messages WHERE session = ? AND seq = 5", "new"],
  // What nothing is sent from does not end a session before it is read.
  [
    "the body of a message",
    "UPDATE messages SET body = x'00' WHERE session = ? AND seq = 4",
    "same",
  ],
  ["an archive entry", "UPDATE archive SET bytes = 1 WHERE session = ?", "same"],
  ["a turn", "UPDATE turns SET record = rotten_record(record) WHERE session = ?", "same"],
  ["a head", "UPDATE blocks SET body = x'00' WHERE session = ?", "same"],
  ["an event", "UPDATE events SET event = rotten_record(event) WHERE session = ?", "same"],
];

test.each(rows)("%s that flips over a restart is not used", async (_kind, sql, becomes) => {
  const { data, ada, bob } = stage();
  expect(change(data, sql, ada.session)).toBeGreaterThan(0);
  const plimsoll = await openEngine({ data, config });
  const said: string[] = [];
  plimsoll.on("store-spoilt", ({ message }) => said.push(message));
  const old = ada.session;
  expect(await goesOn(plimsoll, ada)).toBe(becomes);
  expect(await goesOn(plimsoll, bob)).toBe("same");
  if (becomes === "new") {
    expect(said).toEqual([expect.stringMatching(new RegExp(`^${old} .*put aside in .*aside`))]);
    expect(await plimsoll.store.session(old)).toBeUndefined();
    expect(await plimsoll.store.errors({ limit: 9 })).toMatchObject([
      { code: "STORE_CORRUPT", session: old },
    ]);
    const aside = new Database(join(data, `plimsoll.db.aside-v${schemaVersion}`), {
      readonly: true,
    });
    const kept = aside.prepare("SELECT count(*) FROM messages WHERE session = ?").pluck().get(old);
    aside.close();
    expect(kept).toBeGreaterThan(40);
  }
  await plimsoll.close();
  rmSync(data, { recursive: true, force: true });
});

test("what flips while Plimsoll runs is noticed when it is read, and the next turn begins anew", async () => {
  const { data, ada, bob } = stage();
  const plimsoll = await openEngine({ data, config });
  await speak(plimsoll, ada);
  change(data, "UPDATE messages SET body = x'00' WHERE session = ? AND seq = 4", ada.session);
  await expect(plimsoll.store.bodies(ada.session, [4])).rejects.toMatchObject({
    code: "STORE_CORRUPT",
    fields: { session: ada.session },
  });
  expect(await goesOn(plimsoll, ada)).toBe("new");
  expect(await goesOn(plimsoll, bob)).toBe("same");
  await plimsoll.close();
  rmSync(data, { recursive: true, force: true });
});

const pageBytes = 4096;
const flips = effort(12, 100);

/** By a seed, so that a failure comes again. */
function place(file: Buffer, seed: number): number {
  const random = Math.imul(seed + 1, 2_654_435_761) >>> 0;
  const page = random % Math.floor(file.length / pageBytes);
  return page * pageBytes + ((random >>> 12) % pageBytes);
}

test.each(Array.from({ length: flips }, (_, seed) => seed))(
  "a byte that flips anywhere in the file, number %d, ends no conversation",
  async (seed) => {
    const { data, ada, bob } = stage();
    const file = join(data, "plimsoll.db");
    const bytes = readFileSync(file);
    const at = place(bytes, seed);
    bytes[at] = (bytes[at] ?? 0) ^ 0xff;
    writeFileSync(file, bytes);
    const plimsoll = await openEngine({ data, config });
    await plimsoll.health.check();
    for (const talk of [ada, bob, ada]) await goesOn(plimsoll, talk);
    await plimsoll.close();
    rmSync(data, { recursive: true, force: true });
  },
);

test("a whole page of any kind that is lost ends no conversation, and those that are whole go on as they were", async () => {
  const { data } = stage();
  const database = new Database(join(data, "plimsoll.db"), { readonly: true });
  const pages = database
    .prepare(
      "SELECT name, min(pageno) AS page FROM dbstat WHERE name IN ('sessions', 'messages', 'edits', 'turns') GROUP BY name",
    )
    .all() as { name: string; page: number }[];
  database.close();
  rmSync(data, { recursive: true, force: true });
  expect(pages).toHaveLength(4);
  for (const { page } of pages) {
    const { data: folder, ada, bob } = stage();
    const file = join(folder, "plimsoll.db");
    const bytes = readFileSync(file);
    bytes.fill(0xa5, (page - 1) * pageBytes, page * pageBytes);
    writeFileSync(file, bytes);
    const plimsoll = await openEngine({ data: folder, config });
    for (const talk of [ada, bob]) await goesOn(plimsoll, talk);
    await plimsoll.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
