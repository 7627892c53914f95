/** Processes that open one data folder at the same moment: a new one, or one of an older version. All of them come up. */

import { readdirSync, rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeOldFolder, oldRows, rowsOf } from "./harness/old-store.ts";
import { type Openers, startOpeners } from "./harness/openers.ts";

const PROCESSES_COUNT = 4;
const ROUNDS_COUNT = 4;
let openers: Openers;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "plimsoll-together-"));
  openers = await startOpeners(PROCESSES_COUNT);
});
afterAll(async () => {
  await openers.close();
  rmSync(folder, { recursive: true, force: true });
});

test("a folder that is not there yet: each comes up, and all have the same key", async () => {
  for (let round = 0; round < ROUNDS_COUNT; round++) {
    const opened = await openers.open(join(folder, `new-${round}`));
    expect(opened.map(({ error }) => error)).toEqual(Array(PROCESSES_COUNT).fill(undefined));
    expect(new Set(opened.map(({ signature }) => signature)).size).toBe(1);
  }
});

test("a folder of an older version: each comes up, one backup is left, and nothing is missing", async () => {
  for (let round = 0; round < ROUNDS_COUNT; round++) {
    const data = join(folder, `old-${round}`);
    makeOldFolder(data);
    const opened = await openers.open(data);
    expect(opened.map(({ error }) => error)).toEqual(Array(PROCESSES_COUNT).fill(undefined));
    expect(rowsOf(join(data, "plimsoll.db"))).toEqual(oldRows);
    expect(rowsOf(join(data, "plimsoll.db.v1.bak"))).toEqual(oldRows);
    expect(readdirSync(data).sort()).toEqual(["key", "plimsoll.db", "plimsoll.db.v1.bak", "token"]);
  }
});
