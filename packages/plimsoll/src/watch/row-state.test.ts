import { expect, test } from "vitest";
import type { SessionRow, TurnPoint } from "../message/api.ts";
import type {
  CompactionPhase,
  ContextBreakingUpdateEvent,
  PlimsollEvent,
  TurnEndEvent,
  TurnStartEvent,
} from "../message/event.ts";
import { hideAfterMs } from "./phase-words.ts";
import {
  isListedEnd,
  keyOf,
  listedRow,
  nameOf,
  phaseAfter,
  type RowState,
  settle,
  stateWord,
  usualSettings,
  withEvent,
  withoutPhase,
  withoutRunning,
} from "./row-state.ts";

const measured = (total: number): TurnPoint["measurement"] => ({
  system: 0,
  skills: 0,
  tools: 0,
  conversation: total,
  total,
  certainty: "exact",
});
const turn: TurnPoint = {
  id: "t1",
  branch: "main",
  at: 900,
  endedAt: 1000,
  model: "m",
  outcome: "passthrough",
  status: "complete",
  measurement: measured(40),
  limit: 100,
  window: 128,
};
const row: SessionRow = {
  id: "s1",
  tenant: "owner",
  wire: "anthropic",
  createdAt: 0,
  updatedAt: 1000,
  branches: 1,
  messages: 4,
  turns: 3,
  lastTurn: turn,
};
const start = (changed: Partial<TurnStartEvent> = {}): TurnStartEvent => ({
  type: "turn-start",
  session: "s1",
  at: 2000,
  turn: "t2",
  branch: "main",
  model: "m",
  newMessages: 1,
  measurement: measured(60),
  limit: 100,
  ...changed,
});
const end = (changed: Partial<TurnEndEvent> = {}): TurnEndEvent => ({
  type: "turn-end",
  session: "s1",
  at: 3000,
  turn: "t2",
  branch: "main",
  model: "m",
  outcome: "passthrough",
  status: "complete",
  measurement: measured(62),
  tokensBefore: 62,
  limit: 100,
  window: 128,
  ...changed,
});
const phase = (
  name: CompactionPhase,
  changed: Partial<ContextBreakingUpdateEvent> = {},
): ContextBreakingUpdateEvent => ({
  type: "context-breaking-update",
  session: "s1",
  at: 2500,
  turn: "t2",
  branch: "main",
  phase: name,
  progress: 70,
  message: "…",
  tokens: 70,
  limit: 100,
  ...changed,
});

const listed = (changed: Partial<SessionRow> = {}): RowState =>
  listedRow({ ...row, ...changed }, undefined, usualSettings);
/** Applies events to the listed row. */
const after = (...events: readonly PlimsollEvent[]): RowState => {
  let state = listed();
  for (const event of events) state = withEvent(state, event, usualSettings) ?? state;
  return state;
};

test("a listed row is as full as its last turn", () => {
  expect(listed()).toMatchObject({
    tokens: 40,
    limit: 100,
    window: 128,
    fill: 0.4,
    state: "normal",
  });
});

test("a row without a turn is empty and new", () => {
  const { lastTurn: _, ...fresh } = row;
  const state = listedRow(fresh, undefined, usualSettings);
  expect([state.fill, state.window, stateWord(state)]).toEqual([0, 0, "new"]);
});

test("a turn that begins shows what is sent; when it ends it is the last turn, and counted once", () => {
  const begun = after(start());
  expect(begun).toMatchObject({ tokens: 60, running: { turn: "t2" }, row: { turns: 3 } });
  const ended = after(start(), end());
  expect(ended).toMatchObject({
    tokens: 62,
    row: { turns: 4, updatedAt: 3000, lastTurn: { id: "t2", at: 2000, endedAt: 3000 } },
  });
  expect(ended.running).toBeUndefined();
});

test("events that the list has already, or that come twice, change nothing", () => {
  const state = listed();
  expect(withEvent(state, end({ turn: "t1", at: 1000 }), usualSettings)).toBe(state);
  expect(withEvent(state, end({ turn: "t0", at: 500 }), usualSettings)).toBe(state);
  expect(withEvent(state, start({ turn: "t0", at: 400 }), usualSettings)).toBe(state);
  expect(after(start(), end(), end()).row.turns).toBe(4);
});

test("a list that is older than the events does not take them back", () => {
  const ahead = after(start(), end());
  expect(listedRow(row, ahead, usualSettings).row).toBe(ahead.row);
  const newer = { ...row, turns: 9, lastTurn: { ...turn, id: "t9", endedAt: 9000 } };
  expect(listedRow(newer, ahead, usualSettings).row.turns).toBe(9);
});

test("a turn whose end was listed before it was counted is counted once, and known to be in doubt", () => {
  const counted = after(start(), end());
  // The last turn is newer than the count, as the service may read it.
  const torn = { ...row, lastTurn: { ...turn, id: "t2", endedAt: 3000 } };
  expect(listedRow(torn, counted, usualSettings).row.turns).toBe(4);
  expect(isListedEnd(listed(torn), end())).toBe(true);
  expect(isListedEnd(listed(), end())).toBe(false);
});

test("of two turns at once, the end of one leaves the other running", () => {
  const state = after(start({ turn: "t2" }), start({ turn: "t3", at: 2100 }), end({ turn: "t2" }));
  expect(state.running?.turn).toBe("t3");
});

test("a new session is a row by its first event; of an unknown one nothing is made up", () => {
  const begun = withEvent(
    undefined,
    { type: "session-start", session: "s2", at: 5, wire: "gemini", agent: "coder" },
    usualSettings,
  );
  expect(begun).toMatchObject({ row: { id: "s2", agent: "coder", turns: 0 }, orderedAt: 5 });
  expect(withEvent(undefined, start(), usualSettings)).toBeUndefined();
});

test("orange from the threshold on, which is the user's", () => {
  const full = { lastTurn: { ...turn, measurement: measured(80) } };
  expect([listed(full).state, stateWord(listed(full))]).toEqual(["warning", "near limit"]);
  expect(settle(listed(full), { ...usualSettings, warningThreshold: 0.81 }).state).toBe("normal");
});

test("orange after a final or refused turn, however empty", () => {
  const words = (["final", "refused"] as const).map((outcome) => {
    const state = listed({ lastTurn: { ...turn, outcome } });
    return [state.state, stateWord(state)];
  });
  expect(words).toEqual([
    ["warning", "final turn"],
    ["warning", "refused"],
  ]);
});

test("green while the last or running turn is P1, if the user wants it", () => {
  const first = { lastTurn: { ...turn, priority: 1 as const } };
  expect([listed(first).state, stateWord(listed(first))]).toEqual(["p1", "P1 active"]);
  expect(after(start({ priority: 1 })).state).toBe("p1");
  const plain = {
    ...usualSettings,
    progress: { ...usualSettings.progress, highlight_p1: false },
  };
  expect(settle(listed(first), plain).state).toBe("normal");
});

test("red while a recovery runs and after it, before everything else", () => {
  const recovering = after(start({ priority: 1 }), phase("recovery", { progress: -1 }));
  expect([recovering.state, stateWord(recovering)]).toEqual(["recovery", "recovering"]);
  expect(after(start(), phase("recovery"), phase("handover")).state).toBe("recovery");
  const ended = after(start(), end({ outcome: "recovered", measurement: measured(90) }));
  expect([ended.state, stateWord(ended)]).toEqual(["recovery", "recovered"]);
  expect(after(start(), end({ outcome: "recovered" }), end({ turn: "t3", at: 4000 })).state).toBe(
    "normal",
  );
});

test("while a compaction runs the bar follows its phases, then the turn", () => {
  const running = after(phase("summarize-old", { tokens: 97 }));
  expect(running).toMatchObject({
    tokens: 97,
    state: "warning",
    phase: { phase: "summarize-old" },
  });
  const done = after(
    phase("success", { tokens: 45 }),
    start({ at: 2600, measurement: measured(46) }),
  );
  expect(done).toMatchObject({ tokens: 46, phase: { phase: "success" } });
  expect(withoutPhase(done, usualSettings).phase).toBeUndefined();
});

test("what a compaction came to holds when its phase is hidden, until a turn begins or somebody steers", () => {
  const done = withoutPhase(
    after(phase("hybrid"), phase("success", { tokens: 45 })),
    usualSettings,
  );
  expect(done.tokens).toBe(45);
  expect(withEvent(done, start(), usualSettings)).toMatchObject({ tokens: 60 });
  const undo = {
    type: "view-steered",
    session: "s1",
    at: 2600,
    branch: "main",
    action: "undo",
    edits: [2],
  } as const;
  const undone = withEvent(done, undo, usualSettings);
  expect(undone?.tokens).toBe(40);
  expect(withEvent(undone, undo, usualSettings)).toBe(undone);
});

test("what a compaction came to is forgotten when the list has a newer turn", () => {
  const done = after(phase("success", { tokens: 45 }));
  expect(listedRow(row, done, usualSettings).tokens).toBe(45);
  const newer = { ...row, lastTurn: { ...turn, id: "t9", endedAt: 9000 } };
  expect(listedRow(newer, done, usualSettings).tokens).toBe(40);
});

test("the last phase goes by itself, and the turns that follow do not hold it", () => {
  const done = after(start(), phase("success"));
  expect(phaseAfter(done, phase("success"), "running")).toBe("done");
  expect(phaseAfter(done, phase("handover"), undefined)).toBe("done");
  expect(phaseAfter(done, end(), "done")).toBe("as-it-was");
  expect(phaseAfter(done, phase("detection"), "done")).toBe("running");
});

test("a compaction that never said how it ended goes with its turn", () => {
  const cutOff = after(start(), phase("hybrid"));
  expect(phaseAfter(cutOff, end({ status: "failed" }), "running")).toBe("done");
  expect(phaseAfter(after(start()), end(), undefined)).toBe("as-it-was");
  expect(phaseAfter(undefined, end(), undefined)).toBe("as-it-was");
});

test("a compaction of which nothing more is heard goes after a minute of silence, not before", () => {
  const course = phaseAfter(after(start()), phase("hybrid"), undefined);
  expect(course).toBe("running");
  const ms = course === "as-it-was" ? 0 : hideAfterMs({ state: course }, usualSettings.progress);
  expect(ms).toBe(60_000);
  const silent = withoutPhase(after(start(), phase("hybrid", { tokens: 90 })), usualSettings);
  expect([silent.phase, silent.tokens]).toEqual([undefined, after(start()).tokens]);
});

test("when the connection is gone, nothing is said to be running", () => {
  const state = withoutRunning(after(start(), phase("hybrid")), usualSettings);
  expect([state.running, state.phase, state.tokens]).toEqual([undefined, undefined, 40]);
});

test("a busy session keeps its place, one that comes back after a rest moves up", () => {
  expect(after(start()).orderedAt).toBe(1000);
  expect(after(start({ at: 100_000 })).orderedAt).toBe(100_000);
});

test("the oldest events have no window: what was known of it stays", () => {
  const { window: _, ...old } = end();
  expect(after(old).row.lastTurn?.window).toBe(128);
});

test("a row is named by its agent, else by the beginning of its id", () => {
  expect(nameOf({ agent: "coder", id: "s_1234567890abcdef" })).toBe("coder");
  expect(nameOf({ agent: "", id: "s_1234567890abcdef" })).toBe("s_12345678…");
  expect(nameOf({ agent: " ", id: "short" })).toBe("short");
});

test("sessions of one agent are told apart by the client's own name, else by the beginning of the id", () => {
  expect(keyOf({ id: "ses_0123456789abcdef", clientKey: "plimsoll:winter" })).toBe("winter");
  expect(keyOf({ id: "ses_0123456789abcdef", clientKey: "codex:42" })).toBe("codex:42");
  expect(keyOf({ id: "ses_0123456789abcdef" })).toBe("ses_012345…");
});

test("a session is called by its title, else by its agent or client, and what is not in the name follows it", () => {
  const row = {
    id: "ses_0123456789abcdef",
    client: "Claude Code",
    clientKey: "claude-code:ef71",
    folder: "/home/anna/hull/",
  };
  const titled = { ...row, title: "Fix the rudder" };
  expect([nameOf(titled), keyOf(titled)]).toEqual(["Fix the rudder", "Claude Code · hull · ef71"]);
  expect([nameOf(row), keyOf(row)]).toEqual(["Claude Code", "hull · ef71"]);
  const named = { ...titled, agent: "builder" };
  expect(keyOf(named)).toBe("builder · hull · claude-code:ef71");
  expect(nameOf({ id: "ses_0123456789abcdef" })).toBe("ses_012345…");
});

test("the first turn gives a row its title, and its first event its client", () => {
  const started = withEvent(
    undefined,
    { type: "session-start", session: "ses_1", at: 1, wire: "anthropic", client: "Codex" },
    usualSettings,
  );
  const ended = withEvent(
    started,
    end({ session: "ses_1", title: "Fix the rudder", windowTokens: 12 }),
    usualSettings,
  );
  expect([ended?.row.client, ended?.row.title, ended?.tokens]).toEqual([
    "Codex",
    "Fix the rudder",
    12,
  ]);
});

test("a large head alone is not near the limit, and what fills the room beside it is", () => {
  const at = (total: number): string => {
    const lastTurn = { ...turn, measurement: measured(total), limit: 33_000, headTokens: 26_000 };
    return stateWord(listed({ lastTurn }));
  };
  expect([26_000, 29_000, 32_000].map(at)).toEqual(["normal", "normal", "near limit"]);
});
