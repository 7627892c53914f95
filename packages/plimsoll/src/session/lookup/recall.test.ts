import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { tries } from "../../../test/harness/effort.ts";
import { loadTokenizer } from "../../budget/tokenizer.ts";
import type { Message, Part, Role } from "../../message/message.ts";
import { searchableText } from "../../search/message-text.ts";
import type { WordVectors } from "../../search/vectors.ts";
import { loadWordVectors } from "../models/word-vectors.ts";
import { buildRecall } from "./build-recall.ts";
import { type RecallLimits, recall } from "./recall.ts";
import { type Segment, segmentsOf } from "./segments.ts";

let countTokens: RecallLimits["countTokens"];
let vectors: WordVectors;

beforeAll(async () => {
  const tokenizer = await loadTokenizer("tiktoken:o200k_base");
  countTokens = (text) => tokenizer.count(text).tokens;
  const loaded = await loadWordVectors();
  if (loaded === undefined) throw new Error("packages/plimsoll/data/words.bin is missing");
  vectors = loaded;
});

function said(role: Role, text: string): Message {
  return { role, parts: [{ kind: "text", text }] };
}

function result(text: string): Message {
  const content: readonly Part[] = [{ kind: "text", text }];
  return { role: "tool", parts: [{ kind: "tool-result", callId: "c", content, isError: false }] };
}

function call(name: string, input: unknown): Message {
  return {
    role: "assistant",
    parts: [{ kind: "tool-call", id: "c", name, input: JSON.stringify(input) }],
  };
}

function segments(messages: readonly Message[]): readonly Segment[] {
  return messages.flatMap((message) => segmentsOf(message));
}

function ask(messages: readonly Message[], query: string, budgetTokens = 200) {
  const index = buildRecall(segments(messages), { vectors });
  return recall(index, query, { budgetTokens, countTokens });
}

const smallTalk = Array.from({ length: 40 }, (_, i) =>
  said(i % 2 === 0 ? "user" : "assistant", `Number ${i}: nothing of note, the weather was fine.`),
);

test("the message that answers comes first, with its role and its place", () => {
  const messages = [...smallTalk, said("user", "My sister adopted a greyhound."), ...smallTalk];
  const [first] = ask(messages, "Which dog did the sister adopt?");
  expect(first).toEqual({
    text: "My sister adopted a greyhound.",
    segment: 40,
    role: "user",
    score: expect.closeTo(2 / 3),
  });
});

test("a synonym is found through the vectors, and only through them", () => {
  const messages = [...smallTalk, said("user", "We purchased an apartment."), ...smallTalk];
  expect(ask(messages, "bought?", 40)[0]?.segment).toBe(40);
  const without = recall(buildRecall(segments(messages)), "bought?", {
    budgetTokens: 40,
    countTokens,
  });
  expect(without).toEqual([]);
});

test("the answer beside the question is brought along", () => {
  const messages = [
    ...smallTalk,
    said("user", "Where did you spend the holidays?"),
    said("assistant", "In Lisbon, with my parents."),
    ...smallTalk,
  ];
  expect(ask(messages, "holidays", 60).map(({ segment }) => segment)).toEqual(
    expect.arrayContaining([40, 41]),
  );
});

test("who is asked about is heard before who else speaks of it", () => {
  const messages = Array.from({ length: 30 }, (_, i) =>
    said("user", i % 2 === 0 ? `Ann: so be it, ${i}.` : `Ben: so be it, ${i}.`),
  );
  messages[10] = said("user", "Ann: I play the cello.");
  messages[21] = said("user", "Ben: I play the cello.");
  expect(ask(messages, "What does Ben play?", 30)[0]?.segment).toBe(21);
  expect(ask(messages, "What does Ann play?", 30)[0]?.segment).toBe(10);
});

test("of a long result only the lines around the hit come back, as they stood there", () => {
  const lines = Array.from({ length: 400 }, (_, i) => `    row_${i} = compute(${i})`);
  lines[200] = "    raise CorruptHeaderError('magic number')";
  const messages = [
    said("user", "Fix it."),
    call("bash", { command: "cat a.py" }),
    result(lines.join("\n")),
  ];
  const [first] = ask(messages, "Where is the corrupt header error raised?");
  expect(first?.segment).toBe(2);
  expect(first?.text.split("\n")).toContain(lines[200]);
  for (const line of first?.text.split("\n") ?? []) expect(lines).toContain(line);
});

test("what is called, and with which arguments, is found", () => {
  const messages = [
    said("user", "Go."),
    call("write_file", {
      path: "src/keel.ts",
      content: "export const draught = 7;\nexport const beam = 3;",
    }),
    result("ok"),
    ...smallTalk,
  ];
  const [first] = ask(messages, "draught of the keel");
  expect(first?.text).toBe(
    "[call write_file]\npath:\nsrc/keel.ts\ncontent:\nexport const draught = 7;\nexport const beam = 3;",
  );
});

test("the same line is not told twice while others wait", () => {
  const messages = [
    said("user", "Start."),
    ...Array.from({ length: 20 }, () => result("FAILED tests/test_hull.py::test_leak")),
    result("FAILED tests/test_mast.py::test_sway"),
  ];
  const texts = ask(messages, "Which tests failed?", 60)
    .map(({ text }) => text)
    .join("\n");
  expect(texts).toContain("test_hull.py");
  expect(texts).toContain("test_mast.py");
});

test("what a question shares no word with is not found", () => {
  expect(ask(smallTalk, "Zyzzyva?")).toEqual([]);
  expect(ask(smallTalk, "")).toEqual([]);
  expect(ask([], "anything")).toEqual([]);
});

test("a query in Chinese finds its sentence among others without spaces", () => {
  const messages = ["今天天气很好", "我昨天买了一辆自行车", "我们去看电影吧"].map((text) =>
    said("user", text),
  );
  expect(ask(messages, "自行车", 40)[0]?.segment).toBe(1);
});

test("a budget too small for the best passage gets the beginning of it, none gets nothing", () => {
  const messages = [
    said("user", `The lighthouse ${"stands on a rock in the sea and ".repeat(30)}`),
  ];
  const [only, ...others] = ask(messages, "lighthouse", 20);
  expect(only?.text).toMatch(/^The lighthouse/);
  expect(others).toEqual([]);
  expect(ask(messages, "lighthouse", 0)).toEqual([]);
});

test("passages are verbatim, within the budget, in order of score, and the same every time", () => {
  const fragment = fc.constantFrom(
    "anchor ",
    "rope ",
    "src/a_b.ts ",
    "\n",
    "\r\n",
    "  indented\n",
    "中文字",
    "😀",
    "\u0000\u0001",
    '{"k": [1,2]}, ',
    "x".repeat(500),
    " ",
  );
  const message = fc
    .tuple(
      fc.constantFrom<Role>("user", "assistant", "tool"),
      fc.array(fragment, { maxLength: 30 }),
    )
    .map(([role, parts]) => said(role, parts.join("")));
  fc.assert(
    fc.property(
      fc.array(message, { maxLength: 12 }),
      fc.array(fragment, { maxLength: 4 }),
      fc.integer({ min: 0, max: 300 }),
      (messages, query, budgetTokens) => {
        const found = ask(messages, query.join(""), budgetTokens);
        expect(ask(messages, query.join(""), budgetTokens)).toEqual(found);
        const cost = found.reduce((sum, { text }) => sum + countTokens(text) + 4, 0);
        expect(cost).toBeLessThanOrEqual(budgetTokens);
        for (const { text, segment, score, role } of found) {
          const source = segments(messages)[segment] as Segment;
          expect(text.trim()).not.toBe("");
          expect(source.text).toContain(text);
          expect(role).toBe(source.role);
          expect(score).toBeGreaterThanOrEqual(0);
          expect(score).toBeLessThanOrEqual(1);
        }
        const ranks = found.map(({ score, role }) => score * (role === "user" ? 1.25 : 1));
        expect(ranks).toEqual(ranks.toSorted((one, other) => other - one));
      },
    ),
    tries({ runs: 150, seed: 6 }),
  );
});

test("a huge result, deep arguments and binary data are searched like everything else", () => {
  const binary = Array.from({ length: 200_000 }, (_, i) =>
    String.fromCharCode((i * 7919) % 65_536),
  ).join("");
  const deep = `${'{"a":'.repeat(50_000)}"bilge"${"}".repeat(50_000)}`;
  const messages: readonly Message[] = [
    said("user", "Begin."),
    { role: "assistant", parts: [{ kind: "tool-call", id: "c", name: "deep", input: deep }] },
    result(binary),
    result("z".repeat(1_000_000)),
    result(`${"noise and more noise\n".repeat(20_000)}the needle is under the compass`),
  ];
  const index = buildRecall(segments(messages), { vectors });
  const [needle] = recall(index, "needle compass", { budgetTokens: 100, countTokens });
  expect(needle?.text).toContain("the needle is under the compass");
  const [bilge] = recall(index, "bilge", { budgetTokens: 100, countTokens });
  expect(bilge?.segment).toBe(1);
});

test("arguments that are no JSON, media and opaque parts do not disturb", () => {
  const parts: readonly Part[] = [
    { kind: "tool-call", id: "c", name: "run", input: "{broken" },
    { kind: "image", media: { kind: "url", url: "https://example.org/x.png" } },
    { kind: "opaque", type: "server", json: { note: "rudder" } },
  ];
  expect(searchableText({ role: "assistant", parts })).toBe(
    '[call run]\n{broken\n{"note":"rudder"}',
  );
});
