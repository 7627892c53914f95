/**
 * The failure ladder, on every wire, before anything was cut and after: whatever of ours fails, requests go on, valid and
 * within the limit as long as that can be; without storage nothing new is cut; and everything that failed is written down.
 */

import { Worker } from "node:worker_threads";
import { describe, expect, test } from "vitest";
import { type Request, requestsOf, WIRES } from "../../test/generate/conversations.ts";
import { openWith, type Passed, pass, violationsOf } from "../../test/generate/rehearsal.ts";
import { plainScript } from "../../test/generate/script.ts";
import { hadIn, lostOf } from "../../test/generate/whole.ts";
import type { Wire } from "../../test/harness/json.ts";
import { handlesIn } from "../../test/harness/kept.ts";
import { truncate } from "../compact/strategies/truncate.ts";
import type { Engine, Parts } from "../engine.ts";
import type { Rung } from "../message/event.ts";
import type { Proposal, Strategy, TakenOut, VisibleConversation } from "../message/strategy.ts";
import { createMemoryStore } from "../store/memory.ts";
import type { Store } from "../store/store.ts";
import { newViolations } from "../wire/validate/validate.ts";
import { createTokenCounter } from "./measure/token-counter.ts";

const LIMIT = 1500;
const SCRIPT = plainScript({ rounds: 20, steps: 2, characters: 300 });

/** Something that can be broken and mended. */
interface Fault {
  isOn: boolean;
}

/** A conversation under way, in which something can be broken. */
class Talk {
  readonly plimsoll: Engine;
  readonly #wire: Wire;
  readonly #requests: Request[];
  readonly passed: Passed[] = [];

  constructor(plimsoll: Engine, wire: Wire) {
    this.plimsoll = plimsoll;
    this.#wire = wire;
    this.#requests = [...requestsOf(wire, SCRIPT)];
  }

  /** One request further. Whatever happens, it must be answered, and what is sent must be valid. */
  async next(): Promise<Passed> {
    const request = this.#requests.shift();
    if (request === undefined) throw new Error("The conversation is at its end.");
    const passed = await pass(this.plimsoll, this.#wire, request);
    expect(violationsOf(passed)).toEqual([]);
    this.passed.push(passed);
    return passed;
  }

  async until(isThere: (passed: Passed) => boolean): Promise<Passed> {
    for (;;) {
      const passed = await this.next();
      if (isThere(passed)) return passed;
    }
  }

  /** To the point where everything is well and something was cut, or where nothing was yet. */
  async begin(moment: Moment): Promise<Passed> {
    return moment === "before any cut" ? this.next() : this.until(isCompacted);
  }

  get session(): string {
    return this.passed[0]?.turn.session ?? "";
  }

  edits(): ReturnType<Store["edits"]> {
    return this.plimsoll.store.edits(this.session);
  }

  /** What was written down of the failures: as events, and as errors. */
  async degraded(): Promise<readonly { readonly rung: Rung; readonly reason: string }[]> {
    const { store } = this.plimsoll;
    const events = await store.events({ session: this.session, after: 0, limit: 10_000 });
    const degraded = events.flatMap(({ event }) => (event.type === "degraded" ? [event] : []));
    const errors = await store.errors({ session: this.session, limit: 10_000 });
    for (const { rung, reason } of degraded) {
      const fields = expect.objectContaining({ rung });
      expect(errors).toContainEqual(
        expect.objectContaining({ code: "DEGRADED", message: reason, fields }),
      );
    }
    return degraded;
  }
}

type Moment = "before any cut" | "after a cut";
const MOMENTS: readonly Moment[] = ["before any cut", "after a cut"];
const CASES = WIRES.flatMap((wire) => MOMENTS.map((moment) => ({ wire, moment })));

const isCompacted = ({ turn }: Passed): boolean => turn.fitted.outcome === "compacted";
const isOver = ({ turn: { fitted } }: Passed): boolean => fitted.tokensAfter > fitted.limit;

async function talking(
  wire: Wire,
  parts: Partial<Parts>,
  about: (talk: Talk) => Promise<void>,
): Promise<void> {
  // Without the note from 80 % on, which is an edit too; and without a fresh start, which is no rung.
  const config = { context_config: { warning_threshold: 1, recovery_mode: "error" } } as const;
  const plimsoll = await openWith(LIMIT, { parts, config });
  try {
    await about(new Talk(plimsoll, wire));
  } finally {
    await plimsoll.close();
  }
}

function failingStore(fault: Fault): Store {
  const store = createMemoryStore();
  return {
    ...store,
    commit: (writes) =>
      fault.isOn ? Promise.reject(new Error("the disk is full")) : store.commit(writes),
  };
}

describe.each(CASES)("$wire, $moment", ({ wire, moment }) => {
  const handleOf = (first: Passed): string => handlesIn(first.sentText)[0] ?? "";

  /** Nothing can be cut any more: what holds goes on holding, and then the provider's word is ours. */
  const expectNoNewCut = async (talk: Talk, first: Passed): Promise<void> => {
    const before = await talk.edits();
    const last = await talk.until(isOver);
    expect(await talk.edits()).toEqual(before);
    for (const { sentText, turn } of talk.passed.slice(talk.passed.indexOf(first)))
      if (moment === "after a cut") expect(sentText).toContain(handleOf(first));
      else expect(turn.body).toBeUndefined();
    if (moment === "before any cut") {
      expect(last.turn.fitted.outcome).toBe("passthrough");
      expect(last.turn.fitted.refusal).toBeUndefined();
      return;
    }
    const { window, maxOutput } = last.turn.fitted.target.limit;
    const isRefused = ({ turn }: Passed): boolean => turn.fitted.refusal !== undefined;
    const refused = isRefused(last) ? last : await talk.until(isRefused);
    for (const { turn } of talk.passed.slice(talk.passed.indexOf(last), -1)) {
      const { tokensAfter, outcome } = turn.fitted;
      expect(tokensAfter).toBeLessThanOrEqual(window);
      expect(outcome).toBe(tokensAfter + maxOutput <= window ? "edited" : "final");
    }
    expect(refused.turn.fitted.refusal?.limitTokens).toBe(window);
    expect(refused.turn.fitted.refusal?.needTokens).toBeGreaterThan(window);
    expect(await talk.edits()).toEqual(before);
  };

  test("a store that fails: nothing new is cut, what was cut stays, and it goes on when the store does", () => {
    const fault: Fault = { isOn: false };
    return talking(wire, { store: failingStore(fault) }, async (talk) => {
      const first = await talk.begin(moment);
      fault.isOn = true;
      await expectNoNewCut(talk, first);
      fault.isOn = false;
      const mended = await talk.next();
      expect(mended.turn.fitted.outcome).toBe("compacted");
      expect(mended.turn.fitted.tokensAfter).toBeLessThanOrEqual(LIMIT);
      expect((await talk.next()).sentText).toContain(handleOf(mended));
      expect(await talk.degraded()).toContainEqual(
        expect.objectContaining({
          rung: "view",
          reason: "the store could not keep the content that would be removed",
        }),
      );
    });
  });

  test("a validator that throws: truncation in whole units goes on", () => {
    const fault: Fault = { isOn: false };
    const validate: Parts["validate"] = (judged) => {
      if (fault.isOn) throw new Error("the validator is out of its mind");
      return newViolations(judged);
    };
    return talking(wire, { validate }, async (talk) => {
      await talk.begin(moment);
      fault.isOn = true;
      const compacted = await talk.until(isCompacted);
      expect(compacted.turn.fitted.tokensAfter).toBeLessThanOrEqual(LIMIT);
      expect((await talk.until(isCompacted)).newEdits.length).toBeGreaterThan(0);
      expect(await talk.degraded()).toContainEqual(
        expect.objectContaining({
          rung: "truncation",
          reason: expect.stringContaining("the validator is out of its mind"),
        }),
      );
    });
  });

  test("a validator that finds fault with everything: nothing new is cut", () => {
    const fault: Fault = { isOn: false };
    const validate: Parts["validate"] = (judged) =>
      fault.isOn ? [{ rule: "X0", message: "nothing is right" }] : newViolations(judged);
    return talking(wire, { validate }, async (talk) => {
      const first = await talk.begin(moment);
      fault.isOn = true;
      await expectNoNewCut(talk, first);
      fault.isOn = false;
      expect((await talk.next()).turn.fitted.outcome).toBe("compacted");
      expect(await talk.degraded()).toContainEqual(
        expect.objectContaining({
          rung: "truncation",
          reason: expect.stringContaining("rule X0 would be broken"),
        }),
      );
    });
  });

  test("a strategy that throws, with another one behind it: the other one cuts", () => {
    const fault: Fault = { isOn: false };
    const strategies = [throwing(fault), truncate];
    return talking(wire, { strategies }, async (talk) => {
      await talk.begin(moment);
      fault.isOn = true;
      const { turn } = await talk.until(isCompacted);
      expect(turn.fitted.tokensAfter).toBeLessThanOrEqual(LIMIT);
      expect(await talk.degraded()).toContainEqual(
        expect.objectContaining({ rung: "truncation", reason: "clumsy: I dropped it" }),
      );
    });
  });

  test("a strategy that throws, alone: nothing new is cut", () => {
    const fault: Fault = { isOn: false };
    const careful: Strategy = {
      name: "careful",
      propose: (conversation, goal) =>
        fault.isOn
          ? throwing(fault).propose(conversation, goal)
          : truncate.propose(conversation, goal),
    };
    return talking(wire, { strategies: [careful] }, async (talk) => {
      const first = await talk.begin(moment);
      fault.isOn = true;
      await expectNoNewCut(talk, first);
      fault.isOn = false;
      expect((await talk.next()).turn.fitted.outcome).toBe("compacted");
      expect(await talk.degraded()).not.toEqual([]);
    });
  });

  test.each(Object.entries(nonsense))(
    "%s, with truncation behind it: requests go on",
    (_, propose) => {
      const fault: Fault = { isOn: false };
      const foolish: Strategy = {
        name: "foolish",
        propose: (conversation) => (fault.isOn ? propose(conversation) : []),
      };
      return talking(wire, { strategies: [foolish, truncate] }, async (talk) => {
        await talk.begin(moment);
        fault.isOn = true;
        for (let cuts = 0; cuts < 2; cuts++) {
          const cut = await talk.until(isCompacted);
          expect(cut.turn.fitted.tokensAfter).toBeLessThanOrEqual(LIMIT);
          // The system prompt and the first question are nobody's to take.
          expect(cut.sentText).toContain("You load ships");
          expect(cut.sentText).toContain(SCRIPT.rounds[0]?.said.text);
          const had = await hadIn(talk.plimsoll, wire, cut.sentText);
          expect(lostOf(had, cut.request.messages)).toEqual([]);
        }
      });
    },
  );

  test("a counter that is dead: requests go on, and what was cut stays", () => {
    const fault: Fault = { isOn: false };
    const counter = createTokenCounter();
    const count: typeof counter.count = (...texts) =>
      fault.isOn ? Promise.reject(new Error("the counter is dead")) : counter.count(...texts);
    return talking(wire, { counter: { ...counter, count } }, async (talk) => {
      const first = await talk.begin(moment);
      fault.isOn = true;
      const { sentText } = await talk.next();
      if (moment === "after a cut") expect(sentText).toContain(handleOf(first));
      fault.isOn = false;
      expect((await talk.until(isCompacted)).turn.fitted.tokensAfter).toBeLessThanOrEqual(LIMIT);
      expect(await talk.degraded()).not.toEqual([]);
    });
  });

  test("a counting thread that dies at once: what it does not count is taken for more than it is", () => {
    const counter = createTokenCounter({
      workerThresholdChars: 200,
      startWorker: () => new Worker("process.exit(1)", { eval: true }),
    });
    return talking(wire, { counter }, async (talk) => {
      await talk.begin(moment);
      const { turn } = await talk.until(isCompacted);
      expect(turn.fitted.tokensAfter).toBeLessThanOrEqual(LIMIT);
    });
  });
});

function throwing(fault: Fault): Strategy {
  return {
    name: "clumsy",
    propose: () => {
      if (fault.isOn) throw new Error("I dropped it");
      return [];
    },
  };
}

function removal(first: number, last: number, text?: string): Proposal {
  const textFor = ({ handle }: TakenOut): string => text ?? `[Plimsoll: gone, see ${handle}.]`;
  return { kind: "remove", first, last, reason: "Because.", textFor };
}

/** The longest exchange that is not the newest one. */
function oldExchange({ units }: VisibleConversation): {
  readonly first: number;
  readonly last: number;
} {
  return units.slice(1, -1).find(({ isExchange }) => isExchange) ?? { first: 1, last: 1 };
}

const nonsense: Readonly<Record<string, (seen: VisibleConversation) => readonly Proposal[]>> = {
  "the first half of an exchange": (seen) => {
    const { first } = oldExchange(seen);
    return [removal(first, first)];
  },
  "the second half of an exchange": (seen) => {
    const { last } = oldExchange(seen);
    return [removal(last, last)];
  },
  "a range behind the end": ({ messages }) => [removal(messages.length, messages.length + 9)],
  "a range before the beginning": () => [removal(-9, -1)],
  "a range that ends before it begins": () => [removal(5, 2)],
  "numbers that are none": () => [removal(Number.NaN, Number.POSITIVE_INFINITY)],
  everything: ({ messages }) => [removal(0, messages.length - 1)],
  "the same range twice": (seen) => {
    const { first, last } = oldExchange(seen);
    return [removal(first, last), removal(first, last)];
  },
  "an empty text": (seen) => {
    const { first, last } = oldExchange(seen);
    return [removal(first, last, "")];
  },
  "a text without the handle": (seen) => {
    const { first, last } = oldExchange(seen);
    return [removal(first, last, "[Plimsoll: gone.]")];
  },
  "a part that is not there": () => [
    {
      kind: "replace",
      message: 1,
      part: 99,
      place: "undefined",
      reason: "Because.",
      textFor: ({ handle }) => handle,
    },
  ],
  "a note behind nothing": () => [
    { kind: "insert", after: 9999, text: "[Hello.]", reason: "Because." },
  ],
};
