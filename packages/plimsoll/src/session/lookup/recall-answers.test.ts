/** What a search in a session answers: to questions about the user, to questions without an answer, and with little room. */

import { beforeAll, describe, expect, test } from "vitest";
import { codingTalk, sixRules } from "../../../test/generate/coding-talk.ts";
import { loadTokenizer } from "../../budget/tokenizer.ts";
import type { Message, Part, Role } from "../../message/message.ts";
import type { WordVectors } from "../../search/vectors.ts";
import { loadWordVectors } from "../models/word-vectors.ts";
import { buildRecall, type RecallIndex } from "./build-recall.ts";
import { type Passage, recall } from "./recall.ts";
import { segmentsOf } from "./segments.ts";

let countTokens: (text: string) => number;
let vectors: WordVectors | undefined;
let coding: RecallIndex;

beforeAll(async () => {
  const tokenizer = await loadTokenizer("tiktoken:o200k_base");
  countTokens = (text) => tokenizer.count(text).tokens;
  vectors = await loadWordVectors();
  coding = indexOf(codingTalk);
});

function indexOf(messages: readonly Message[]): RecallIndex {
  return buildRecall(
    messages.flatMap((message) => segmentsOf(message)),
    vectors === undefined ? {} : { vectors },
  );
}

function ask(index: RecallIndex, query: string, budgetTokens = 2000): readonly Passage[] {
  return recall(index, query, { budgetTokens, countTokens });
}

function said(role: Role, text: string): Message {
  return { role, parts: [{ kind: "text", text }] };
}

function rulesIn(passages: readonly Passage[]): number {
  return sixRules.filter((rule) => passages.some(({ text }) => text.includes(rule))).length;
}

describe("a question about what the user said", () => {
  test.each([
    "which rules did the user give",
    "what did the user tell me not to do",
    "list all of the user's instructions",
    "What was I told to always or never do?",
    "Welche Regeln hat der Nutzer gegeben?",
  ])("finds the rules before everything else: %s", (query) => {
    const found = ask(coding, query);
    expect(found.slice(0, 6).every(({ role }) => role === "user")).toBe(true);
    expect(rulesIn(found.slice(0, 6))).toBe(6);
  });

  test("that names a topic finds the rule about it first", () => {
    const [first] = ask(coding, "which rules did the user give about dependencies");
    expect(first?.text).toContain(sixRules[3]);
  });

  test.each([
    ["what did the user ask first", /^Port the hull calculator/],
    ["What was the last thing the user asked for?", /^And the README/],
    ["what did the user say about the tides", /^The tides come as text/],
  ])("finds the user's own words: %s", (query, expected) => {
    const [first] = ask(coding, query);
    expect(first).toMatchObject({ role: "user", text: expect.stringMatching(expected) });
  });

  test("about something that nobody mentioned finds nothing", () => {
    expect(ask(coding, "what did the user say about the wifi in the hotel")).toEqual([]);
  });

  test("leaves out rules that the asker still sees", () => {
    const isLeftOut = (segment: number): boolean => segment < 30;
    const limits = { budgetTokens: 2000, countTokens, isLeftOut };
    const found = recall(coding, "which rules did the user give", limits);
    expect(found.every(({ segment }) => segment >= 30)).toBe(true);
    expect(rulesIn(found)).toBeGreaterThan(2);
    expect(rulesIn(found)).toBeLessThan(6);
  });

  test("is not a question about a part of the program that is called user", () => {
    const found = ask(coding, "where is compute_parser3 called with user_4");
    expect(found[0]?.role).toBe("tool");
  });

  test("does not take what the user pasted for a rule", () => {
    const pasted = "Why does it say this?\n```\nYou must never use a wildcard here.\n```";
    const messages = [
      said("user", pasted),
      said("assistant", "It is a warning."),
      said("user", "Never use tabs."),
    ];
    const [first] = ask(indexOf(messages), "which rules did the user give");
    expect(first?.text).toBe("Never use tabs.");
  });
});

test("the user's own words come before equally relevant words of others", () => {
  const filler = Array.from({ length: 20 }, (_, i) => said("tool", `line ${i} of the build log`));
  const statement = "The harbour crane lifts forty tonnes.";
  const others = [said("tool", statement), said("assistant", statement)];
  const messages = [...filler, ...others, ...filler, said("user", statement), ...filler];
  const [first] = ask(indexOf(messages), "how much does the harbour crane lift");
  expect(first).toMatchObject({ role: "user", text: statement });
});

describe("a question without an answer", () => {
  test.each([
    "what is the wifi password of the hotel",
    "Which restaurant did my grandmother recommend in Lisbon?",
    "zebra xylophone marmalade",
    "quarterly revenue forecast of the subsidiary",
  ])("finds nothing: %s", (query) => {
    expect(ask(coding, query)).toEqual([]);
  });

  test("finds nothing although one of its three words occurs", () => {
    const messages = [...codingTalk, said("user", "The password of the database is in the vault.")];
    const index = indexOf(messages);
    expect(ask(index, "what is the wifi password of the hotel")).toEqual([]);
    expect(ask(index, "database password")[0]?.text).toContain("vault");
  });
});

describe("a score", () => {
  const statement = "Okonkwo is the harbour master of pier seven.";
  const talk = [
    ...Array.from({ length: 30 }, (_, i) => said("assistant", `Note ${i}: the weather was fine.`)),
    said("user", statement),
  ];

  test("is the share of the query that the passage covers, and not 1 for the best", () => {
    const scoreOf = (query: string): number => ask(indexOf(talk), query)[0]?.score ?? 0;
    expect(scoreOf("harbour master")).toBe(1);
    expect(scoreOf("harbour master zeppelin")).toBeGreaterThan(0.5);
    expect(scoreOf("harbour master zeppelin")).toBeLessThan(0.8);
  });

  test("of a passage hardly changes because a better one is added", () => {
    const query = "harbour master zeppelin accordion";
    const scoreIn = (messages: readonly Message[]): number | undefined =>
      ask(indexOf(messages), query).find(({ text }) => text === statement)?.score;
    const better = said("user", "The harbour master keeps an accordion in a zeppelin.");
    const between = Array.from({ length: 5 }, (_, i) => said("assistant", `Rain again, ${i}.`));
    const [alone, beside] = [scoreIn(talk), scoreIn([...talk, ...between, better])];
    expect(alone).toBeCloseTo(0.5, 1);
    expect(Math.abs((alone ?? 0) - (beside ?? 1))).toBeLessThan(0.1);
  });
});

describe("a budget that is smaller than the hit", () => {
  const lines = Array.from({ length: 40 }, (_, i) => `Row ${i} of the table has nothing to tell.`);
  lines[25] = "The anchor weighs 900 kg, and its chain is made of steel.";
  const messages = [said("user", lines.join(" ")), said("assistant", "The anchor? I see.")];

  test("shows a part of it with the words of the query, cut at sentences", () => {
    const [only, ...others] = ask(indexOf(messages), "what does the anchor chain weigh", 40);
    expect(others).toEqual([]);
    expect(only?.text).toContain(lines[25]);
    expect(lines.join(" ")).toContain(only?.text);
    expect(only?.text).toMatch(/^(?:Row|The) .*\.$/);
    expect(countTokens(only?.text ?? "") + 4).toBeLessThanOrEqual(40);
    const part = only?.text.length ?? 0;
    expect(only?.missingChars).toBeGreaterThan(100);
    expect(part + (only?.missingChars ?? 0)).toBeLessThanOrEqual(lines.join(" ").length);
  });

  test("cuts between words if there is no room for a sentence", () => {
    const sentence = `The lighthouse ${"stands on a rock in the sea and ".repeat(30)}shines.`;
    const [only] = ask(indexOf([said("user", sentence)]), "lighthouse", 20);
    expect(only?.text).toMatch(/^The lighthouse stands/);
    expect(sentence.startsWith(`${only?.text} `)).toBe(true);
    expect(only?.missingChars).toBe(sentence.length - (only?.text.length ?? 0));
  });
});

describe("a message of several speakers", () => {
  const content: readonly Part[] = [{ kind: "text", text: "The keel is 7 m long." }];
  const message: Message = {
    role: "user",
    parts: [
      { kind: "tool-result", callId: "a", content, isError: false },
      { kind: "text", text: "The keel must become longer." },
    ],
  };

  test("keeps the words of a tool apart from the user's", () => {
    const tools = new Map([["a", "measure"]]);
    const segments = segmentsOf(message, tools);
    expect(segments.map(({ role, title, text }) => [role, title, text])).toEqual([
      ["tool", "tool result of measure", "The keel is 7 m long."],
      ["user", "user", "The keel must become longer."],
    ]);
    const found = recall(buildRecall(segments), "keel", { budgetTokens: 200, countTokens });
    expect(found.map(({ role }) => role)).toEqual(["user", "tool"]);
  });
});
