/** Old content is shortened according to its kind: by how much, what stays unchanged, and code stays valid code. */

import { describe, expect, test } from "vitest";
import {
  assistant,
  exchange,
  linesOf,
  prose,
  read,
  shell,
  shown,
  system,
  user,
} from "../../../test/generate/said.ts";
import {
  type Applied,
  applyProposals,
  count,
  HANDLE,
  type Seeing,
  seenFrom,
} from "../../../test/generate/seen.ts";
import { AREAS } from "../../../test/generate/talks.ts";
import type { Message, Part } from "../../message/message.ts";
import type { Goal, Proposal, VisibleConversation } from "../../message/strategy.ts";
import { simulateConversation, simulatedAreas } from "../../simulate/simulate.ts";
import type { ContentTypeChunkingSettings } from "./compress-ratios.ts";
import { contentTypeChunking } from "./content-type-chunking.ts";

const tight: Goal = { limitTokens: 200, tokens: 100, floorTokens: 0 };

interface Wish {
  readonly settings?: ContentTypeChunkingSettings;
  readonly goal?: Goal;
  readonly seeing?: Seeing;
}

function propose(conversation: VisibleConversation, wish: Wish = {}): readonly Proposal[] {
  const strategy = contentTypeChunking(wish.settings ?? {}, { count });
  return strategy.propose(conversation, wish.goal ?? tight) as readonly Proposal[];
}

function apply(messages: readonly Message[], wish: Wish = {}): Applied {
  const before = seenFrom(messages, wish.seeing);
  return applyProposals(before, propose(before, wish), wish.seeing);
}

/** Tokens of one message afterwards / before. */
function shareLeft(messages: readonly Message[], number: number, wish: Wish = {}): number {
  const before = seenFrom(messages, wish.seeing).messages[number];
  const after = apply(messages, wish).conversation.messages[number];
  return (after?.tokens ?? 0) / (before?.tokens ?? 1);
}

const sentences = Array.from(
  { length: 60 },
  (_, at) =>
    `In week ${at} the ${at % 2 === 0 ? "crew" : "pilot"} found that berth ${at * 17} was ${at % 3} metres too short for the tanker.`,
);
const wordy = sentences.join(" ");
const python = Array.from({ length: 12 }, (_, at) => [
  `def weigh_${at}(cargo, tide=${at}):`,
  `    """Weighs cargo number ${at}. Long words about it that nobody needs to read twice."""`,
  "    total = 0",
  "    for item in cargo:",
  `        # the tide matters here, by a factor of ${at}`,
  `        total += item.weight * tide + ${at}`,
  `    if total > ${at}000:`,
  `        raise ValueError("too heavy for berth ${at}")`,
  "    return total",
  "",
]).flat();
const happenings =
  "settled moored lifted refused delayed weighed sealed opened counted towed".split(" ");
/** All lines have different forms, so that none represents others. */
const log = Array.from({ length: 120 }, (_, at) => {
  const words = [3, 7, 11]
    .map((step) => happenings[(at * step + (at >> 3)) % 10])
    .join(` item${at} `);
  const time = `2026-03-02 11:00:${String(at % 60).padStart(2, "0")}`;
  return at === 60 ? `${time} ERROR berth 7 is blocked by order ORD4711` : `${time} INFO ${words}`;
});

/** 0 is the head, 1–2 the old exchange, and then there are enough recent messages. */
const around = (...old: readonly Message[]): readonly Message[] => [
  user("Mend the harbour fee."),
  ...old,
  ...Array.from({ length: 4 }, (_, at) => shell(`echo ${at}`, `${at}`)).flat(),
  user("go on"),
  ...shell("make", "ok"),
];
const logged = around(...shell("make test", log.join("\n")));
const coded = around(...read("src/weigh.py", python));
const told = around(...exchange("search", { query: "berth" }, sentences.join("\n\n")));

describe("to which share", () => {
  test("prose to about a half", () => {
    expect(shareLeft(told, 2)).toBeLessThanOrEqual(0.6);
    expect(shareLeft(told, 2)).toBeGreaterThan(0.2);
  });

  test("logs to about two fifths, and errors stay", () => {
    expect(shareLeft(logged, 2)).toBeLessThanOrEqual(0.5);
    expect(shown(apply(logged).conversation).get(2)).toContain("ORD4711");
  });

  test("code to about seven tenths, and every function is still there", () => {
    expect(shareLeft(coded, 2)).toBeLessThanOrEqual(0.8);
    const text = shown(apply(coded).conversation).get(2) ?? "";
    for (let at = 0; at < 12; at++) expect(text).toContain(`def weigh_${at}(`);
  });

  test.each([
    ["log", logged],
    ["text", told],
  ] as const)("a smaller ratio for %s leaves less", (kind, messages) => {
    const ratio = (value: number): ContentTypeChunkingSettings => ({
      compress_ratios: { [kind]: value },
    });
    const small = shareLeft(messages, 2, { settings: ratio(0.2) });
    expect(small).toBeLessThan(shareLeft(messages, 2, { settings: ratio(0.8) }));
  });

  test.each([
    ["log", logged],
    ["text", told],
    ["code", coded],
  ] as const)("a ratio of 1 for %s leaves everything", (kind, messages) => {
    expect(propose(seenFrom(messages), { settings: { compress_ratios: { [kind]: 1 } } })).toEqual(
      [],
    );
  });

  test("code with priority 1 is shortened half as much", () => {
    const important = around(
      ...exchange("read_file", { path: "w.py" }, python.join("\n"), "To Do List"),
    );
    const plain = around(
      ...exchange("read_file", { path: "w.py" }, python.join("\n"), "The first one"),
    );
    const seeing = { areas: AREAS };
    const more = shareLeft(important, 2, { seeing });
    expect(more).toBeGreaterThan(shareLeft(plain, 2, { seeing }));
  });
});

describe("what is left alone", () => {
  test("plans", () => {
    const plan = Array.from(
      { length: 60 },
      (_, at) => `- [ ] task number ${at} of the harbour`,
    ).join("\n");
    expect(propose(seenFrom(around(...shell("cat PLAN.md", plan))))).toEqual([]);
  });

  test("what the user said, unless it is very long", () => {
    const short = around(assistant("yes"), user(wordy.slice(0, 1500)), assistant("ok"));
    expect(propose(seenFrom(short))).toEqual([]);
    const long = around(assistant("yes"), user(wordy), assistant("ok"));
    expect(shareLeft(long, 2)).toBeLessThan(0.8);
  });

  test("what the agent said in a few words", () => {
    expect(propose(seenFrom(around(assistant(prose("cargo", 150)))))).toEqual([]);
    expect(shareLeft(around(assistant(wordy)), 1)).toBeLessThan(0.8);
  });

  test("the newest fifth of the units", () => {
    const messages = [
      user("do it"),
      ...Array.from({ length: 4 }, () => assistant("ok")),
      ...shell("make", log.join("\n")),
    ];
    expect(propose(seenFrom(messages))).toEqual([]);
  });

  test("the head and the user's last words, however long", () => {
    const messages = [
      user(wordy),
      ...shell("a", "b"),
      user(wordy),
      ...Array.from({ length: 8 }, (_, at) => shell(`${at}`, "x")).flat(),
    ];
    expect(propose(seenFrom(messages))).toEqual([]);
  });

  test("pins and instructions", () => {
    const messages = around(...shell("make", log.join("\n")), system(wordy));
    expect(propose(seenFrom(messages, { pinned: [1, 2] }))).toEqual([]);
  });

  test("what stands beside signed thinking", () => {
    const signed: Message = {
      role: "assistant",
      parts: [
        { kind: "reasoning", text: "hm", signature: "s" },
        { kind: "text", text: wordy },
      ],
    };
    expect(propose(seenFrom(around(signed)))).toEqual([]);
  });

  test("pictures and unknown parts in results", () => {
    const picture: Part = { kind: "image", media: { kind: "url", url: "https://x/y.png" } };
    const content: readonly Part[] = [picture, { kind: "text", text: log.join("\n") }];
    const { conversation } = apply(around(...exchange("look", {}, content)));
    const part = conversation.messages[2]?.message.parts[0];
    expect(part?.kind === "tool-result" ? part.content[0] : undefined).toEqual(picture);
  });

  test("the arguments of calls", () => {
    const write = exchange("write_file", { path: "a.py", content: python.join("\n") }, "ok");
    expect(propose(seenFrom(around(...write)))).toEqual([]);
  });

  test("short results", () => {
    expect(propose(seenFrom(around(...shell("ls", "a.py\nb.py"))))).toEqual([]);
  });
});

describe("every unit, as in document A: least_tokens 0 and recent_share 0", () => {
  const short = sentences.slice(0, 6).join(" ");
  const talk = [
    user("Read them."),
    assistant(short),
    user(short),
    assistant(short),
    user("Go on."),
    assistant("Done."),
  ];
  const every = { least_tokens: 0, recent_share: 0 };

  test("compress_ratios: text 0.5, also for short texts and for the newest", () => {
    for (const number of [1, 2, 3]) {
      expect(shareLeft(talk, number), `message ${number}`).toBe(1);
      const left = shareLeft(talk, number, { settings: every });
      expect(left, `message ${number}`).toBeGreaterThan(0.3);
      expect(left, `message ${number}`).toBeLessThan(0.7);
    }
  });

  test("each of the two alone", () => {
    const long = [user("Read them."), assistant(wordy), user("Go on."), assistant("Done.")];
    expect(shareLeft(long, 1, { settings: { least_tokens: 100_000 } })).toBe(1);
    expect(shareLeft(long, 1, { settings: { recent_share: 1 } })).toBe(1);
    expect(shareLeft(long, 1)).toBeLessThan(0.7);
  });
});

describe("as far as the goal asks", () => {
  const two = around(...shell("make one", log.join("\n")), ...shell("make two", log.join("\n")));

  test("the oldest first, and no more than is needed", () => {
    const { tokens } = seenFrom(two);
    const goal = { limitTokens: tokens, tokens: tokens - 200, floorTokens: 0 };
    const changed = propose(seenFrom(two), { goal }).flatMap((one) =>
      one.kind === "replace" ? [one.message] : [],
    );
    expect(changed).toEqual([2]);
  });

  test("one handle for all of it, behind the head", () => {
    const { texts } = apply(two);
    expect(texts.map(({ kind }) => kind)).toEqual(["summary"]);
    expect(texts[0]?.text).toContain(HANDLE);
  });

  test("an earlier summary is carried on", () => {
    const before = {
      ...seenFrom(two),
      summary: `[Plimsoll: ${HANDLE}]\n## Rules\n- #1 Never sleep.`,
    };
    const { texts } = applyProposals(before, propose(before));
    expect(texts[0]?.text).toContain("- #1 Never sleep.");
  });

  test("again with a smaller ratio it starts from the whole text", () => {
    const first = apply(logged).conversation;
    const settings = { compress_ratios: { log: 0.2 } };
    const again = applyProposals(first, propose(first, { settings })).conversation;
    const fresh = apply(logged, { settings }).conversation;
    expect(shown(again).get(2)).toBe(shown(fresh).get(2));
  });

  test("again with the same ratio it has nothing to do", () => {
    const { conversation } = apply(logged);
    expect(propose(conversation)).toEqual([]);
  });
});

describe("odd conversations", () => {
  test.each(["giant", "fragmented", "misclassified"] as const)(
    "a %s one becomes smaller or stays",
    (shape) => {
      const before = seenFrom(simulateConversation({ tokens: 15_000, seed: 2, shape }), {
        areas: simulatedAreas,
      });
      const { conversation } = applyProposals(before, propose(before));
      expect(conversation.tokens).toBeLessThanOrEqual(before.tokens);
    },
  );

  test("binary garbage and a line of a million characters are survived", () => {
    const garbage = String.fromCharCode(
      ...Array.from({ length: 3000 }, (_, at) => (at * 7919) % 65_536),
    );
    const messages = around(
      ...shell("cat a.bin", garbage),
      ...shell("cat b.js", "x=1;".repeat(250_000)),
    );
    const before = seenFrom(messages);
    expect(applyProposals(before, propose(before)).conversation.tokens).toBeLessThanOrEqual(
      before.tokens,
    );
  });

  test("lines of the same file that is named keep their kind", () => {
    const text = linesOf("alpha", 80);
    const { conversation } = apply(around(...read("data/unknown.xyz", text)));
    expect(conversation.messages[2]?.tokens).toBeLessThan(
      seenFrom(around(...read("x", text))).messages[2]?.tokens ?? 0,
    );
  });
});
