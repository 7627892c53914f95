import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tries } from "../../../test/harness/effort.ts";
import type { SegmentKind, SessionRow, WindowPicture } from "../../message/api.ts";
import type {
  AnswerCutEvent,
  CompactionPhase,
  ContextBreakingUpdateEvent,
} from "../../message/event.ts";
import { fillBar, pictureBar } from "./bars.ts";
import { cellsOf } from "./cells.ts";
import { type Line, plainText } from "./lines.ts";
import { onceLines, screenLines } from "./screen.ts";
import { type Mode, startState, type TopState, withNews } from "./state.ts";

function session(index: number, agent: string, total = 400): SessionRow {
  const measurement = {
    system: 100,
    skills: 0,
    tools: 50,
    conversation: total - 150,
    total,
    certainty: "exact",
  } as const;
  const lastTurn = {
    id: `t${index}`,
    branch: "br_1",
    at: 1,
    endedAt: 1000 - index,
    model: "claude-sonnet-4-6",
    outcome: "passthrough",
    status: "complete",
    measurement,
    tokensBefore: total + 300,
    limit: 1000,
    window: 1250,
  } as const;
  const times = { createdAt: 0, updatedAt: 1000 - index };
  return {
    id: `ses_${index}`,
    tenant: "",
    wire: "w",
    agent,
    ...times,
    branches: 1,
    messages: 2,
    turns: 12,
    lastTurn,
  };
}

function pictureOf(
  begins: string,
  ...parts: readonly (readonly [SegmentKind, number])[]
): WindowPicture {
  const units = parts.map(([kind, tokens], index) => ({
    id: `m${index}`,
    first: index,
    last: index,
    segments: [{ kind, tokens }],
    tokens,
    begins,
  }));
  const tokens = units.reduce((sum, unit) => sum + unit.tokens, 0);
  const place = { session: "ses_0", branch: "br_1", model: "m", window: 1250, limit: 1000 };
  return { ...place, tokens, certainty: "exact", cachedTokens: 20, takenOutTokens: 300, units };
}

function stateWith(words: string, sessions = 3): TopState {
  const items = Array.from({ length: sessions }, (_, index) => session(index, words));
  const picture = pictureOf(words, ["system", 100], ["tools", 50], ["user", 100], ["results", 150]);
  const step = { first: 3, last: 9, count: 7, at: 0, strategy: words, reason: words } as const;
  const steps = [{ ...step, tokensBefore: 900, tokensAfter: 600, state: "undone" as const }];
  return [
    { kind: "listed", list: { items } } as const,
    { kind: "looked", looked: { session: "ses_0", picture, steps } } as const,
    { kind: "link", link: { kind: "live" } } as const,
    { kind: "note", note: { tone: "refused", text: words } } as const,
  ].reduce(withNews, startState("http://127.0.0.1:4141"));
}

function phaseEvent(phase: CompactionPhase, message: string): ContextBreakingUpdateEvent {
  const place = { session: "ses_0", at: 5, turn: "t9", branch: "br_1" };
  const progress = phase === "recovery" ? -1 : 62;
  return {
    type: "context-breaking-update",
    ...place,
    phase,
    message,
    progress,
    tokens: 620,
    limit: 1000,
  };
}

const textOf = (lines: readonly Line[]): string => lines.map(plainText).join("\n");
const size = { columns: 80, rows: 24 };

describe("the screen", () => {
  test("has as many lines as there are rows, none wider than it, whatever it shows", () => {
    const modes: readonly Mode[] = [
      { kind: "sessions" },
      { kind: "help" },
      { kind: "pins", unit: "m2" },
    ];
    fc.assert(
      fc.property(
        fc.string({ unit: "binary", maxLength: 300 }),
        fc.integer({ min: 1, max: 240 }),
        fc.integer({ min: 1, max: 80 }),
        fc.integer({ min: 0, max: 60 }),
        (words, columns, rows, sessions) => {
          for (const mode of modes) {
            const state = { ...stateWith(words, sessions), mode };
            const lines = screenLines(state, { columns, rows });
            expect(lines).toHaveLength(rows);
            for (const line of lines)
              expect(cellsOf(line.map(({ text }) => text).join(""))).toBeLessThanOrEqual(columns);
          }
        },
      ),
      tries({ runs: 100, seed: 20261116 }),
    );
  });

  test("shows at 80 by 24 the service, the sessions, what fills the window, the edits and the keys", () => {
    const text = textOf(screenLines(stateWith("builder"), size));
    for (const shown of [
      "⊖ Plimsoll  http://127.0.0.1:4141",
      "● live",
      "3 sessions · 36 turns · 1,200 tokens in view · 900 removed",
      "40 %  normal       12  claude-sonnet-4-6",
      "400 of 1,000 tokens · window 1,250 · 20 cached · 300 removed",
      "system 100 · tools 50 · conversation 250",
      "S system 100  T tools 50  U user 100  R results 150",
      "#3–9  builder ×7  900 → 600  undone builder",
      "↑↓ select  c compact  u undo  p pin  ? help  q quit",
    ])
      expect(text).toContain(shown);
  });

  test("shows the number of open tickets, and an answer that was cut, with its session", () => {
    const tickets = { ids: new Set(["TK-1", "TK-2"]), hasMore: false };
    const counted = withNews(stateWith("builder"), { kind: "tickets", tickets });
    const cut: AnswerCutEvent = {
      type: "answer-cut",
      session: "unknown",
      at: 1,
      turn: "t1",
      end: "broken",
      tokens: 40,
      basis: "about 60 %, from one earlier answer",
      outcome: "escalated",
      ticket: "TK-2",
    };
    const text = textOf(screenLines(withNews(counted, { kind: "event", event: cut }), size));
    expect(text).toContain("36 turns · 2 open tickets · 1,200 tokens in view");
    expect(text).toContain(
      "! An answer stopped because the stream broke. 40 tokens arrived: about",
    );
    expect(text).toContain("Ticket TK-2 asks a person what to do.");
  });

  test("tells two sessions of one agent apart, where there is room behind its name", () => {
    const items = ["winter", "summer"].map((name, index) => ({
      ...session(index, "coder"),
      clientKey: `plimsoll:${name}`,
    }));
    const state = withNews(startState("http://127.0.0.1:4141"), {
      kind: "listed",
      list: { items },
    });
    const text = textOf(screenLines(state, { columns: 120, rows: 24 }));
    expect(text).toMatch(/coder {2}winter/);
    expect(text).toMatch(/coder {2}summer/);
    expect(textOf(screenLines(state, { columns: 40, rows: 24 }))).not.toContain("winter");
  });

  test("has the state, and every kind, in words or letters: without colours nothing is lost", () => {
    const near = withNews(stateWith("builder"), {
      kind: "listed",
      list: { items: [session(0, "builder", 850)] },
    });
    const [line] = screenLines(near, size).filter((shown) => plainText(shown).includes("85 %"));
    expect(line && plainText(line)).toMatch(/■{10}·+│╱+ +85 % {2}warning/);
  });

  test("keeps the selected session in sight", () => {
    const state: TopState = { ...stateWith("builder", 60), selected: "ses_41" };
    const selected = screenLines(state, size).filter((line) => plainText(line).startsWith(" ►"));
    expect(selected).toHaveLength(1);
    expect(textOf(screenLines(state, size))).toMatch(/SESSION +39–44\/60\n/);
    expect(textOf(screenLines(state, size))).toContain("ses_41");
  });

  test("says in words that it is too small", () => {
    expect(textOf(screenLines(stateWith("builder"), { columns: 59, rows: 24 }))).toMatch(
      /^Too small for plimsoll top:\nit needs 60×12,\nthis is 59×24\./,
    );
    expect(textOf(screenLines(stateWith("x"), { columns: 60, rows: 12 }))).toContain("Plimsoll");
  });

  test("says how to begin where there is no session", () => {
    const state = withNews(startState("u"), { kind: "listed", list: { items: [] } });
    expect(textOf(screenLines(state, size))).toContain("No session yet");
  });

  test("names the service's own reason when the token is refused", () => {
    const link = { kind: "refused", sentence: "This token is not known." } as const;
    const text = textOf(screenLines(withNews(stateWith("x"), { kind: "link", link }), size));
    expect(text).toContain("× refused");
    expect(text).toContain("! This token is not known.");
  });
});

describe("the nine phases", () => {
  const phases: readonly (readonly [CompactionPhase, string])[] = [
    ["detection", "○"],
    ["summarize-old", "≡"],
    ["prioritize-recent", "▲"],
    ["content-chunking", "▒"],
    ["discard-low-rel", "×"],
    ["hybrid", "±"],
    ["success", "√"],
    ["recovery", "!"],
    ["handover", "»"],
  ];

  test.each(phases)(
    "%s has an icon, its message and a bar, in its row and in full",
    (phase, icon) => {
      const said = `Now comes ${phase}…`;
      const event = phaseEvent(phase, said);
      const lines = screenLines(withNews(stateWith("builder"), { kind: "event", event }), size);
      const text = textOf(lines);
      expect(text).toContain(` ►${icon} `);
      const line = text.split("\n").find((shown) => shown.includes(said));
      expect(line).toMatch(phase === "recovery" ? /▒{12} +…/ : /■{7}·{5} +62 %/);
      expect(line?.startsWith(` ${icon} ${said}`)).toBe(true);
    },
  );

  test("say which area must be spared", () => {
    const event = { ...phaseEvent("hybrid", "Now"), priority: { level: 1, area: "auth" } } as const;
    const lines = screenLines(withNews(stateWith("builder"), { kind: "event", event }), size);
    expect(textOf(lines)).toContain("± P1: auth Now");
  });

  test("are not shown where the user does not want them", () => {
    const { settings: usual } = startState("");
    const settings = { ...usual, progress: { ...usual.progress, show: false } };
    const event = phaseEvent("hybrid", "Applying hybrid compression…");
    const state = withNews({ ...stateWith("builder"), settings }, { kind: "event", event });
    expect(textOf(screenLines(state, size))).not.toContain("Applying");
  });
});

describe("bars", () => {
  const bar = (tokens: number, limit: number, window: number): string =>
    plainText(fillBar({ tokens, limit, window }, "normal", 21));

  test("have the load line where the limit is, and go past it", () => {
    expect(bar(500, 800, 1000)).toBe("■■■■■■■■■■······│╱╱╱╱");
    expect(bar(900, 800, 1000)).toBe("■■■■■■■■■■■■■■■■│■■╱╱");
    expect(bar(5000, 1000, 1000)).toBe("■■■■│■■■■■■■■■■■■■■■■");
    expect(bar(1, 800, 1000)).toBe("■···············│╱╱╱╱");
    expect(bar(0, 0, 0)).toBe("│····················");
    // A limit far below the window: the bar is scaled to the limit.
    expect(bar(90, 100, 1000)).toBe("■■■■■■■■■■■■■■■■··│╱╱");
  });

  test("of a picture are proportional, in the order of the window, each stretch with its letter", () => {
    const picture = pictureOf("", ["system", 125], ["tools", 125], ["user", 250], ["results", 250]);
    expect(plainText(pictureBar(picture, 51))).toBe(
      "S████T████U█████████R█████████░░░░░░░░░░│╱╱╱╱╱╱╱╱╱╱",
    );
  });

  test("of ten thousand units show what takes the most of each cell", () => {
    const parts = Array.from({ length: 10_000 }, (_, index): [SegmentKind, number] => [
      index % 2 === 0 ? "user" : "results",
      index % 2 === 0 ? 1 : 3,
    ]);
    const picture = { ...pictureOf("", ...parts), window: 20_000, limit: 20_000 };
    expect(plainText(pictureBar(picture, 41))).toBe(`R${"█".repeat(39)}│`);
  });
});

describe("one frame as text", () => {
  test("has a line for every session, and no keys", () => {
    const text = textOf(onceLines(stateWith("builder", 70), 80));
    expect(text.split("\n").filter((line) => line.includes("claude-sonnet-4-6"))).toHaveLength(70);
    expect(text).not.toContain("quit");
    expect(text).toContain("S████");
  });
});
