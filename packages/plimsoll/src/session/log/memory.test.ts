import { describe, expect, test } from "vitest";
import { uncalibrated } from "../../budget/calibrate.ts";
import {
  afterNote,
  afterSessionNote,
  type BranchMemory,
  type BranchNote,
  blankBranch,
  blankSession,
  type SessionNote,
} from "./memory.ts";

const folded = (...notes: readonly BranchNote[]): BranchMemory =>
  notes.reduce(afterNote, blankBranch);
const inSession = (...notes: readonly SessionNote[]) =>
  notes.reduce(afterSessionNote, blankSession);
const view = { edits: 3, last: 7 };

describe("what a branch remembers", () => {
  test("a wish for a fresh start holds until it was tried, and its task longer", () => {
    const wished = folded({ kind: "wants-recovery", reason: "Done.", task: "ship" });
    expect(wished).toMatchObject({ mustRecover: "Done.", task: "ship" });
    const tried = afterNote(afterNote(wished, { kind: "must-compact" }), { kind: "wishes-taken" });
    expect(tried).toEqual({ turns: 0, task: "ship" });
  });

  test("a view that only grows is counted by turns, and another one begins anew", () => {
    const grown = folded(
      { kind: "view-valid", view },
      { kind: "view", view },
      { kind: "view", view },
    );
    expect(grown.checked).toEqual({ view, turns: 2 });
    const other = { edits: 4, last: 9 };
    expect(afterNote(grown, { kind: "view", view: other }).checked).toEqual({
      view: other,
      turns: 0,
    });
    expect(afterNote(grown, { kind: "view-invalid" }).checked).toBeUndefined();
  });

  test("a compaction takes the place of tries that found nothing, and uses the summary up", () => {
    const after = folded(
      { kind: "exhausted", tokens: 900 },
      { kind: "summary-ready", chain: "c", text: "In short." },
      { kind: "compacted", level: 1, view },
      { kind: "fitting" },
    );
    expect(after).toEqual({
      turns: 0,
      checked: { view, turns: 0 },
      compacted: { turns: 1, level: 1 },
    });
  });

  test("caches of the last four models are known, and a silent provider keeps what it had", () => {
    const ended = (target: string, cachedTokens?: number): BranchNote => {
      const turn = { at: 1, tokens: 10, isSmaller: false } as const;
      return { kind: "ended", target, cachedTokens, ...turn };
    };
    const { caches, turns, pace } = folded(
      ended("a", 1),
      ended("b", 2),
      ended("c", 3),
      ended("d", 4),
      ended("e", 5),
      ended("b"),
    );
    expect(caches?.map(({ target, tokens }) => `${target}${tokens}`)).toEqual([
      "c3",
      "d4",
      "e5",
      "b2",
    ]);
    expect({ turns, pace }).toEqual({ turns: 6, pace: { turns: 5, tokens: 10 } });
  });

  test("a request tells anew who asked and what its client rewrote", () => {
    const asked = folded(
      { kind: "received", hasOtherLead: true, guest: "t2", rewritten: { from: 3, count: 1 } },
      { kind: "received", hasOtherLead: false },
    );
    expect(asked).toEqual({ turns: 0, hasOtherLead: false });
  });
});

describe("what a session remembers", () => {
  test("what a provider took refutes a guess that its window is smaller", () => {
    const taken = { input: 900, used: 950, total: 1300 };
    const memory = inSession(
      { kind: "window-guessed", target: "p/m", tokens: 800 },
      { kind: "took", target: "p/m", taken },
      { kind: "took", target: "p/m", taken: { input: 100, used: 110, total: 120 } },
    );
    expect(memory).toMatchObject({ windows: { "p/m": 950 }, taken: { "p/m": taken } });
    const named = afterSessionNote(memory, { kind: "window-named", target: "p/m" });
    expect(named.taken).toEqual({});
  });

  test("only the last overflows count, and a fresh start forgets them", () => {
    const overflows = Array.from(
      { length: 40 },
      (_, at): SessionNote => ({ kind: "overflowed", at }),
    );
    const memory = inSession(...overflows);
    expect([memory.overflows.length, memory.overflows.at(-1)]).toEqual([16, 39]);
    expect(afterSessionNote(memory, { kind: "fresh-start" }).overflows).toEqual([]);
  });

  test("names of targets come from clients: the oldest give way", () => {
    const notes = Array.from({ length: 60 }, (_, number): SessionNote => {
      return { kind: "calibrated", target: `p/${number}`, calibration: uncalibrated };
    });
    const names = Object.keys(inSession(...notes).calibrations);
    expect([names.length, names[0], names.at(-1)]).toEqual([50, "p/10", "p/59"]);
  });
});

test("a memory is the same when it was stored", () => {
  const memory = folded(
    {
      kind: "counted",
      basis: { inputTokens: 5, estimated: { system: 1, tools: 1, conversation: 2 }, target: "p/m" },
    },
    { kind: "tools-found", turn: "turn_1", names: ["a"] },
    { kind: "owes", debtUsd: 0.1 },
  );
  expect(JSON.parse(JSON.stringify(memory))).toEqual(memory);
});
