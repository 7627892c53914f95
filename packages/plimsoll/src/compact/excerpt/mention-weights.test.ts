/** Mention weights: what is mentioned where, and what makes it likely to be needed again. */

import { describe, expect, test } from "vitest";
import type { Utterance, Voice } from "./mention-counts.ts";
import { featureNames } from "./mention-features.ts";
import { type MentionWeights, readMentionWeights } from "./mention-weights.ts";

const MESSAGES = 10;

/** Ten messages of a hundred tokens each. */
const frame = {
  startOf: Array.from({ length: MESSAGES + 1 }, (_, message) => message * 100),
  headLength: 1,
};

function said(message: number, voice: Voice, text: string): Utterance {
  return { message, voice, text };
}

function weightOf(mentionWeights: MentionWeights, name: string): number {
  const number = mentionWeights.names.indexOf(name);
  if (number < 0) throw new Error(`${name} is not in the ledger.`);
  return mentionWeights.weights[number] ?? Number.NaN;
}

describe("the weight of an atom", () => {
  test.each<[string, readonly Utterance[], readonly Utterance[]]>([
    [
      "what the agent used in a call, before what a tool said",
      [said(5, "call", "some_name")],
      [said(5, "result", "other_name")],
    ],
    [
      "what the agent talked about, before what a tool said",
      [said(5, "agent", "some_name")],
      [said(5, "result", "other_name")],
    ],
    [
      "what the user named, before what a tool said",
      [said(5, "user", "some_name")],
      [said(5, "result", "other_name")],
    ],
    [
      "what stands in an error, before what does not",
      [said(5, "result", "error: some_name")],
      [said(5, "result", "fine: other_name")],
    ],
    ["what is newer", [said(9, "result", "some_name")], [said(2, "result", "other_name")]],
    [
      "what more messages mention",
      [said(3, "result", "some_name"), said(5, "result", "some_name")],
      [said(5, "result", "other_name")],
    ],
    [
      "what stands alone, before one of a crowd",
      [said(5, "result", "some_name")],
      [said(6, "result", "other_name and_that and_those and_these and_more")],
    ],
  ])("is higher for %s", (_, some, others) => {
    const mentionWeights = readMentionWeights([...some, ...others], frame);
    expect(weightOf(mentionWeights, "some_name")).toBeGreaterThan(
      weightOf(mentionWeights, "other_name"),
    );
  });

  test("is higher for files than for numbers", () => {
    const mentionWeights = readMentionWeights(
      [said(5, "result", "notes.md"), said(6, "result", "4711")],
      frame,
    );
    expect(weightOf(mentionWeights, "notes.md")).toBeGreaterThan(weightOf(mentionWeights, "4711"));
  });

  test("is nothing for what the head says: it is always seen", () => {
    const mentionWeights = readMentionWeights(
      [said(0, "user", "load_line"), said(5, "call", "load_line hull_mark")],
      frame,
    );
    expect(weightOf(mentionWeights, "load_line")).toBe(0);
    expect(weightOf(mentionWeights, "hull_mark")).toBeGreaterThan(0);
  });
});

describe("plain words", () => {
  test("count where people and agents talk, and far less than names", () => {
    const mentionWeights = readMentionWeights(
      [said(3, "user", "the harbour is closed"), said(4, "result", "anchorage hull_mark")],
      frame,
    );
    expect(mentionWeights.names).toContain("harbour");
    expect(mentionWeights.names).not.toContain("anchorage");
    expect(weightOf(mentionWeights, "harbour")).toBeGreaterThan(0);
    expect(weightOf(mentionWeights, "harbour")).toBeLessThan(
      weightOf(mentionWeights, "hull_mark") / 10,
    );
  });

  test("are told by their stem, and the commonest are passed over", () => {
    const mentionWeights = readMentionWeights(
      [said(3, "user", "loading something that loaded with loads")],
      frame,
    );
    expect(mentionWeights.names).toEqual(
      ["load", "loaded", "loads"].filter((word) => mentionWeights.names.includes(word)),
    );
    expect(mentionWeights.names).toContain("load");
    expect(mentionWeights.names).not.toContain("something");
  });

  test("are others than names that are spelt alike", () => {
    const mentionWeights = readMentionWeights([said(3, "user", "ABCDEF is abcdef")], frame);
    expect(mentionWeights.kinds).toEqual(["id", "word"]);
  });

  test("that are rarer weigh more", () => {
    const mentionWeights = readMentionWeights(
      [
        said(3, "user", "harbour"),
        ...[4, 5, 6, 7].map((message) => said(message, "user", "anchor")),
      ],
      frame,
    );
    expect(weightOf(mentionWeights, "harbour")).toBeGreaterThan(weightOf(mentionWeights, "anchor"));
  });
});

describe("news", () => {
  test.each<[string, Voice, string]>([
    ["an error that a tool showed", "result", "ValueError: bad row 17"],
    ["a test that failed", "result", "FAILED tests/test_a.py::test_b"],
    ["what was decided", "agent", "The root cause is the regular expression."],
    ["what the user decided", "user", "Let's use the old one instead of it."],
  ])("%s is worth its line", (_, voice, text) => {
    const mentionWeights = readMentionWeights([said(5, voice, text)], frame);
    const news = mentionWeights.kinds.indexOf("news");
    expect(news).toBeGreaterThanOrEqual(0);
    expect(mentionWeights.weights[news]).toBeGreaterThan(0);
  });

  test("the same error with another number is no news", () => {
    const rows = [17, 18].map((row) => said(5, "result", `ValueError: bad row ${row}`));
    const mentionWeights = readMentionWeights(rows, frame);
    expect(mentionWeights.kinds.filter((kind) => kind === "news")).toHaveLength(1);
  });

  test("what a tool says of decisions, and an agent of errors, is none", () => {
    const mentionWeights = readMentionWeights(
      [said(5, "result", "the root cause is this"), said(6, "agent", "ValueError: bad row")],
      frame,
    );
    expect(mentionWeights.kinds).not.toContain("news");
  });
});

test("mentions are given for each utterance, by number, each once", () => {
  const mentionWeights = readMentionWeights(
    [
      said(1, "call", "src/a.ts src/a.ts"),
      said(2, "result", "nothing here"),
      said(3, "result", "src/a.ts"),
    ],
    frame,
  );
  const names = mentionWeights.mentions.map((numbers) =>
    numbers.map((number) => mentionWeights.names[number]),
  );
  expect(names[0]).toEqual([...new Set(names[0])]);
  expect(names[0]).toContain("src/a.ts");
  expect(names[1]).toEqual([]);
  expect(names[2]).toContain("src/a.ts");
});

test("nothing said is an empty ledger", () => {
  const mentionWeights = readMentionWeights([], { startOf: [0], headLength: 0 });
  expect([mentionWeights.names, mentionWeights.mentions, mentionWeights.weights.length]).toEqual([
    [],
    [],
    0,
  ]);
});

test("a key of JSON is not a name, but its words count a little", () => {
  const rows = [
    { ...said(5, "result", '"total_baggages": 0'), isMember: true },
    { ...said(5, "result", '"flight_number": "HAT169"'), isMember: true },
  ];
  const { names, mentions, weights } = readMentionWeights(rows, frame);
  expect(names).toContain("HAT169");
  expect(names).not.toContain("total_baggages");
  const worth = mentions.map((own) => own.reduce((sum, one) => sum + (weights[one] ?? 0), 0));
  expect(worth[1]).toBeGreaterThan((worth[0] ?? 0) * 10);
});

describe("learned weights", () => {
  /** Trees that only ask whether the agent has used the mention. */
  const trees = {
    features: featureNames,
    bias: 0,
    average: 0.5,
    trees: [{ nodes: [0, 1, -1, -2], leaves: [3, -3] }],
  };
  const utterances = [said(4, "result", "load_line hull_mark"), said(5, "call", "load_line")];

  test("raise a name that they expect to be used, and lower another one", () => {
    const byHand = readMentionWeights(utterances, frame);
    const learned = readMentionWeights(utterances, frame, trees);
    const change = (name: string): number =>
      weightOf(learned, name) / weightOf(byHand, name) ** 0.5;
    expect(change("load_line")).toBeCloseTo(Math.sqrt(1 / (1 + Math.exp(-3)) / 0.5), 10);
    expect(change("hull_mark")).toBeCloseTo(Math.sqrt(1 / (1 + Math.exp(3)) / 0.5), 10);
  });

  test("leave names of the head without weight", () => {
    const weights = readMentionWeights([said(0, "user", "load_line"), ...utterances], frame, trees);
    expect(weightOf(weights, "load_line")).toBe(0);
  });
});
