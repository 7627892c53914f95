/** The page of a report: everything in a conversation stays text, and the file stays small however long the conversation was. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tries } from "../../../test/harness/effort.ts";
import type { SegmentKind, TurnPoint, WindowPicture, WindowUnit } from "../../message/api.ts";
import type { CompactionEndEvent } from "../../message/event.ts";
import type { Receipt } from "../../message/receipt.ts";
import { kinds } from "../../watch/kind-words.ts";
import type { Report } from "./data.ts";
import { columnsOf } from "./history.ts";
import { reportHtml } from "./html.ts";
import { escapeHtml, html } from "./markup.ts";
import { blocksOf, layoutOf } from "./window.ts";
import { percent } from "./words.ts";

const at = Date.UTC(2026, 10, 15);
const seed = 20261116;

function picture(units: readonly WindowUnit[], wish: Partial<WindowPicture> = {}): WindowPicture {
  return {
    session: "ses_1",
    branch: "main",
    model: "m",
    window: 24_000,
    limit: 21_000,
    tokens: units.reduce((sum, unit) => sum + unit.tokens, 0),
    certainty: "exact",
    cachedTokens: 0,
    takenOutTokens: 0,
    units,
    ...wish,
  };
}

function unit(id: string, kind: SegmentKind, tokens: number, begins = ""): WindowUnit {
  return { id, segments: [{ kind, tokens }], tokens, begins, first: 1, last: 2, edits: [1] };
}

function turn(index: number, wish: Partial<TurnPoint> = {}): TurnPoint {
  const conversation = 1000 + index;
  return {
    id: `turn_${index}`,
    branch: "main",
    at: at + index,
    endedAt: at + index,
    model: "m",
    outcome: "edited",
    status: "complete",
    measurement: {
      system: 100,
      skills: 0,
      tools: 200,
      conversation,
      total: 300 + conversation,
      certainty: "exact",
    },
    tokensBefore: 2000 + index,
    limit: 21_000,
    window: 24_000,
    ...wish,
  };
}

function receipt(text: string, strategy: string, handle: string): Receipt {
  const fact = { text, number: 7 };
  const line = {
    facts: 3,
    verbatim: 2,
    behindHandle: 1,
    verbatimExamples: [fact, fact],
    behindHandleExamples: [fact],
  };
  return {
    classes: {
      constraint: line,
      error: line,
      decision: line,
      task: line,
      command: line,
      path: line,
      id: line,
      number: line,
    },
    tokensBefore: 20_000,
    tokensAfter: 9_000,
    milliseconds: 12,
    strategies: [strategy],
    coherence: 0.9,
    handles: [handle],
  };
}

function compaction(words: string): CompactionEndEvent {
  return {
    type: "compaction-end",
    session: "ses_1",
    at,
    turn: "turn_1",
    branch: "main",
    reason: words,
    strategies: [words],
    edits: [1],
    handles: [words],
    tokensBefore: 20_000,
    tokensAfter: 9_000,
    messagesTakenOut: 4,
    receipt: receipt(words, words, words),
  };
}

const figures: Report["figures"] = {
  turns: 2,
  clientTokens: 70_000,
  sentTokens: 7_000,
  savedTokens: 63_000,
  savedShare: 0.9,
  cachedShare: 0.5,
  readTokens: 7_000,
  usd: 1.5,
  estimatedUsd: 0,
  savedUsd: 3,
  compactions: 1,
  recoveries: 0,
};

/** A report in which every word comes from outside. */
function reportOf(words: string): Report {
  return {
    session: { id: words, wire: words, agent: words, createdAt: at, updatedAt: at },
    madeAt: at,
    models: [words],
    figures: { ...figures, pricesOf: words },
    picture: picture([
      { ...unit("m1", "user", 9000, words), handle: words, originalTokens: 90_000, isPinned: true },
      unit("e1", "handle", 500, words),
    ]),
    turns: [turn(0), turn(1, { outcome: "compacted", model: words, error: words })],
    receipts: [compaction(words)],
    edits: [
      {
        seq: 1,
        branch: words,
        step: words,
        anchor: words,
        at,
        action: { kind: "remove", first: words, last: words, text: words, handle: words },
        place: "undefined",
        strategy: words,
        reason: words,
        tokensBefore: 90_000,
        tokensAfter: 9000,
      },
    ],
    errors: [{ session: words, code: "INTERNAL", message: words, at }],
  };
}

function pageOf(report: Report, command = "plimsoll log"): string {
  return reportHtml(report, { further: [{ command, shows: command }], version: "1.2.3" });
}

const hostile: readonly string[] = [
  "<script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  `"><svg onload=alert(1)><style>*{display:none}</style>`,
  "' autofocus onfocus='alert(1)",
  "</title></style></svg><iframe srcdoc='<b>'></iframe><!--",
  "]]><a href=javascript:alert(1)>x</a>&lt;b&gt;&#60;i>",
  "$&{alert(1)}{{7*7}}`\\",
  "abc\u202egnp.exe\u2066\u200b\u0000\u001b]0;owned\u0007\u009b31m\u{e0041}\ud800",
];

/** Every tag of the page, with the names of its attributes. Text contains no angle brackets, because it is escaped. */
function tagsOf(page: string): readonly { name: string; attributes: readonly string[] }[] {
  const body = page.replace(/<style>[^<]*<\/style>/, "<style></style>");
  return [...body.matchAll(/<(?<name>[/!]?[a-zA-Z]+)(?<rest>[^<>]*)>/g)].map(({ groups }) => ({
    name: (groups?.["name"] ?? "").replace("/", ""),
    attributes: [...(groups?.["rest"] ?? "").matchAll(/([\w:-]+)="[^"]*"/g)].map(
      ([, name = ""]) => name,
    ),
  }));
}

const attributesAllowed = new Set(
  "aria-hidden aria-label aria-labelledby charset class content cx cy d data-label fill height http-equiv id lang name overflow patternTransform patternUnits preserveAspectRatio r role rx scope stroke stroke-width title viewBox width x x1 x2 y y1 y2".split(
    " ",
  ),
);
const tagsRefused = new Set(
  "script img image iframe object embed link base form input a use".split(" "),
);

describe("words of a conversation", () => {
  test.each(hostile)("are text wherever they stand: %j", (words) => {
    const page = pageOf(reportOf(words), words);
    const plain = tagsOf(pageOf(reportOf("plain"), "plain"));
    const tags = tagsOf(page);
    expect(tags.map(({ name }) => name)).toEqual(plain.map(({ name }) => name));
    for (const { name, attributes } of tags) {
      expect(tagsRefused).not.toContain(name);
      for (const attribute of attributes) expect(attributesAllowed).toContain(attribute);
    }
    expect(page.split(escapeHtml(words)).length - 1).toBeGreaterThan(15);
  });

  test("cannot hide, reorder or command: controls and bidirectional marks are shown", () => {
    const page = pageOf(reportOf(hostile.at(-1) ?? ""));
    expect(page).toContain("abc⟦U+202E⟧gnp.exe⟦U+2066⟧⟦U+200B⟧␀␛]0;owned␇⟦U+009B⟧31m");
    const unseen = /(?!\n)[\p{Cc}\p{Cs}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}]/u;
    expect(page).not.toMatch(unseen);
  });

  test("are cut where a line is a megabyte, and say how long it was", () => {
    const page = pageOf(reportOf("x".repeat(1024 * 1024)));
    expect(page.length).toBeLessThan(100_000);
    expect(page).toContain("x… (1,048,576 characters)");
    expect(escapeHtml("a😀", 2)).toBe("a… (3 characters)");
  });

  test("come out of the page as they were: nothing is escaped twice", () => {
    expect(escapeHtml(`<a href="x">&amp;'`)).toBe("&lt;a href=&quot;x&quot;&gt;&amp;amp;&#39;");
    const inner = html`<b>${"<i>"}</b>`;
    expect(html`<p title="${'"'}">${inner}${[inner]}${7}</p>`.markup).toBe(
      '<p title="&quot;"><b>&lt;i&gt;</b><b>&lt;i&gt;</b>7</p>',
    );
  });
});

describe("the page", () => {
  test("asks nobody for anything", () => {
    const page = pageOf(reportOf("https://example.com/x.png"));
    expect(page).toContain(
      `<meta http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;; style-src &#39;unsafe-inline&#39;; img-src data:">`,
    );
    expect(page).not.toMatch(/(?:src|href|action|srcset)\s*=|@import|url\((?!#)/);
  });

  test("tells of a session in which nothing happened yet", () => {
    const { session, madeAt } = reportOf("new");
    const nothing = { ...figures, turns: 0, cachedShare: null, usd: null, savedUsd: null };
    const empty = { models: [], turns: [], receipts: [], edits: [], errors: [] };
    const page = pageOf({ session, madeAt, figures: nothing, ...empty });
    for (const sentence of [
      "This session has no messages yet.",
      "There has been no turn yet.",
      "Nothing was compacted",
      "Nothing was edited",
      "None were recorded.",
      "the provider did not report it",
      "the prices of this model are not known",
    ])
      expect(page).toContain(sentence);
    expect(page).not.toMatch(/NaN|undefined|Infinity|null/);
  });

  test("stays small for 10,000 units, 100,000 turns, and a thousand compactions of many edits", () => {
    const names = kinds.map(({ kind }) => kind);
    const units = Array.from({ length: 10_000 }, (_, index) =>
      unit(
        `m${index}`,
        names[index % names.length] ?? "user",
        1 + (index % 90),
        "words ".repeat(16),
      ),
    );
    const [edit] = reportOf("plain").edits;
    const report: Report = {
      ...reportOf("plain"),
      picture: picture(units, { window: 600_000, limit: 500_000 }),
      turns: Array.from({ length: 100_000 }, (_, index) => turn(index, { outcome: "compacted" })),
      receipts: Array.from({ length: 1000 }, () => compaction("a fact of some length ".repeat(4))),
      edits: edit === undefined ? [] : Array.from({ length: 20_000 }, () => edit),
      errors: Array.from({ length: 200 }, () => ({
        session: "s",
        code: "INTERNAL",
        message: "m".repeat(1000),
        at,
      })),
    };
    const page = pageOf(report);
    expect(page.length).toBeLessThan(3_000_000);
    expect(page.match(/<rect /g)?.length).toBeLessThan(4500);
  });
});

const segment = fc.record({
  kind: fc.constantFrom(...kinds.map(({ kind }) => kind)),
  tokens: fc.nat(400),
});
const someUnits = fc
  .array(fc.array(segment, { minLength: 1, maxLength: 4 }), { maxLength: 300 })
  .map((all) =>
    all.map((segments, index) => ({
      id: `m${index}`,
      segments,
      tokens: segments.reduce((sum, { tokens }) => sum + tokens, 0),
      begins: "",
    })),
  );

describe("the window as blocks", () => {
  test("they follow each other without a gap, and take as much of the room as their tokens", () => {
    fc.assert(
      fc.property(someUnits, fc.integer({ min: 1, max: 400_000 }), (units, window) => {
        const drawn = picture(units, { window, limit: Math.floor(window * 0.9) });
        const layout = layoutOf(drawn);
        let along = 0;
        for (const { row, x, width } of blocksOf(drawn, layout)) {
          expect(row + x).toBeCloseTo(along, 6);
          expect(x + width).toBeLessThanOrEqual(1 + 1e-9);
          along = row + x + width;
        }
        expect(along).toBeCloseTo((drawn.tokens / layout.capacity) * layout.rows, 6);
      }),
      tries({ runs: 60, seed }),
    );
  });

  test("units that are wide enough are told one by one, in their colours", () => {
    const units = [unit("a", "system", 3000), unit("b", "user", 6000), unit("c", "handle", 100)];
    const drawn = picture(units);
    const blocks = blocksOf(drawn, layoutOf(drawn));
    const told = (id: string): readonly string[] =>
      blocks.filter((block) => block.unit?.id === id).map(({ kind }) => kind);
    expect(told("a")).toEqual(["system"]);
    expect(new Set(told("b"))).toEqual(new Set(["user"]));
    expect(told("c")).toEqual(["handle"]);
    const page = pageOf({ ...reportOf("plain"), picture: drawn });
    expect(page).toContain('class="k-handle told"');
    expect(page).toContain("limit 21,000</text>");
  });

  test("what is narrower than half a pixel is drawn together, in the colour of the most of it", () => {
    const thin = Array.from({ length: 100 }, (_, index) =>
      unit(`m${index}`, index % 3 === 0 ? "results" : "user", 1),
    );
    const drawn = picture(thin, { window: 10_000_000, limit: 9_000_000 });
    const blocks = blocksOf(drawn, layoutOf(drawn));
    expect(blocks.length).toBeLessThan(3);
    expect(blocks[0]?.kind).toBe("user");
    expect(blocks[0]?.unit).toBeUndefined();
  });
});

describe("turns as columns", () => {
  test("one for each of them, as long as there are no more than 500", () => {
    const columns = columnsOf(Array.from({ length: 500 }, (_, index) => turn(index)));
    expect(columns.map(({ first }) => first)).toEqual(columns.map((_, index) => index + 1));
    expect(columns[7]).toMatchObject({ system: 100, tools: 200, conversation: 1007, client: 2007 });
  });

  test("beyond that several share one, and no peak, no compaction and no turn is left out", () => {
    const isPeak = (index: number): boolean => index % 97 === 5;
    const turns = Array.from({ length: 12_345 }, (_, index) =>
      isPeak(index)
        ? turn(index, {
            outcome: index % 2 === 0 ? "compacted" : "recovered",
            measurement: { ...turn(0).measurement, conversation: 20_000, total: 20_300 },
          })
        : turn(index % 50),
    );
    const columns = columnsOf(turns);
    expect(columns.length).toBeLessThanOrEqual(500);
    expect(columns[0]?.first).toBe(1);
    expect(columns.at(-1)?.last).toBe(12_345);
    for (const [index, column] of columns.slice(1).entries())
      expect(column.first).toBe((columns[index]?.last ?? 0) + 1);
    for (const { first, last, mark, sent } of columns) {
      const own = turns.slice(first - 1, last);
      const hasPeak = own.some(({ measurement }) => measurement.total === 20_300);
      expect(mark !== undefined).toBe(hasPeak);
      expect(sent).toBe(Math.max(...own.map(({ measurement }) => measurement.total)));
    }
  });
});

test("shares that are not quite nothing or all do not look like it", () => {
  const texts = [0, 0.0001, 0.05, 0.9366, 0.99999, 1].map(percent);
  expect(texts).toEqual(["0 %", "<0.1 %", "5.0 %", "93.7 %", "99.9 %", "100 %"]);
});
