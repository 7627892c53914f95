/** Goal 4: a durable turn, beside a bare insert of the same bytes and a bare flush of the disk. */

import { randomBytes } from "node:crypto";
import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { sha256 } from "../packages/plimsoll/src/store/body.ts";
import { openSqliteStore } from "../packages/plimsoll/src/store/sqlite.ts";
import type { NodeRecord, Store, Write } from "../packages/plimsoll/src/store/store.ts";
import { withFolder } from "./processes.ts";
import { atMost, type Benchmark, figure, type Outcome } from "./report.ts";
import { median, medianRatio } from "./statistics.ts";

const messageBytes = 4096;
const messagesPerTurn = 2;
const committers = 32;
const durabilities = ["full", "normal"] as const;
type Durability = (typeof durabilities)[number];

/** Microseconds for one turn. */
interface Rounds {
  readonly store: number[];
  readonly raw: number[];
  /** With many committers at once. */
  readonly concurrent: number[];
}

export const appendBenchmark: Benchmark = {
  name: "append",
  title: "Store: a durable turn of two messages of 4 KB",
  run: ({ isQuick }) =>
    withFolder((folder) => measure(folder, { rounds: isQuick ? 3 : 9, turns: isQuick ? 60 : 200 })),
};

async function measure(
  folder: string,
  { rounds, turns }: { readonly rounds: number; readonly turns: number },
): Promise<Outcome> {
  const flushes: number[] = [];
  const results: Record<Durability, Rounds> = {
    full: { store: [], raw: [], concurrent: [] },
    normal: { store: [], raw: [], concurrent: [] },
  };
  const sides = await Promise.all(durabilities.map((durability) => openSides(folder, durability)));
  const disk = openDisk(join(folder, "flush"));
  try {
    // The first round warms up.
    for (let round = 0; round <= rounds; round++) {
      const flush = timeEach(turns, disk.flush);
      if (round > 0) flushes.push(flush);
      for (const { durability, store, raw } of sides) {
        const figures = {
          store: await timeCommits(store, turns),
          raw: timeEach(turns, raw.insert),
          concurrent: await timeConcurrent(store, turns),
        };
        if (round === 0) continue;
        results[durability].store.push(figures.store);
        results[durability].raw.push(figures.raw);
        results[durability].concurrent.push(figures.concurrent);
      }
    }
  } finally {
    disk.close();
    for (const { store, raw } of sides) {
      raw.close();
      await store.close();
    }
  }
  return outcomeOf(results, flushes);
}

interface Sides {
  readonly durability: Durability;
  readonly store: Store;
  readonly raw: RawInserts;
}

async function openSides(folder: string, durability: Durability): Promise<Sides> {
  const store = await openSqliteStore({ file: join(folder, `${durability}.db`), durability });
  const raw = openRaw(join(folder, `${durability}-raw.db`), durability);
  return { durability, store, raw };
}

interface RawInserts {
  insert(): void;
  close(): void;
}

function openRaw(file: string, durability: Durability): RawInserts {
  const database = new Database(file);
  database.pragma("journal_mode = WAL");
  database.pragma(`synchronous = ${durability}`);
  database.exec("CREATE TABLE messages (seq INTEGER PRIMARY KEY, body BLOB NOT NULL)");
  const statement = database.prepare("INSERT INTO messages (body) VALUES (?)");
  const insert = database.transaction((bodies: readonly Buffer[]) => {
    for (const body of bodies) statement.run(body);
  });
  return {
    insert: () => insert([randomBytes(messageBytes), randomBytes(messageBytes)]),
    close: () => database.close(),
  };
}

/** Writes over the same few megabytes again and again, as SQLite does with its log. */
function openDisk(file: string): { flush(): void; close(): void } {
  const pages = 1_000;
  const descriptor = openSync(file, "w");
  for (let page = 0; page < pages; page++) writeSync(descriptor, randomBytes(messageBytes));
  fdatasyncSync(descriptor);
  let next = 0;
  return {
    flush: () => {
      writeSync(descriptor, randomBytes(messageBytes), 0, messageBytes, next * messageBytes);
      fdatasyncSync(descriptor);
      next = (next + 1) % pages;
    },
    close: () => closeSync(descriptor),
  };
}

/** The p50 of so many. */
function timeEach(times: number, work: () => void): number {
  const taken = Array.from({ length: times }, () => {
    const begin = performance.now();
    work();
    return (performance.now() - begin) * 1000;
  });
  return median(taken);
}

async function timeCommits(store: Store, turns: number): Promise<number> {
  const next = createTurns();
  const taken: number[] = [];
  for (let turn = 0; turn < turns; turn++) {
    const writes = next();
    const begin = performance.now();
    await store.commit(writes);
    taken.push((performance.now() - begin) * 1000);
  }
  return median(taken);
}

async function timeConcurrent(store: Store, turns: number): Promise<number> {
  const perCommitter = Math.ceil(turns / 8);
  const begin = performance.now();
  await Promise.all(
    Array.from({ length: committers }, async () => {
      const next = createTurns();
      for (let turn = 0; turn < perCommitter; turn++) await store.commit(next());
    }),
  );
  return ((performance.now() - begin) * 1000) / (committers * perCommitter);
}

let sessions = 0;

/** Everything that one turn of the product writes, with bytes that cannot be packed. */
function createTurns(): () => readonly Write[] {
  const session = `ses_${++sessions}`;
  const tenant = "local";
  let seq = 0;
  return () => {
    const turn = `turn_${sessions}_${seq}`;
    const messages = Array.from({ length: messagesPerTurn }, (): Write => {
      const bytes = randomBytes(messageBytes);
      const node = nodeOf({ seq: ++seq, turn, hash: sha256(bytes) });
      return { kind: "message", session, tenant, node, body: { codec: "raw", bytes } };
    });
    return [...framesBefore(session, seq), ...messages, ...framesAfter(session, turn, seq)];
  };
}

function nodeOf({ seq, turn, hash }: Pick<NodeRecord, "seq" | "turn" | "hash">): NodeRecord {
  return {
    seq,
    parent: seq === 1 ? null : seq - 1,
    role: seq % 2 === 0 ? "assistant" : "user",
    source: seq % 2 === 0 ? "answer" : "request",
    turn,
    identity: hash.slice(0, 22),
    chain: hash.slice(22, 44),
    hash,
    bytes: messageBytes,
    tokens: 1000,
    certainty: "exact",
    isComplete: true,
    at: Date.now(),
  };
}

const measurement = {
  system: 100,
  skills: 0,
  tools: 1000,
  conversation: 50_000,
  total: 51_100,
  certainty: "exact",
} as const;

function framesBefore(session: string, tipSeq: number): readonly Write[] {
  const at = Date.now();
  const record = { id: session, tenant: "local", wire: "anthropic", createdAt: 1, updatedAt: at };
  const counters = { current: 51_500, schema: 1000, reasoning: 0 };
  const place = { relation: "new", forkSeq: null, tipSeq } as const;
  const branch = { id: "main", ...place, counters, createdAt: 1 };
  return [
    { kind: "session", session: record },
    { kind: "branch", session, branch },
  ];
}

function framesAfter(session: string, turn: string, requestTip: number): readonly Write[] {
  const at = Date.now();
  const branch = "main";
  const about = { model: "claude-sonnet-4-5", measurement, limit: 190_000 };
  const end = { outcome: "passthrough", status: "complete" } as const;
  const usage = { inputTokens: 51_000, outputTokens: 500 };
  const record = { ...about, ...end, usage, id: turn, branch, requestTip };
  const times = { startedAt: at, endedAt: at };
  const event = {
    type: "turn-end",
    session,
    at,
    turn,
    branch,
    ...about,
    ...end,
    usage,
    tokensBefore: 51_100,
  } as const;
  return [
    {
      kind: "turn",
      session,
      turn: { ...record, ...times, relation: "extends", window: 200_000 },
    },
    { kind: "event", tenant: "local", event },
  ];
}

function outcomeOf(results: Record<Durability, Rounds>, flushes: readonly number[]): Outcome {
  const { full, normal } = results;
  const row = (name: string, times: readonly number[]): readonly string[] => [
    name,
    figure(median(times)),
    figure(1_000_000 / median(times)),
  ];
  return {
    tables: [
      {
        title: "One turn, µs (p50 one after the other; mean with 32 at once)",
        columns: ["", "µs", "turns/s"],
        rows: [
          row("flush of 4 KB (fdatasync)", flushes),
          row("raw insert, full", full.raw),
          row("store, full", full.store),
          row("store, full, 32 at once", full.concurrent),
          row("raw insert, normal", normal.raw),
          row("store, normal", normal.store),
          row("store, normal, 32 at once", normal.concurrent),
        ],
      },
    ],
    checks: [
      atMost("full: a turn beside a flush", medianRatio(full.store, flushes), 1.5, "×"),
      atMost(
        "full, 32 at once: a turn beside a flush",
        medianRatio(full.concurrent, flushes),
        1.5,
        "×",
      ),
      atMost("normal: a turn beside a raw insert", medianRatio(normal.store, normal.raw), 2, "×"),
      atMost(
        "normal, 32 at once: a turn beside a raw insert",
        medianRatio(normal.concurrent, normal.raw),
        2,
        "×",
      ),
    ],
  };
}
