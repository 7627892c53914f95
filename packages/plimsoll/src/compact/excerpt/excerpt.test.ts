/** Excerpts in place: mandatory content stays, a mark replaces whatever is left out, and the room is used but not exceeded. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Applied, applyProposals, HANDLE, seenFrom } from "../../../test/generate/seen.ts";
import { AREAS, talks } from "../../../test/generate/talks.ts";
import { tries } from "../../../test/harness/effort.ts";
import { type Message, messageText, type Part, type ToolCallPart } from "../../message/message.ts";
import type {
  Goal,
  Proposal,
  VisibleConversation,
  VisibleMessage,
} from "../../message/strategy.ts";
import { diceOf } from "../../simulate/dice.ts";
import { simulateConversation } from "../../simulate/simulate.ts";
import { excerpt } from "./excerpt.ts";

const seed = 20261115;

function user(text: string): Message {
  return { role: "user", parts: [{ kind: "text", text }] };
}
function agent(text: string): Message {
  return { role: "assistant", parts: [{ kind: "text", text }] };
}
function call(id: string, input: object, words = ""): Message {
  const own: Part = { kind: "tool-call", id, name: "bash", input: JSON.stringify(input) };
  return { role: "assistant", parts: words === "" ? [own] : [{ kind: "text", text: words }, own] };
}
function result(callId: string, text: string): Message {
  const content: readonly Part[] = [{ kind: "text", text }];
  return { role: "tool", parts: [{ kind: "tool-result", callId, content, isError: false }] };
}
function logOf(id: number, lines = 40): string {
  const line = (at: number): string =>
    `step_${id}_${at} of build ${id} moved cargo_${id * at} by ${at}`;
  return Array.from({ length: lines }, (_, at) => line(at)).join("\n");
}

/** This many exchanges after the head. `between` gives the user's words before an exchange, by its number. */
function workOf(count: number, between: Readonly<Record<number, string>> = {}): readonly Message[] {
  const steps = Array.from({ length: count }, (_, id) => [
    ...(between[id] === undefined ? [] : [user(between[id])]),
    call(`c${id}`, { command: `make step_${id}`, script: `run part_${id} of it\n`.repeat(15) }),
    result(`c${id}`, logOf(id)),
  ]).flat();
  return [user("Mend the loader of src/load.ts. Never touch the tests."), ...steps];
}

function goalOf({ tokens }: VisibleConversation, share: number): Goal {
  const wanted = Math.floor(tokens * share);
  return { limitTokens: wanted, tokens: wanted, floorTokens: Math.floor(wanted * 0.86) };
}

async function shorten(before: VisibleConversation, share: number): Promise<Applied> {
  return applyProposals(before, await excerpt.propose(before, goalOf(before, share)));
}

function byNumber({ conversation }: Applied): ReadonlyMap<number, VisibleMessage> {
  return new Map(conversation.messages.map((seen) => [seen.number, seen]));
}

/** Gives the messages log numbers that differ from their indexes in the view. */
function numbered(conversation: VisibleConversation): VisibleConversation {
  const messages = conversation.messages.map((seen) => ({
    ...seen,
    number: 100 + 3 * seen.number,
  }));
  return { ...conversation, messages };
}

function textsOf({ parts }: Message): readonly string[] {
  return parts.flatMap((part): readonly string[] => {
    if (part.kind === "text") return [part.text];
    if (part.kind === "tool-result") return textsOf({ role: "tool", parts: part.content });
    return part.kind === "tool-call" ? [part.input] : [];
  });
}

const marks =
  /\[…(?: \d+ lines?)?(?: in)?(?: #\d+)?(?:, changed later in #\d+)?\]|"…": "\d+ more(?: in #\d+)?"|"… \d+ more(?: in #\d+)?"|\[Plimsoll: [^\]]*\]/g;

/** Text between two marks must occur in the original: nothing was shortened twice or made up. */
function expectOfOriginal(text: string, original: string): void {
  const isJson = /^[[{]/.test(text);
  const letters = (some: string): string => some.replaceAll(/[\s"\\,[\]{}:]/g, "");
  const whole = letters(original);
  // In JSON any member may be missing.
  const segments = text.split(marks).flatMap((some) => (isJson ? some.split(/[",]/) : [some]));
  for (const segment of segments) expect(whole).toContain(letters(segment));
}

function expectAllOfOriginal(now: VisibleConversation, before: VisibleConversation): void {
  for (const { number, message } of now.messages) {
    const was = textsOf(before.messages[number]?.message ?? message);
    for (const [at, text] of textsOf(message).entries()) expectOfOriginal(text, was[at] ?? "");
  }
}

interface CallPair {
  readonly number: number;
  readonly now: ToolCallPart;
  readonly was: ToolCallPart;
}

/** The remaining calls, each with its original. */
function callsIn({ conversation }: Applied, before: VisibleConversation): readonly CallPair[] {
  return conversation.messages.flatMap(({ number, message }) =>
    message.parts.flatMap((now, at): readonly CallPair[] => {
      const was = before.messages[number]?.message.parts[at];
      return now.kind === "tool-call" && was?.kind === "tool-call" ? [{ number, now, was }] : [];
    }),
  );
}

function keysOf({ input }: ToolCallPart): readonly string[] {
  return Object.keys(JSON.parse(input) as object);
}

describe("what must stay", () => {
  const between = {
    4: "Use pnpm, not npm.",
    18: "Keep it small, and say what you did in load_report.",
  };
  const before = seenFrom(workOf(24, between));

  test.each([0.12, 0.2, 0.35, 0.6])(
    "at %d of its size it fits, and little room is wasted",
    async (share) => {
      const { conversation } = await shorten(before, share);
      const goal = goalOf(before, share);
      expect(conversation.tokens).toBeLessThanOrEqual(goal.tokens);
      expect(conversation.tokens).toBeGreaterThan(goal.tokens * 0.85);
    },
  );

  test.each([0.12, 0.2, 0.35])(
    "at %d the head is untouched, and the newest exchange is there",
    async (share) => {
      const applied = await shorten(before, share);
      const [head] = applied.conversation.messages;
      expect(head?.message).toBe(before.messages[0]?.message);
      const newest = applied.conversation.messages.slice(-2).map(({ number }) => number);
      expect(newest).toEqual(before.messages.slice(-2).map(({ number }) => number));
    },
  );

  test.each([0.12, 0.2, 0.35])(
    "at %d the user's newest words are whole, and older ones too while there is room",
    async (share) => {
      const { conversation } = await shorten(before, share);
      const said = conversation.messages.map(({ message }) => messageText(message));
      expect(said).toContain(between[18]);
      expect(said).toContain(between[4]);
    },
  );

  test.each([0.12, 0.2, 0.35])(
    "at %d the calls of the newest ten exchanges are exact, and older ones keep their keys",
    async (share) => {
      const applied = await shorten(before, share);
      const old = before.messages.filter(({ message }) => message.role === "assistant").at(-10);
      const calls = callsIn(applied, before);
      for (const { now, was } of calls) {
        expect(keysOf(now)).toEqual(["command", "script"]);
        expect(now).toMatchObject({ id: was.id, name: was.name });
      }
      const shortened = calls.filter(({ now, was }) => now.input !== was.input);
      expect(shortened.filter(({ number }) => number >= (old?.number ?? 0))).toEqual([]);
      if (share === 0.35) expect(shortened.length).toBeGreaterThan(0);
    },
  );

  test("pins are whole, whatever they weigh", async () => {
    const pinned = [7, 8];
    const seen = seenFrom(workOf(24), { pinned });
    const after = byNumber(await shorten(seen, 0.2));
    for (const number of pinned)
      expect(after.get(number)?.message).toBe(seen.messages[number]?.message);
  });

  test("what has priority 1 is whole while it leaves room for others", async () => {
    const plan = "To do list: mend hull_a, then hull_b, then write load_report.";
    const messages = [...workOf(12), agent(plan), ...workOf(12).slice(1)];
    const seen = seenFrom(messages, { areas: AREAS });
    const { conversation } = await shorten(seen, 0.2);
    expect(conversation.messages.map(({ message }) => messageText(message))).toContain(plan);
  });

  test("instructions in mid-conversation and signed thinking are whole", async () => {
    const instruction: Message = {
      role: "system",
      parts: [{ kind: "text", text: "Be brief. ".repeat(30) }],
    };
    const signed: Message = {
      role: "assistant",
      parts: [
        { kind: "reasoning", text: "hm", signature: "s" },
        { kind: "text", text: `mark_signed ${"so then ".repeat(60)}` },
      ],
    };
    const messages = [...workOf(8), user("go on"), instruction, signed, ...workOf(12).slice(1)];
    const seen = seenFrom(messages);
    const after = byNumber(await shorten(seen, 0.3));
    expect(after.get(18)?.message).toBe(instruction);
    const kept = after.get(19);
    if (kept !== undefined) expect(kept.message).toBe(signed);
  });
});

describe("room", () => {
  test.each([200, 260, 300, 330, 350, 400, 600])(
    "words of the user of %d words each fit their goal, however many there are",
    async (words) => {
      const said = Array.from({ length: 30 }, (_, part) => [
        user(`part_${part} ${"word ".repeat(words)}`),
        agent("ok"),
      ]).flat();
      const before = seenFrom([...workOf(1), ...said, user("and now?")]);
      const goal = { limitTokens: 3_000, tokens: 3_000, floorTokens: 2_500 };
      const { conversation } = applyProposals(before, await excerpt.propose(before, goal));
      expect(conversation.tokens).toBeLessThanOrEqual(goal.tokens);
    },
  );
});

describe("text that says the same few words again and again", () => {
  const few = ["dock", "cargo", "load", "then", "again"];
  const dice = diceOf(7);
  const saying = (words: number): string =>
    `${Array.from({ length: words }, () => few[Math.floor(dice() * few.length)]).join(" ")}.`;
  const talk = (words: number): readonly Message[] =>
    Array.from({ length: 71 }, (_, at) => (at % 2 === 0 ? user : agent)(saying(words)));

  test.each([
    [20, 0.5],
    [20, 0.25],
    [150, 0.5],
    [150, 0.25],
  ])(
    "in messages of %d, to %d of its size: no more is taken out than the goal asks for",
    async (words, share) => {
      const before = seenFrom(talk(words));
      const { tokens, floorTokens } = goalOf(before, share);
      const { conversation } = await shorten(before, share);
      expect(conversation.tokens).toBeLessThanOrEqual(tokens);
      expect(conversation.tokens).toBeGreaterThanOrEqual(floorTokens);
    },
  );
});

describe("where roles must alternate", () => {
  const chat = Array.from({ length: 30 }, (_, week) => [
    agent(`week_${week} was mild. ${"nothing moved. ".repeat(40)}`),
    user("Go on."),
  ]).flat();
  const before = seenFrom([user("Tell me of the weather."), ...chat], { mustAlternate: true });

  test.each([0.15, 0.3, 0.5])(
    "at %d they still do, or a text of ours stands between",
    async (share) => {
      const { conversation, texts } = await shorten(before, share);
      const marked = new Set(texts.map((own) => own.before));
      const { messages } = conversation;
      const meeting = messages.filter(
        ({ message, number }, at) =>
          message.role === "assistant" &&
          messages[at - 1]?.message.role === "assistant" &&
          !marked.has(number),
      );
      expect(meeting).toEqual([]);
      expect(messages.length).toBeLessThan(before.messages.length);
    },
  );
});

describe("marks", () => {
  const before = numbered(seenFrom(workOf(30)));

  test("name messages by their numbers in the log", async () => {
    const { conversation, texts } = await shorten(before, 0.2);
    const known = new Set(before.messages.map(({ number }) => number));
    const shown = [
      ...conversation.messages.flatMap(({ message }) => textsOf(message)),
      ...texts.map(({ text }) => text),
    ];
    const named = shown.flatMap((text) =>
      [...text.matchAll(/#(\d+)/g)].map(([, number]) => Number(number)),
    );
    expect(named.length).toBeGreaterThan(5);
    for (const number of named) expect(known.has(number)).toBe(true);
    for (const { number, message } of conversation.messages) {
      const own = textsOf(message)
        .join("\n")
        .matchAll(/…[^\]"]* #(\d+)|see #(\d+)/g);
      for (const [, mark, seen] of own) expect(Number(mark ?? seen)).toBe(number);
    }
  });

  test("gaps between messages say from where to where", async () => {
    const chat = Array.from({ length: 40 }, () => [agent("so it is ".repeat(60)), user("ok")]);
    const long = numbered(seenFrom([...workOf(4), ...chat.flat(), ...workOf(12).slice(1)]));
    const { conversation, texts } = await shorten(long, 0.3);
    const left = new Set(conversation.messages.map(({ number }) => number));
    const gone = long.messages.flatMap(({ number }) => (left.has(number) ? [] : [number]));
    expect(gone.length).toBeGreaterThan(30);
    const gaps = texts.flatMap(({ text }) => {
      const found = /^\[Plimsoll: #(\d+)(?:–#(\d+))? (?:is|are) left out[.:]/.exec(text);
      return found === null ? [] : [found[1], found[2] ?? found[1]].map(Number);
    });
    expect(gaps.length).toBeGreaterThan(0);
    for (const end of gaps) expect(gone).toContain(end);
  });

  test("one handle for all of it, in the one text behind the head", async () => {
    const proposals = await excerpt.propose(before, goalOf(before, 0.2));
    expect(proposals.filter(({ kind }) => kind === "summary")).toHaveLength(1);
    expect(
      proposals.filter(
        (one) => one.kind !== "summary" && "handle" in one && one.handle !== "shared",
      ),
    ).toEqual([]);
    const { texts, conversation } = applyProposals(before, proposals);
    const all = [
      ...texts.map(({ text }) => text),
      ...conversation.messages.map(({ message }) => messageText(message)),
    ];
    expect(all.join("\n").split(HANDLE)).toHaveLength(2);
  });
});

function textsFor(proposals: readonly Proposal[], handle: string): readonly string[] {
  return proposals.map((one) =>
    one.kind === "insert" ? one.text : one.textFor({ handle, messages: 1, tokens: 1 }),
  );
}

test("without an archive there is no handle anywhere", async () => {
  const before = { ...seenFrom(workOf(24)), hasArchive: false };
  for (const share of [0.1, 0.2, 0.5]) {
    const proposals = await excerpt.propose(before, goalOf(before, share));
    expect(proposals.length).toBeGreaterThan(1);
    for (const text of textsFor(proposals, "")) expect(text).not.toContain("pl_");
  }
});

describe("over generated conversations", () => {
  const samples = fc
    .sample(talks, tries({ runs: 20, seed }))
    .map((talk) => seenFrom(talk.messages, { ...talk, areas: AREAS, otherTokens: 100 }));

  test("the same conversation gives the same proposals", async () => {
    for (const before of samples.slice(0, 8)) {
      const goal = goalOf(before, 0.3);
      const [one, other] = [
        await excerpt.propose(before, goal),
        await excerpt.propose(before, goal),
      ];
      expect(textsFor(other, HANDLE)).toEqual(textsFor(one, HANDLE));
      expect(other.map(({ kind }) => kind)).toEqual(one.map(({ kind }) => kind));
    }
  });

  test("what is shown is of the original, also when it is shortened again and again", async () => {
    for (const before of samples) {
      let now = before;
      for (const share of [0.5, 0.6, 0.6]) {
        const proposals = await excerpt.propose(now, goalOf(now, share));
        now = applyProposals(now, proposals, { areas: AREAS }).conversation;
        expectAllOfOriginal(now, before);
      }
    }
  });

  test("a second time with the same goal changes nothing that matters: it does not grow", async () => {
    for (const before of samples) {
      const goal = goalOf(before, 0.4);
      const first = applyProposals(before, await excerpt.propose(before, goal), { areas: AREAS });
      const again = await excerpt.propose(first.conversation, goal);
      const second = applyProposals(first.conversation, again, { areas: AREAS });
      expect(second.conversation.tokens).toBeLessThanOrEqual(
        Math.max(goal.tokens, first.conversation.tokens),
      );
    }
  });

  test("a replaced call is JSON with the same keys, a message has as many parts as before", async () => {
    for (const before of samples) {
      const proposals = await excerpt.propose(before, goalOf(before, 0.3));
      const applied = applyProposals(before, proposals, { areas: AREAS });
      for (const { number, message } of applied.conversation.messages) {
        const kinds = before.messages[number]?.message.parts.map(({ kind }) => kind);
        expect(message.parts.map(({ kind }) => kind)).toEqual(kinds);
      }
      for (const { now, was } of callsIn(applied, before)) {
        const left = keysOf(now).filter((key) => key !== "…");
        expect(left).toEqual(keysOf(was).filter((key) => left.includes(key)));
      }
    }
  });
});

describe("what it is given may be anything", () => {
  const odd: Readonly<Record<string, readonly Message[]>> = {
    "binary garbage": workWith(
      Array.from({ length: 20_000 }, (_, at) => String.fromCharCode((at * 7919) % 65_536)).join(""),
    ),
    "control characters": workWith("\u0000\u001b[31m\ud800\udfff\r\n".repeat(500)),
    "empty content": [
      user("hi"),
      agent(""),
      user(""),
      { role: "assistant", parts: [] },
      result("none", ""),
      ...workOf(6).slice(1),
    ],
    "a line of a hundred thousand characters": workWith(
      "lorem ipsum dolor sit amet ".repeat(4_000),
    ),
    "a line without a space": workWith("x".repeat(100_000)),
    "many blank lines": workWith("\n".repeat(20_000)),
    "JSON as deep as a stack": workWith("[".repeat(20_000) + "]".repeat(20_000)),
    "mixed languages": simulateConversation({
      tokens: 8_000,
      seed: 9,
      languages: ["zh", "de", "ru", "en"],
    }),
    "one giant message": simulateConversation({ tokens: 15_000, seed: 3, shape: "giant" }),
    "a giant message of the user": [
      user("begin"),
      agent("yes"),
      user(`look: ${logOf(1, 900)}`),
      agent("so"),
      user("and?"),
    ],
    "a giant head": [user(logOf(1, 500)), ...workOf(8).slice(1)],
    "arguments that are no JSON": [
      ...workOf(6),
      brokenCall(),
      result("broken", logOf(9)),
      ...workOf(12).slice(1),
    ],
    "numbers beyond 2^53": [
      ...workOf(3),
      call("big", { id: "x".repeat(400), n: 1 }),
      result("big", `{"serial": 12345678901234567890, "rows": ["${"word ".repeat(400)}"]}`),
      ...workOf(12).slice(1),
    ],
  };

  test.each(Object.entries(odd))("%s", async (_, messages) => {
    const before = seenFrom(messages);
    for (const share of [0.02, 0.15, 0.4, 0.8]) {
      const { conversation } = await shorten(before, share);
      expect(conversation.messages[0]?.message).toBe(before.messages[0]?.message);
      expect(conversation.messages.length).toBeGreaterThan(0);
    }
  });

  test("no message, no user, nothing behind the head, and hardly any room: nothing is proposed", async () => {
    const short: readonly (readonly Message[])[] = [
      [],
      [user("word ".repeat(500))],
      [agent("word ".repeat(500))],
    ];
    for (const messages of short) {
      const before = seenFrom(messages);
      const proposals = await excerpt.propose(before, goalOf(before, 0.4));
      const { conversation } = applyProposals(before, proposals);
      expect(conversation.messages.length).toBe(messages.length);
    }
    const long = seenFrom(workOf(10));
    const tiny = { limitTokens: 70, tokens: 70, floorTokens: 60 };
    expect(await excerpt.propose(long, tiny)).toEqual([]);
  });
});

function workWith(text: string): readonly Message[] {
  return [
    ...workOf(5),
    call("odd", { command: "cat odd" }),
    result("odd", text),
    ...workOf(8).slice(1),
    user("go on"),
  ];
}

function brokenCall(): Message {
  return {
    role: "assistant",
    parts: [
      { kind: "tool-call", id: "broken", name: "bash", input: `{"command": ${"x".repeat(500)}` },
    ],
  };
}

test("a recent call that alone takes too much is shortened too, and stays an object", async () => {
  const content = Array.from({ length: 400 }, (_, at) => `row ${at} holds value_${at}`);
  const messages = [
    ...workOf(3),
    call("write", { path: "src/a.ts", content: content.join("\n"), rows: content.slice(0, 50) }),
    result("write", "ok"),
    user("fine, go on"),
  ];
  const before = seenFrom(messages);
  const { conversation } = await shorten(before, 0.3);
  const part = conversation.messages
    .flatMap(({ message }) => message.parts)
    .find((one) => one.kind === "tool-call" && one.id === "write");
  const input =
    part?.kind === "tool-call" ? (JSON.parse(part.input) as Record<string, unknown>) : {};
  expect(Object.keys(input).length).toBeGreaterThan(0);
  expect(JSON.stringify(input).length).toBeLessThan(content.join("\n").length / 2);
  expect(conversation.tokens).toBeLessThanOrEqual(goalOf(before, 0.3).tokens);
});

test("a rule that the user laid down long ago is still said, word for word", async () => {
  const rule = "Never rename the column cargo_total, the billing export reads it.";
  const before = seenFrom(workOf(60, { 8: rule }));
  const { conversation, texts } = await shorten(before, 0.1);
  const shown = conversation.messages.map(({ message }) => messageText(message));
  const said = [...texts.map(({ text }) => text), ...shown];
  expect(said.join("\n")).toContain(rule);
});

describe("summaries", () => {
  const rule = "Never touch the tests.";

  test("what is gone is told in a story, with the numbers of its messages", async () => {
    const rounds = Array.from({ length: 40 }, (_, id) => [
      user(`Please mend part_${id} of the loader.`),
      call(`w${id}`, { command: `sed -i s/a/b/ src/part_${id}.ts` }),
      result(`w${id}`, "ok"),
      call(`c${id}`, { command: `make step_${id}` }),
      result(`c${id}`, logOf(id)),
      agent(`Step ${id} of the loader is mended.`),
    ]).flat();
    const before = numbered(seenFrom([...workOf(1), ...rounds, user("And now?")]));
    const { texts } = await shorten(before, 0.07);
    const summary = texts.find(({ kind }) => kind === "summary")?.text ?? "";
    expect(summary).toContain(HANDLE);
    expect(summary).toMatch(
      /^- #\d+ asked:\sPlease mend part_\d+ of the loader\.\s→ #\d+: Step \d+ of the loader is mended\.$/m,
    );
    expect(summary).toMatch(/^- edited src\/part_\d+\.ts \(#\d+\)/m);
  });

  test("what a model has prepared is in it, unless the view shows it", async () => {
    const prepared = `## Rules\n- #0 ${rule}\n## Open\n- #9 to do: Mend the other half.`;
    const before = { ...seenFrom(workOf(40)), prepared };
    const { texts } = await shorten(before, 0.3);
    const summary = texts.find(({ kind }) => kind === "summary")?.text ?? "";
    expect(summary).toContain("## Open\n- #9 to do: Mend the other half.");
    expect(summary).not.toContain("## Rules");
  });

  test("what an earlier one said is carried on, and never twice", async () => {
    const earlier = `[Plimsoll: shortened; ${HANDLE} has each message #n whole.]\n## Rules\n- #1 ${rule}`;
    const before = { ...seenFrom(workOf(60)), summary: earlier };
    const { texts } = await shorten(before, 0.4);
    const summary = texts.find(({ kind }) => kind === "summary")?.text ?? "";
    expect(summary.split(rule)).toHaveLength(2);
    expect(summary.match(/Plimsoll:/g)).toHaveLength(1);
  });
});
