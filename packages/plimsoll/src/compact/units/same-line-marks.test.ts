/** A mark such as "… 12 lines as in #7" is true, whatever the strategies after it take out. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { applyProposals, count, HANDLE, seenFrom } from "../../../test/generate/seen.ts";
import { AREAS, talks } from "../../../test/generate/talks.ts";
import { tries } from "../../../test/harness/effort.ts";
import type { Message, Part } from "../../message/message.ts";
import type { VisibleConversation } from "../../message/strategy.ts";
import { type ChainSettings, strategiesFor } from "../chain.ts";
import { unmarked, withTrueMarks, writesMarks } from "./same-line-marks.ts";

const chains: Readonly<Record<string, ChainSettings | undefined>> = {
  "the default": undefined,
  truncate: { chain_order: ["truncate"] },
  "keep: half": { chain_order: ["truncate"], truncate: { keep: "half" } },
  "file_reads: last": { chain_order: ["truncate"], file_reads: "last" },
  prioritize_recent: { chain_order: ["prioritize_recent"] },
  content_type_chunking: { chain_order: ["content_type_chunking"] },
  discard_low_rel: { chain_order: ["discard_low_rel"] },
};
const samples = fc.sample(talks, tries({ runs: 12, soak: 100, seed: 20261119 }));

/** The view after each strategy that makes it smaller. Strategies run until half of the room is free. */
async function* viewsOf(
  start: VisibleConversation,
  settings: ChainSettings | undefined,
): AsyncGenerator<VisibleConversation> {
  const limitTokens = Math.floor(start.tokens * 0.6);
  const goal = { limitTokens, tokens: limitTokens * 0.5, floorTokens: limitTokens * 0.4 };
  let view = start;
  for (const strategy of strategiesFor(settings, { count })) {
    if (view.tokens <= goal.tokens) return;
    const wanted = await strategy.propose(view, goal);
    const isTrue = strategy.name === writesMarks;
    const proposals = isTrue || wanted.length === 0 ? wanted : withTrueMarks(view, wanted);
    const { conversation } = applyProposals(view, proposals, { areas: AREAS });
    if (conversation.tokens >= view.tokens) continue;
    view = conversation;
    yield view;
  }
}

function textsOf({ parts }: Message): readonly string[] {
  return parts.flatMap((part): readonly string[] => {
    if (part.kind === "text") return [part.text];
    if (part.kind === "tool-call")
      return Object.values(JSON.parse(part.input) as Record<string, string>);
    if (part.kind !== "tool-result") return [];
    return part.content.flatMap((inner) => (inner.kind === "text" ? [inner.text] : []));
  });
}

const pointing = /^(?:… |\[[^\n]*: )(\d+) lines? as in #(\d+)(?: below)?\]?$/;

/** The lines that are neither in the message that a mark names nor under a handle that the text names. */
function lostIn(
  now: string,
  whole: string,
  shown: ReadonlyMap<number, readonly string[]>,
): readonly string[] {
  if (unmarked(now, whole) === undefined) return [];
  const was = whole.split("\n");
  let at = 0;
  return now.split("\n").flatMap((line) => {
    const [, missing, number] = pointing.exec(line) ?? [];
    const [, kept] = / (\d+) lines? (?:left out|kept under pl_\w+)\]?$/.exec(line) ?? [];
    const gone = was.slice(at, at + Number(missing ?? kept ?? 1));
    at += gone.length;
    if (kept !== undefined) return now.includes(HANDLE) ? [] : gone;
    const there = shown.get(Number(number));
    const isThere = there?.some((text) => text.includes(gone.join("\n"))) ?? false;
    return missing === undefined || isThere ? [] : gone;
  });
}

/** The marks of a view that lead nowhere, and how many there are in all. */
function marksIn({ messages }: VisibleConversation): {
  readonly wrong: readonly string[];
  readonly count: number;
} {
  const shown = new Map(messages.map(({ number, message }) => [number, textsOf(message)]));
  const texts = messages.flatMap(({ message, original }) => {
    const wholes = original === undefined ? [] : textsOf(original.message);
    return wholes.map((whole, index) => ({ whole, now: textsOf(message)[index] ?? "" }));
  });
  const marks = texts.flatMap(({ whole, now }) =>
    now.split("\n").filter((line) => pointing.test(line) && !whole.includes(line)),
  );
  const dangling = marks.filter((line) => !shown.has(Number(pointing.exec(line)?.[2])));
  const lost = texts.flatMap(({ whole, now }) => lostIn(now, whole, shown));
  return { wrong: [...dangling, ...lost], count: marks.length };
}

describe.each(Object.entries(chains))("%s", (_name, settings) => {
  test("each mark points to a message that shows its lines, or its text names the handle", async () => {
    let marks = 0;
    for (const talk of samples) {
      const start = seenFrom(talk.messages, { ...talk, areas: AREAS, otherTokens: 100 });
      for await (const view of viewsOf(start, settings)) {
        const found = marksIn(view);
        expect(found.wrong).toEqual([]);
        marks += found.count;
      }
    }
    expect(marks).toBeGreaterThan(0);
  });
});

describe("a mark whose message goes", () => {
  const text = (words: string): Part => ({ kind: "text", text: words });
  const say = (words: string): Message => ({ role: "user", parts: [text(words)] });
  const whole = ["first", ..."abcdefgh"].join("\n");

  function view(now: string, was = whole): VisibleConversation {
    const seen = seenFrom([say("task"), say(now), say("…"), say(whole), say("end")]);
    const messages = seen.messages.map((one, index) =>
      index === 1 ? { ...one, original: { message: say(was), tokens: 99 } } : one,
    );
    return { ...seen, messages };
  }
  const removal = { kind: "remove", first: 3, last: 3, reason: "", textFor: () => HANDLE } as const;
  const mendedIn = (before: VisibleConversation): Message | undefined =>
    applyProposals(before, withTrueMarks(before, [removal])).conversation.messages[1]?.message;

  test("the first one names the handle, the others say that lines are left out", () => {
    const marked = view("first\n… 4 lines as in #3\n… 4 lines as in #3");
    const mended = `first\n… 4 lines kept under ${HANDLE}\n… 4 lines left out`;
    expect(mendedIn(marked)).toEqual(say(mended));
    expect(unmarked(mended, whole)).toBe(whole);
  });

  test("marks of other messages and words of the client stay", () => {
    const others = "first\n… 8 lines as in #2";
    expect(mendedIn(view(others))).toEqual(say(others));
    const quoted = "I saw this:\n… 8 lines as in #3";
    expect(mendedIn(view(quoted, quoted))).toEqual(say(quoted));
  });
});
