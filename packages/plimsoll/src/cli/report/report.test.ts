/** `plimsoll report`: one session, read from the store while it is in use, as text, as data and as a file. */

import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { requestsOf } from "../../../test/generate/conversations.ts";
import { openWith, passAll } from "../../../test/generate/rehearsal.ts";
import { plainScript } from "../../../test/generate/script.ts";
import { childEnvironment } from "../../../test/harness/child-environment.ts";
import { eventually } from "../../../test/harness/waiting.ts";
import type { Engine } from "../../engine.ts";
import { receiptsOf } from "../../session/inspect/receipts.ts";
import { gatherReport, type Report } from "./data.ts";

const limit = 1500;
const folder = mkdtempSync(join(tmpdir(), "plimsoll-report-"));
const program = fileURLToPath(new URL("../../../bin/plimsoll.mjs", import.meta.url));
let engine: Engine;
let session: string;

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(...words: string[]): Promise<Ran> {
  const env = childEnvironment({ HOME: folder });
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [program, ...words, "--data", folder],
      { env, timeout: 30_000, maxBuffer: 64 * 1024 * 1024 },
      (_error, stdout, stderr) => resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    );
  });
}

beforeAll(async () => {
  engine = await openWith(limit, { data: folder });
  const script = plainScript({ rounds: 14, steps: 1, characters: 500 });
  const passed = await passAll(engine, "anthropic", requestsOf("anthropic", script), {
    reportedFactor: 1.1,
  });
  session = passed[0]?.turn.session ?? "";
  const compacted = passed.filter(({ turn }) => turn.fitted.outcome === "compacted");
  expect(compacted.length).toBeGreaterThan(0);
  // Receipts are made after the requests were sent.
  await eventually(10_000, "every receipt", async () => {
    const receipts = await receiptsOf(engine.store, session);
    return receipts.length >= compacted.length ? true : undefined;
  });
});
afterAll(async () => {
  await engine.close();
  rmSync(folder, { recursive: true });
});

describe("what is told", () => {
  let report: Report;
  beforeAll(async () => {
    report = await gatherReport(
      { store: engine.store, config: {}, now: () => 1_800_000_000_000 },
      session,
    );
  });

  test("turns, oldest first, add up to the figures", () => {
    const { figures, turns } = report;
    const sum = (of: (turn: Report["turns"][number]) => number): number =>
      turns.reduce((all, turn) => all + of(turn), 0);
    expect(turns.map(({ at }) => at)).toEqual(turns.map(({ at }) => at).toSorted());
    expect(figures.turns).toBe(turns.length);
    expect(figures.clientTokens).toBe(sum(({ tokensBefore = 0 }) => tokensBefore));
    const sendable = sum(({ tokensBefore = 0, window }) => Math.min(tokensBefore, window));
    expect(sendable).toBeLessThan(figures.clientTokens);
    expect(figures.savedTokens).toBe(sendable - figures.sentTokens);
    expect(figures.savedTokens).toBeGreaterThan(0);
    expect(figures.savedShare).toBeCloseTo(figures.savedTokens / sendable);
    const shares = turns.map(({ measurement, limit: most }) => measurement.total / most);
    const { tokens = 0, limit: most = 1, turn = 0 } = figures.fullest ?? {};
    expect(tokens / most).toBe(Math.max(...shares));
    expect(shares[turn - 1]).toBe(tokens / most);
  });

  test("the window is the one that the service shows", async () => {
    expect(report.picture).toEqual(await engine.inspect.picture(session));
  });

  test("there is a receipt for each compaction, and only edits that hold", async () => {
    const { receipts, edits, figures, turns } = report;
    expect(figures.compactions).toBe(receipts.length);
    const known = new Set(turns.map(({ id }) => id));
    for (const { turn } of receipts) expect(known).toContain(turn);
    const all = await engine.store.edits(session);
    const undone = all.flatMap(({ action }) => (action.kind === "revert" ? [action.edit] : []));
    expect(edits.length).toBeGreaterThan(0);
    expect(edits.filter(({ seq }) => undone.includes(seq))).toEqual([]);
    expect(edits.filter(({ action }) => action.kind === "revert")).toEqual([]);
  });

  test("where usage was reported without a cache, its share is not known", () => {
    expect(report.figures.cachedShare).toBeNull();
  });
});

describe("the command", () => {
  test("prints figures, and without a session those of the newest", async () => {
    const { code, stdout, stderr } = await run("report");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(session);
    for (const name of ["turns", "from the client", "sent on", "saved", "compactions"])
      expect(stdout).toMatch(new RegExp(`^${name} `, "m"));
    expect(stdout).toContain(`plimsoll report ${session} --html report.html --data ${folder}`);
    expect((await run("report", session)).stdout).toBe(stdout);
  });

  test("gives the same as data", async () => {
    const data = JSON.parse((await run("report", session, "--json")).stdout) as Report;
    const { figures, picture, receipts } = await gatherReport(
      { store: engine.store, config: {}, now: Date.now },
      session,
    );
    expect({ ...data.figures, picture: undefined }).toEqual({ ...figures, picture: undefined });
    expect(data.picture?.units.length).toBe(picture?.units.length);
    expect(data.receipts.length).toBe(receipts.length);
  });

  test("writes one file with the same figures and the pictures, and says so", async () => {
    const file = join(folder, "report.html");
    const { code, stdout } = await run("report", session, "--html", file);
    expect(code).toBe(0);
    expect(stdout).toMatch(/report\.html: a report of ses_\w+, \d+ KB/);
    const page = readFileSync(file, "utf8");
    const { figures } = await gatherReport(
      { store: engine.store, config: {}, now: Date.now },
      session,
    );
    expect(page).toContain(`${figures.clientTokens.toLocaleString("en-US")} tokens`);
    expect(page.match(/<svg class="(?:window|plot)"/g)?.length).toBe(3);
    expect(page.match(/<details><summary><strong>turn /g)?.length).toBe(figures.compactions);
    expect(page).toContain(`plimsoll log ${session} --full --data ${folder}`);
  });

  test.each([
    [["report", "ses_nobody"], 1, /There is no session ses_nobody/],
    [["report", "--html", join(folder, "no", "such", "folder.html")], 2, /cannot be written/],
  ])("says what to do when it cannot: %j", async (words, expected, sentence) => {
    const { code, stdout, stderr } = await run(...words);
    expect(code).toBe(expected);
    expect(stdout).toBe("");
    expect(stderr).toMatch(sentence);
    expect(stderr.trim().split("\n")).toHaveLength(1);
  });
});
