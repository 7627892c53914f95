/** Every compaction ends with a last phase, also one that does not help, and every phase after the first has its priority area. */

import { afterEach, describe, expect, test } from "vitest";
import { diceOf } from "../../demo/dice.ts";
import { type Config, openPlimsoll, type Plimsoll, type Strategy } from "../../src/index.ts";
import type { ContextBreakingUpdateEvent } from "../../src/message/event.ts";
import { isLastPhase } from "../../src/watch/phase-words.ts";
import { prose } from "../harness/words.ts";

const open: Plimsoll[] = [];
afterEach(async () => {
  for (const plimsoll of open.splice(0)) await plimsoll.close();
});

const small = {
  contextWindow: 5_000,
  maxOutputTokens: 500,
  contextWindowBufferTokens: 500,
  tokenizer: "tiktoken:o200k_base",
};
const said = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  content: [{ type: "text", text: "Noted." }],
  stop_reason: "end_turn",
};

type Session = Awaited<ReturnType<Plimsoll["session"]>>;

interface Talk {
  readonly config?: Config;
  readonly strategies?: readonly Strategy[];
  /** The priority of the session, and that of its first message. */
  readonly priority?: 1 | 2 | 3;
  readonly firstPriority?: 1 | 2 | 3;
  /** About how many tokens the message of a turn has. Default: 300. */
  readonly tokensOf?: (turn: number) => number;
}

type Area = NonNullable<Config["priority_areas"]>[number];
const toDoList: Area = { name: "To Do List", priority: 1, patterns: ["the to do list"] };

/** The phases of a talk that is too long for its window. */
async function phasesOf(
  contextConfig: Config["context_config"],
  strategies?: readonly Strategy[],
): Promise<readonly ContextBreakingUpdateEvent[]> {
  const config: Config = {
    priority_areas: [toDoList],
    ...(contextConfig === undefined ? {} : { context_config: contextConfig }),
  };
  return phasesIn({ config, ...(strategies === undefined ? {} : { strategies }) });
}

async function phasesIn({
  config = {},
  strategies,
  priority,
  firstPriority,
  tokensOf = () => 300,
}: Talk): Promise<readonly ContextBreakingUpdateEvent[]> {
  const plimsoll = await openPlimsoll({
    store: "memory",
    config: { providers: { anthropic: { models: { small } } }, ...config },
    ...(strategies === undefined ? {} : { parts: { strategies } }),
  });
  open.push(plimsoll);
  const phases: ContextBreakingUpdateEvent[] = [];
  plimsoll.on("context-breaking-update", (event) => phases.push(event));
  const session: Session = await plimsoll.session(priority === undefined ? {} : { priority });
  for (let turn = 0; turn < 16; turn++) {
    const words = turn === 0 ? "Keep the to do list. " : "";
    const tag = turn === 0 && firstPriority !== undefined ? { priority: firstPriority } : undefined;
    await session.append(
      { role: "user", content: `${words}${prose(diceOf(turn), tokensOf(turn))}` },
      tag,
    );
    await session.prepare({ target: "anthropic/small", cacheMarks: false });
    await session.commit(said);
  }
  return phases;
}

/** The last phase of each run of phases. A run begins with the detection. */
function endsOf(phases: readonly ContextBreakingUpdateEvent[]): readonly string[] {
  return phases.flatMap((event, index) => {
    const next = phases[index + 1];
    return next === undefined || next.phase === "detection" ? [event.phase] : [];
  });
}

test.each<[string, Config["context_config"], readonly Strategy[] | undefined, string]>([
  ["one that helps", undefined, undefined, "success"],
  ["one that is exhausted", undefined, [], "handover"],
  ["one that does not help", { recovery_mode: "error" }, [], "failed"],
])("%s", async (_, contextConfig, strategies, last) => {
  const phases = await phasesOf(contextConfig, strategies);
  const ends = endsOf(phases);
  expect(ends.length).toBeGreaterThan(0);
  expect(ends).toContain(last);
  for (const phase of phases.filter((one) => endsOf(phases).includes(one.phase)))
    expect(isLastPhase(phase)).toBe(true);
  const named = phases.filter(({ phase }) => ["recovery", "handover", "success"].includes(phase));
  for (const { priority } of named) expect(priority).toEqual({ level: 1, area: "To Do List" });
});

test("a failed compaction says that nothing was removed", async () => {
  const phases = await phasesOf({ recovery_mode: "error" }, []);
  const failed = phases.find(({ phase }) => phase === "failed");
  expect(failed?.message).toMatch(/^Nothing was removed: [\d,]+ \/ 4,000 tokens$/);
});

/** The badge of the last phase. */
async function badgeOf(talk: Talk): Promise<ContextBreakingUpdateEvent["priority"]> {
  const phases = await phasesIn(talk);
  expect(phases.length).toBeGreaterThan(2);
  return phases.at(-1)?.priority;
}

describe("the badge shows the highest priority", () => {
  const calendar: Config = { priority_areas: [{ ...toDoList, name: "Calendar", priority: 2 }] };

  test.each<[string, Talk, ContextBreakingUpdateEvent["priority"]]>([
    ["of the session", { priority: 1 }, { level: 1 }],
    ["of a message", { firstPriority: 1 }, { level: 1 }],
    ["of an area", { config: calendar }, { level: 2, area: "Calendar" }],
    ["of a message above its area", { config: calendar, firstPriority: 1 }, { level: 1 }],
    [
      "of an area above its session",
      { config: calendar, priority: 3 },
      { level: 2, area: "Calendar" },
    ],
    ["and is hidden if no priority tags are in the context", {}, undefined],
  ])("%s", async (_, talk, badge) => {
    expect(await badgeOf(talk)).toEqual(badge);
  });

  test("after a fresh start too", async () => {
    const talk = { priority: 1, strategies: [] } as const;
    const phases = await phasesIn(talk);
    expect(phases.find(({ phase }) => phase === "handover")?.priority).toEqual({ level: 1 });
  });
});

describe("Success: Under limit", () => {
  /** Takes out one old message, and not a second one. */
  const timid: Strategy = {
    name: "timid",
    propose: ({ messages }) => {
      const first = messages.findIndex(({ number }) => number === 2);
      const textFor = ({ handle }: { readonly handle: string }): string => handle;
      const removal = {
        kind: "remove",
        first,
        last: first + 1,
        reason: "Little.",
        textFor,
      } as const;
      return first < 0 ? [] : [removal];
    },
  };

  test("a compaction that leaves too much has failed, and says so", async () => {
    const phases = await phasesIn({
      config: { context_config: { recovery_mode: "error" } },
      strategies: [timid],
      tokensOf: (turn) => (turn === 10 ? 1_500 : 300),
    });
    const ends = phases.filter(({ phase }) => phase === "success" || phase === "failed");
    for (const { phase, tokens, limit } of ends)
      expect(phase).toBe(tokens <= limit ? "success" : "failed");
    const failed = ends.map(({ message }) => message).filter((text) => text.startsWith("It still"));
    expect(failed[0]).toMatch(/^It still does not fit: [\d,]+ \/ 4,000 tokens$/);
  });

  test("with a limit of 0 the sentence says why", async () => {
    const models = { small: { ...small, maxOutputTokens: 6_000 } };
    const config = { providers: { anthropic: { models } }, agent: { strict_limit: true } };
    const phases = await phasesIn({ config });
    const failed = phases.findLast(({ phase }) => phase === "failed");
    expect(failed?.message).toMatch(/: [\d,]+ tokens, and the limit leaves no room for any$/);
  });
});
