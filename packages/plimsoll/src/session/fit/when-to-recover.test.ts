/** Recovery: when a conversation starts afresh, what the handover says, and that Plimsoll never ends a conversation by itself. */

import { afterEach, describe, expect, test } from "vitest";
import { diceOf } from "../../../demo/dice.ts";
import { prose } from "../../../test/harness/words.ts";
import { truncate } from "../../compact/strategies/truncate.ts";
import type { Config } from "../../config/schema.ts";
import { type Engine, type EngineOptions, openEngine } from "../../engine.ts";
import type { Strategy } from "../../message/strategy.ts";

import type { Session } from "../library/session.ts";
import type { PreparedTurn } from "../library/state.ts";
import { emptyLog, remember, rememberInSession, type SessionLog, startBranch } from "../log/log.ts";
import { afreshDue } from "./when-to-recover.ts";

const open: Engine[] = [];
afterEach(async () => {
  for (const plimsoll of open.splice(0)) await plimsoll.close();
});

const WINDOW = 6_000;
const LIMIT = WINDOW - 1_000;
const target = "anthropic/small";
const goal = "Make the import of orders in src/shop/importer.py faster.";
const rule = "Never touch the tests.";

type RecoveryMode = NonNullable<Config["context_config"]>["recovery_mode"];
interface Opening {
  readonly mode?: RecoveryMode;
  readonly strategies?: NonNullable<EngineOptions["parts"]>["strategies"];
}

async function fresh({ mode, strategies }: Opening = {}): Promise<Engine> {
  const small = {
    contextWindow: WINDOW,
    maxOutputTokens: 500,
    contextWindowBufferTokens: 500,
    tokenizer: "approximate",
  };
  const plimsoll = await openEngine({
    store: "memory",
    config: {
      providers: { anthropic: { models: { small } } },
      ...(mode === undefined ? {} : { context_config: { recovery_mode: mode } }),
    },
    ...(strategies === undefined ? {} : { parts: { strategies } }),
  });
  open.push(plimsoll);
  return plimsoll;
}

const answer = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  content: [{ type: "text", text: "Noted, and on to the next." }],
  stop_reason: "end_turn",
};
interface Request {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
}
type Prepared = PreparedTurn<Request>;

/** A conversation that a test can drive turn by turn. */
class Talk {
  readonly session: Session;
  readonly #random = diceOf(3);

  private constructor(session: Session) {
    this.session = session;
  }

  static async begin(plimsoll: Engine, options?: Parameters<Engine["session"]>[0]): Promise<Talk> {
    const talk = new Talk(await plimsoll.session(options));
    await talk.say("Hello, can you help me?");
    await talk.say(`${goal} ${rule}`);
    return talk;
  }

  async ask(content: string | number): Promise<Prepared> {
    const text = typeof content === "string" ? content : prose(this.#random, content);
    await this.session.append({ role: "user", content: text });
    return this.session.prepare<Request>({ target });
  }

  async say(content: string | number): Promise<Prepared> {
    const prepared = await this.ask(content);
    await this.session.commit(answer);
    return prepared;
  }

  /** Takes turns until one ends with this outcome. */
  async until(kind: Prepared["outcome"]["kind"], tokens = 300): Promise<Prepared> {
    for (let turn = 0; turn < 60; turn++) {
      const prepared = await this.say(tokens);
      if (prepared.outcome.kind === kind) return prepared;
      expect(prepared.outcome.kind).not.toBe("refused");
    }
    throw new Error(`60 turns, and none was ${kind}.`);
  }
}

function textOf({ request }: Prepared): string {
  return JSON.stringify(request.messages);
}

const tooLong = {
  status: 400,
  error: {
    type: "error",
    error: {
      type: "invalid_request_error",
      message: "prompt is too long: 7000 tokens > 5900 maximum",
    },
  },
};

const idle: Strategy = { name: "idle", propose: () => [] };

describe("when a turn is to start afresh", () => {
  const now = 1_000_000_000;
  const minute = 60_000;
  function logWith(...minutesAgo: readonly number[]): SessionLog {
    const log = emptyLog({
      id: "ses_1",
      tenant: "t",
      wire: "anthropic",
      createdAt: 0,
      updatedAt: 0,
    });
    for (const ago of minutesAgo)
      rememberInSession(log, { kind: "overflowed", at: now - ago * minute });
    return log;
  }
  const branchOf = (log: SessionLog) =>
    startBranch(log, { id: "main", relation: "new", forkSeq: null, at: 0 });

  test.each([
    ["no overflow", [], false],
    ["two within an hour", [50, 5], false],
    ["three within an hour", [50, 30, 5], true],
    ["three, one of them long ago", [61, 30, 5], false],
    ["many long ago", [200, 190, 180, 170], false],
  ])("%s", (_, minutesAgo, isWanted) => {
    const log = logWith(...minutesAgo);
    const reason = afreshDue(log, branchOf(log), now)?.reason;
    expect(reason !== undefined).toBe(isWanted);
    if (isWanted) expect(reason).toContain("3 overflows");
  });

  test("a wish comes first, and no more than a few overflows are remembered", () => {
    const log = logWith(...Array.from({ length: 500 }, (_, number) => 500 - number));
    expect(log.memory.overflows.length).toBeLessThanOrEqual(16);
    const branch = branchOf(log);
    remember(branch, { kind: "wants-recovery", reason: "By wish." });
    expect(afreshDue(log, branch, now)?.reason).toBe("By wish.");
  });
});

const isEnd: ReadonlySet<string> = new Set(["recovered", "refused"]);

describe("a chain that is exhausted", () => {
  test("the turn is recovered: it fits, the handover has the goal and the user's rules, and all of it can be read", async () => {
    const plimsoll = await fresh({ strategies: [idle] });
    const heard: string[] = [];
    plimsoll.on("recovery", ({ reason }) => heard.push(reason));
    const talk = await Talk.begin(plimsoll);
    const recovered = await talk.until("recovered");
    expect(recovered.outcome.tokensAfter).toBeLessThanOrEqual(LIMIT);
    const text = textOf(recovered);
    expect(text).toContain("Handover.");
    expect(text).toContain("src/shop/importer.py");
    expect(text).toContain(rule);
    const [handle = ""] = /pl_[0-9A-Za-z]{22}/.exec(text) ?? [];
    const record = await plimsoll.store.archived(undefined, handle);
    expect(record?.session).toBe(talk.session.id);
    expect((await talk.say("And now?")).outcome.kind).toBe("edited");
    expect(heard).toEqual(["The strategies could not make it fit."]);
    const errors = await plimsoll.store.errors({ limit: 10 });
    expect(errors).toContainEqual(expect.objectContaining({ code: "RECOVERY_TRIGGERED" }));
  });

  test("Continue task …: the handover names the task with which the session was opened", async () => {
    const plimsoll = await fresh({ strategies: [idle] });
    const talk = await Talk.begin(plimsoll, { task: "TK-42" });
    expect(textOf(await talk.until("recovered"))).toContain("Continue task TK-42.");
    await talk.session.milestone({ task: "TK-43" });
    expect(textOf(await talk.until("recovered"))).toContain("Continue task TK-43.");
  });

  test.each(["fresh_start", "truncate", "error"] as const)(
    "BREAKER_FAILED: all strategies fail, and that is one record for each turn, also with recovery_mode %s",
    async (mode) => {
      const plimsoll = await fresh({ strategies: [idle], mode });
      const talk = await Talk.begin(plimsoll);
      const kinds: string[] = [];
      for (let turn = 0; turn < 40 && !kinds.some((kind) => isEnd.has(kind)); turn++)
        kinds.push((await talk.say(300)).outcome.kind);
      const errors = await plimsoll.store.errors({ session: talk.session.id, limit: 99 });
      const failed = errors.filter(({ code }) => code === "BREAKER_FAILED");
      const expected = {
        message: "No strategy could make the request fit.",
        fields: { strategies: "none" },
      };
      expect(failed.at(-1)).toMatchObject(expected);
      const turns = failed.map(({ fields }) => fields?.["turn"]);
      expect(new Set(turns).size).toBe(turns.length);
      // With recovery_mode error, the conversation goes on in the room that is left, and later turns fail too.
      if (mode !== "error") expect(turns).toHaveLength(1);
    },
  );

  test("recovery_mode truncate: everything in the middle is cut instead", async () => {
    const plimsoll = await fresh({ strategies: [idle], mode: "truncate" });
    const talk = await Talk.begin(plimsoll);
    const recovered = await talk.until("recovered");
    expect(textOf(recovered)).toMatch(/earlier messages .* were removed here/);
    expect(textOf(recovered)).not.toContain("Handover.");
    expect(recovered.outcome.tokensAfter).toBeLessThanOrEqual(LIMIT);
  });

  test("recovery_mode error: the guard says no, and nothing is cut", async () => {
    const plimsoll = await fresh({ strategies: [idle], mode: "error" });
    const talk = await Talk.begin(plimsoll);
    const kinds: string[] = [];
    for (let turn = 0; turn < 40 && !kinds.includes("refused"); turn++)
      kinds.push((await talk.say(300)).outcome.kind);
    expect(kinds).toContain("refused");
    expect(kinds).not.toContain("recovered");
    const edits = await plimsoll.store.edits(talk.session.id);
    expect(edits.filter(({ action }) => action.kind !== "insert")).toEqual([]);
  });

  test("it goes on and on: recovered as often as it takes, never refused", async () => {
    const plimsoll = await fresh({ strategies: [idle] });
    const talk = await Talk.begin(plimsoll);
    let text = "";
    for (let round = 0; round < 3; round++) text = textOf(await talk.until("recovered", 500));
    expect(text).toContain(rule);
  });
});

describe("overflows at the provider", () => {
  test("more than two within an hour: the conversation starts afresh", async () => {
    const plimsoll = await fresh();
    const talk = await Talk.begin(plimsoll);
    const recovered: string[] = [];
    plimsoll.on("recovery", ({ reason }) => recovered.push(reason));
    for (let turn = 0; turn < 4; turn++) await talk.say(300);
    for (let overflow = 0; overflow < 3; overflow++) {
      await talk.ask(300);
      expect(recovered).toEqual([]);
      await talk.session.overflowed(tooLong);
      await talk.session.commit(answer);
    }
    await talk.say("And now?");
    expect(recovered).toEqual(["There were 3 overflows within an hour."]);
    expect((await talk.say("So?")).outcome.kind).toBe("edited");
  });
});

describe("milestones", () => {
  test("the next turn is recovered, and its handover says the task", async () => {
    const plimsoll = await fresh();
    const talk = await Talk.begin(plimsoll);
    for (let turn = 0; turn < 4; turn++) await talk.say(200);
    await talk.session.milestone({ task: "ship-17", reason: "The importer is done." });
    const next = await talk.say("Now the report.");
    expect(next.outcome.kind).toBe("recovered");
    expect(textOf(next)).toContain("Continue task ship-17.");
    expect(textOf(next)).toContain(rule);
    expect((await talk.say("Go on.")).outcome.kind).toBe("edited");
    const events = await plimsoll.store.events({
      session: talk.session.id,
      after: 0,
      limit: 1_000,
    });
    const recovery = events.find(({ event }) => event.type === "recovery")?.event;
    expect(recovery).toMatchObject({ reason: "The importer is done." });
  });

  test("in a conversation that has hardly begun nothing is lost, and it goes on", async () => {
    const plimsoll = await fresh();
    const session = await plimsoll.session();
    await session.append({ role: "user", content: "hi" });
    await session.prepare({ target });
    await session.commit(answer);
    await session.milestone({});
    await session.append({ role: "user", content: "ho" });
    const { outcome } = await session.prepare<Request>({ target });
    expect(outcome.kind).not.toBe("refused");
  });

  test("a wish that cannot be met is tried once, and then forgotten", async () => {
    const plimsoll = await fresh({ mode: "error" });
    const talk = await Talk.begin(plimsoll);
    for (let turn = 0; turn < 6; turn++) await talk.say(300);
    await talk.session.milestone({});
    await talk.say("ok");
    for (let turn = 0; turn < 3; turn++) {
      const { outcome } = await talk.say("ok");
      expect(["compacted", "recovered", "refused"]).not.toContain(outcome.kind);
    }
  });

  test("a fresh start that does not suffice is no reason to refuse what the chain can make fit", async () => {
    const plimsoll = await fresh();
    const talk = await Talk.begin(plimsoll);
    for (let turn = 0; turn < 4; turn++) await talk.say(200);
    await talk.ask("Please read the log, then tell me.");
    const call = { type: "tool_use", id: "t1", name: "read", input: { path: "a.log" } };
    await talk.session.commit({ ...answer, content: [call], stop_reason: "tool_use" });
    await talk.session.milestone({});
    const log = Array.from({ length: 900 }, (_, line) => `line ${line} says value_${line}`);
    const result = { type: "tool_result", tool_use_id: "t1", content: log.join("\n") };
    await talk.session.append({ role: "user", content: [result] });
    const { outcome } = await talk.session.prepare({ target });
    expect(["compacted", "recovered"]).toContain(outcome.kind);
    expect(outcome.tokensAfter).toBeLessThanOrEqual(WINDOW);
  });

  test("reset starts afresh at once, and says what it did", async () => {
    const plimsoll = await fresh();
    const talk = await Talk.begin(plimsoll);
    for (let turn = 0; turn < 4; turn++) await talk.say(300);
    const done = await talk.session.reset({ task: "ship-18" });
    expect(done.strategies).toEqual(["fresh_start"]);
    expect(done.tokensAfter).toBeLessThan(done.tokensBefore);
    const next = await talk.say("Go on.");
    expect(next.outcome.kind).toBe("edited");
    expect(textOf(next)).toContain("Continue task ship-18.");
    await talk.session.undo();
    expect(textOf(await talk.say("And so on."))).not.toContain("Handover.");
  });
});

describe("compactions that come too soon", () => {
  function listening(): { readonly goals: number[]; readonly strategy: Strategy } {
    const goals: number[] = [];
    const propose: Strategy["propose"] = (_, { tokens }) => {
      goals.push(tokens);
      return [];
    };
    return { goals, strategy: { name: "listening", propose } };
  }

  test("within three turns of another it goes deeper; later it does not", async () => {
    const { goals, strategy } = listening();
    const plimsoll = await fresh({ strategies: (usual) => [strategy, ...usual] });
    const talk = await Talk.begin(plimsoll);
    await talk.until("compacted");
    const [first = 0] = goals.splice(0);
    expect((await talk.say(3_600)).outcome.kind).toBe("compacted");
    const [soon = 0] = goals.splice(0);
    expect(soon / first).toBeCloseTo(0.7, 1);
    for (let turn = 0; turn < 4; turn++) await talk.say("ok");
    expect(goals).toEqual([]);
    await talk.until("compacted");
    expect(goals[0]).toBe(first);
  });

  test("one that frees next to nothing is tried again deeper", async () => {
    const goals: number[] = [];
    const timid: Strategy = {
      name: "timid",
      propose: (conversation, wanted) => {
        goals.push(wanted.tokens);
        const [, , unit] = conversation.units;
        if (unit === undefined) return [];
        const { first, last } = unit;
        return [
          {
            kind: "remove",
            first,
            last: last + 1,
            reason: "Little.",
            textFor: ({ handle }) => handle,
          },
        ];
      },
    };
    const plimsoll = await fresh({ strategies: [timid] });
    const talk = await Talk.begin(plimsoll);
    for (let turn = 0; turn < 30 && goals.length === 0; turn++) await talk.say(300);
    expect(goals.length).toBeGreaterThan(1);
    expect(goals[1]).toBeLessThan(goals[0] ?? 0);
  });
});

describe("strategies that fail", () => {
  const failing: Readonly<Record<string, Strategy>> = {
    "one that throws": {
      name: "clumsy",
      propose: () => {
        throw new Error("I dropped it");
      },
    },
    "one that rejects": { name: "sulky", propose: () => Promise.reject(new Error("not today")) },
    "one that answers nonsense": { name: "odd", propose: () => "nonsense" as unknown as [] },
    "one that answers nothing": { name: "mute", propose: () => undefined as unknown as [] },
  };

  test.each(Object.entries(failing))(
    "%s, alone: the conversation is recovered, and goes on",
    async (_, strategy) => {
      const plimsoll = await fresh({ strategies: [strategy] });
      const degraded: string[] = [];
      plimsoll.on("degraded", ({ reason }) => degraded.push(reason));
      const talk = await Talk.begin(plimsoll);
      const recovered = await talk.until("recovered");
      expect(recovered.outcome.tokensAfter).toBeLessThanOrEqual(LIMIT);
      await talk.say("Go on.");
      expect(degraded.some((reason) => reason.startsWith(`${strategy.name}: `))).toBe(true);
    },
  );

  test.each(Object.entries(failing))("%s, before others: the others do it", async (_, strategy) => {
    const plimsoll = await fresh({ strategies: [strategy, truncate] });
    const talk = await Talk.begin(plimsoll);
    const compacted = await talk.until("compacted");
    expect(compacted.outcome.tokensAfter).toBeLessThanOrEqual(LIMIT);
  });
});
