import { describe, expect, test } from "vitest";
import type { SessionRow, TurnPoint, WindowPicture, WindowUnit } from "../../message/api.ts";
import type {
  CompactionPhase,
  ContextBreakingUpdateEvent,
  MeasurementSummary,
  PlimsollEvent,
  TurnEndEvent,
  TurnStartEvent,
} from "../../message/event.ts";
import { type RowState, usualSettings } from "../../watch/row-state.ts";
import { type Key, type Pressed, press } from "./keys.ts";
import { type News, orderedRows, startState, type TopState, withNews } from "./state.ts";

function measured(total: number): MeasurementSummary {
  return { system: 0, skills: 0, tools: 0, conversation: total, total, certainty: "exact" };
}

function point(id: string, total: number, endedAt: number): TurnPoint {
  const measurement = measured(total);
  const [outcome, status] = ["passthrough", "complete"] as const;
  const place = { branch: "br_1", model: "m", limit: 1000, window: 1200 };
  return { id, ...place, at: endedAt, endedAt, outcome, status, measurement };
}

function row(id: string, updatedAt: number, lastTurn?: TurnPoint): SessionRow {
  const turns = lastTurn === undefined ? 0 : 1;
  const counts = { branches: 1, messages: 2, turns };
  const times = { createdAt: 0, updatedAt };
  return { id, tenant: "", wire: "w", ...times, ...counts, ...(lastTurn && { lastTurn }) };
}

function turnStart(session: string, turn: string, total: number, at: number): TurnStartEvent {
  const place = { session, turn, branch: "br_1", model: "m", at };
  return {
    type: "turn-start",
    ...place,
    newMessages: 1,
    measurement: measured(total),
    limit: 1000,
  };
}

function turnEnd(session: string, turn: string, total: number, at: number): TurnEndEvent {
  const [outcome, status] = ["passthrough", "complete"] as const;
  const place = { session, turn, branch: "br_1", model: "m", at, limit: 1000, window: 1200 };
  const tokens = { measurement: measured(total), tokensBefore: total };
  return { type: "turn-end", ...place, outcome, status, ...tokens };
}

function phase(name: CompactionPhase, tokens: number, at = 50): ContextBreakingUpdateEvent {
  const progress = name === "recovery" ? -1 : tokens / 10;
  const place = { session: "a", turn: "t2", branch: "br_1", at };
  return {
    type: "context-breaking-update",
    ...place,
    phase: name,
    progress,
    message: "",
    tokens,
    limit: 1000,
  };
}

const listed = (...items: readonly SessionRow[]): News => ({ kind: "listed", list: { items } });
const event = (heard: PlimsollEvent): News => ({ kind: "event", event: heard });

function told(...news: readonly News[]): TopState {
  return news.reduce(withNews, startState("http://127.0.0.1:1"));
}

function rowOf(state: TopState, id = "a"): RowState {
  const found = state.rows.get(id);
  if (found === undefined) throw new Error(`There is no row ${id}.`);
  return found;
}

const share = (state: TopState): number => rowOf(state).fill;

describe("a session in the list", () => {
  test("appears with its first event, and grows with its turns", () => {
    const state = told(
      event({ type: "session-start", session: "a", at: 1, wire: "w", agent: "builder" }),
      event(turnStart("a", "t1", 300, 2)),
    );
    expect(rowOf(state)).toMatchObject({ row: { agent: "builder", turns: 0 } });
    expect(rowOf(state).running?.turn).toBe("t1");
    expect(share(state)).toBe(0.3);
    const ended = withNews(state, event(turnEnd("a", "t1", 350, 3)));
    expect(rowOf(ended)).not.toHaveProperty("running");
    expect(rowOf(ended).row.turns).toBe(1);
    expect(share(ended)).toBe(0.35);
  });

  test("does not jump to the top while it is busy, and does after a rest", () => {
    const rows = [row("b", 20, point("t0", 1, 20)), row("a", 10, point("t1", 1, 10))];
    const order = (state: TopState): readonly string[] =>
      orderedRows(state).map(({ row: { id } }) => id);
    expect(order(told(listed(...rows), event(turnStart("a", "t2", 5, 30))))).toEqual(["b", "a"]);
    const rested = told(listed(...rows), event(turnStart("a", "t2", 5, 100_000)));
    expect(order(rested)).toEqual(["a", "b"]);
  });

  test("is one of at most two hundred: the oldest go", () => {
    const news = Array.from({ length: 300 }, (_, at) =>
      event({ type: "session-start", session: `s${at}`, at, wire: "w" }),
    );
    const state = told(...news);
    expect(state.rows.size).toBe(200);
    expect(state.rows.has("s0")).toBe(false);
    expect(state.rows.has("s299")).toBe(true);
  });
});

describe("settings that are read later", () => {
  test("change what the rows mean that are there", () => {
    const rows = listed(row("a", 10, point("t1", 700, 10)));
    const settings = { ...usualSettings, warningThreshold: 0.7 };
    expect(rowOf(told(rows)).state).toBe("normal");
    expect(rowOf(told(rows, { kind: "settings", settings })).state).toBe("warning");
  });
});

describe("a compaction", () => {
  const base = [listed(row("a", 10, point("t1", 900, 10))), event(turnStart("a", "t2", 960, 40))];

  test("shows where it is, and what it came to after it is over", () => {
    const running = told(...base, event(phase("hybrid", 700)));
    expect(rowOf(running).phase?.phase).toBe("hybrid");
    expect(share(running)).toBe(0.7);
    const done = withNews(running, event(phase("success", 400, 60)));
    const over = withNews(done, { kind: "phase-over", session: "a", at: 60 });
    expect(rowOf(over)).not.toHaveProperty("phase");
    expect(share(over)).toBe(0.4);
  });

  test("is not hidden by the end of an earlier phase", () => {
    const state = told(...base, event(phase("hybrid", 700, 55)));
    expect(
      rowOf(withNews(state, { kind: "phase-over", session: "a", at: 50 })).phase,
    ).toBeDefined();
  });

  test("that came to nothing ends with its turn, or with the refusal", () => {
    const state = told(...base, event(phase("detection", 960)));
    expect(rowOf(withNews(state, event(turnEnd("a", "t2", 960, 70))))).not.toHaveProperty("phase");
    const note = { tone: "refused", text: "There is nothing to take out." } as const;
    const refused = withNews(state, { kind: "acted", session: "a", note });
    expect(rowOf(refused)).not.toHaveProperty("phase");
  });

  test("is forgotten when the connection is gone", () => {
    const state = told(...base, event(phase("hybrid", 700)), {
      kind: "link",
      link: { kind: "live" },
    });
    const gone = withNews(state, { kind: "link", link: { kind: "waiting", retryMs: 500 } });
    expect(rowOf(gone)).not.toHaveProperty("phase");
    expect(rowOf(gone)).not.toHaveProperty("running");
  });
});

function unit(id: string, more: Partial<WindowUnit> = {}): WindowUnit {
  return { id, segments: [{ kind: "user", tokens: 10 }], tokens: 10, begins: id, ...more };
}

const picture: WindowPicture = {
  session: "a",
  branch: "br_9",
  model: "m",
  window: 1200,
  limit: 1000,
  tokens: 40,
  certainty: "exact",
  cachedTokens: 0,
  takenOutTokens: 0,
  units: [
    unit("system"),
    unit("m1", { first: 1, last: 1, isPinned: true }),
    unit("e1", { first: 2, last: 5 }),
    unit("m6", { first: 6, last: 8 }),
  ],
};

describe("keys", () => {
  const rows = listed(row("a", 30, point("t1", 1, 30)), row("b", 20), row("c", 10));
  const base = told(rows, { kind: "looked", looked: { session: "a", picture, steps: [] } });
  const pressed = (state: TopState, ...keys: readonly (Key | string)[]): Pressed =>
    keys.reduce<Pressed>(
      ({ state: before }, key) =>
        press(
          before,
          typeof key === "string" && key.length === 1 ? { character: key } : (key as Key),
        ),
      { state },
    );

  test("select, and stop at both ends", () => {
    expect(base.selected).toBe("a");
    expect(pressed(base, "j").state.selected).toBe("b");
    expect(pressed(base, "down", "down", "down", "page-down").state.selected).toBe("c");
    expect(pressed(base, "j", "k", "up").state.selected).toBe("a");
  });

  test("another session shows nothing of the one before", () => {
    expect(pressed(base, "j").state.looked).toBeUndefined();
    const late = withNews(pressed(base, "j").state, {
      kind: "looked",
      looked: { session: "a", picture, steps: [] },
    });
    expect(late.looked).toBeUndefined();
  });

  test("wish for a compaction and an undo, on the branch that is shown, one at a time", () => {
    expect(pressed(base, "c").command).toMatchObject({
      session: "a",
      action: "compact",
      branch: "br_9",
    });
    expect(pressed(base, "u").command).toMatchObject({
      session: "a",
      action: "undo",
      branch: "br_9",
    });
    const acting = withNews(base, { kind: "acting", text: "Compacting…" });
    expect(pressed(acting, "u").command).toBeUndefined();
    expect(pressed(acting, "u").state.note?.tone).toBe("refused");
  });

  test("choose among messages what is pinned, from the newest, and release what is", () => {
    expect(pressed(base, "p").state.mode).toEqual({ kind: "pins", unit: "m6" });
    expect(pressed(base, "p", "enter").command).toMatchObject({
      action: "pin",
      unit: { first: 6, last: 8 },
    });
    expect(pressed(base, "p", "P").command).toBeUndefined();
    expect(pressed(base, "p", "k", "enter").command).toBeUndefined();
    expect(pressed(base, "p", "k", "P").command).toMatchObject({
      action: "release",
      unit: { first: 1 },
    });
    expect(pressed(base, "p", "escape").state.mode).toEqual({ kind: "sessions" });
  });

  test("stay on a unit that is there, and move to another when it has left the window", () => {
    const choosing = pressed(base, "p").state;
    const without = { ...picture, units: picture.units.slice(0, 3) };
    const looked = { session: "a", picture: without, steps: [] };
    expect(withNews(choosing, { kind: "looked", looked }).mode).toEqual({
      kind: "pins",
      unit: "m1",
    });
  });

  test("do nothing to a service without sessions but say so", () => {
    const empty = told(listed());
    for (const key of ["c", "u", "p"]) {
      expect(pressed(empty, key).command).toBeUndefined();
      expect(pressed(empty, key).state.note?.text).toBe("There is no session yet.");
    }
    expect(pressed(empty, "q").command).toEqual({ kind: "quit" });
  });

  test.each<readonly [string, News]>([
    ["that is not found", { kind: "gone", session: "a" }],
    [
      "that was forgotten",
      event({
        type: "session-forgotten",
        session: "a",
        at: 100,
        by: "hand",
        messages: 1,
        archiveEntries: 0,
        bytes: 9,
      }),
    ],
  ])("a session %s leaves the list", (_, news) => {
    const state = withNews(base, news);
    expect(state.selected).toBe("b");
    expect(state.rows.has("a")).toBe(false);
  });
});

describe("a view that was changed by hand since its last turn", () => {
  test("is as full as its picture", () => {
    const step = {
      first: 1,
      last: 1,
      count: 1,
      at: 99,
      strategy: "excerpt",
      reason: "",
      tokensBefore: 1,
      tokensAfter: 1,
    };
    const state = told(listed(row("a", 30, point("t1", 500, 30))), {
      kind: "looked",
      looked: { session: "a", picture, steps: [{ ...step, state: "holds" }] },
    });
    expect(rowOf(state).tokens).toBe(40);
    const undone = event({
      type: "view-steered",
      session: "a",
      at: 100,
      branch: "br_1",
      action: "undo",
      edits: [2],
    });
    expect(rowOf(withNews(state, undone)).tokens).toBe(500);
  });
});
