/**
 * Clients send back what they were told in words of their own, and otherwise with every request. Each answer is still one
 * message of one conversation, and what was looked up and taken out stays so. `PLIMSOLL_RESPELLED_SEED` gives others.
 */

import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { receive } from "../../test/generate/rehearsal.ts";
import type { JsonObject, Wire } from "../../test/harness/json.ts";
import {
  brokenRules,
  changesOfItsOwn,
  lostEdits,
  lostLookups,
  notAsWritten,
  notFoundOnce,
  notOnceInLog,
  sessionsBesideOne,
} from "../../test/respelled/findings.ts";
import { type Call, CLIENTS, type Client, type Look, WIRES } from "../../test/respelled/habits.ts";
import { bodyText, openOn, runClient, type TakenTurn, UUID } from "../../test/respelled/run.ts";
import { SPELLERS } from "../../test/respelled/wires.ts";
import { createMemoryStore } from "../store/memory.ts";
import type { NodeRecord, Store } from "../store/store.ts";
import type { Plimsoll } from "./plimsoll.ts";
import type { ReceivedTurn } from "./turn.ts";

const seed = Number(process.env["PLIMSOLL_RESPELLED_SEED"] ?? 20261116);
const RUNS = 14;

async function holds(wire: Wire, clients: fc.Arbitrary<Client>): Promise<void> {
  const taken: TakenTurn[] = [];
  await fc.assert(
    fc.asyncProperty(clients, async (client) => {
      const run = await runClient(wire, client);
      taken.push(...run.turns);
      try {
        const findings = {
          sessions: await sessionsBesideOne(run),
          log: await notOnceInLog(run),
          lookups: lostLookups(run),
          edits: await lostEdits(run),
          bytes: notAsWritten(run),
          rules: brokenRules(run),
          prefix: changesOfItsOwn(run),
          search: await notFoundOnce(run),
        };
        expect(Object.entries(findings).filter(([, found]) => found.length > 0)).toEqual([]);
      } finally {
        await run.plimsoll.close();
      }
    }),
    { numRuns: RUNS, seed, endOnFailure: true },
  );
  // The clients did what they are there for.
  expect(taken.filter(({ newEdits }) => newEdits.length > 0).length).toBeGreaterThan(RUNS);
  expect(taken.filter(({ lookup }) => lookup !== undefined).length).toBeGreaterThan(RUNS);
}

describe.each(WIRES)("%s", (wire) => {
  test(
    "a client that rearranges what it was told has one conversation, with each answer in it once",
    () => holds(wire, CLIENTS.rearranging),
    60_000,
  );

  test(
    "so has a client without a name that spells its answers otherwise",
    () => holds(wire, CLIENTS.nameless),
    60_000,
  );

  test(
    "so has a client whose credential is refreshed",
    () => holds(wire, CLIENTS.rotating),
    60_000,
  );
});

/* What only looks alike */

const open: Plimsoll[] = [];
afterEach(async () => {
  for (const plimsoll of open.splice(0)) await plimsoll.close();
});

const LOOK: Look = {
  turn: 0,
  isMerging: false,
  hasExtraKeys: false,
  isReordering: false,
  hasNames: false,
  isInParts: false,
  empty: "blank",
};
const EXTRA: Look = { ...LOOK, hasExtraKeys: true, turn: 7 };
const WORDS = "I have looked at the hull, and it is sound.";

function callOf(id: string, argument = "the hull"): Call {
  return { id, argument, result: `what is to be seen there, for ${id}` };
}

interface Asked {
  readonly tenant?: string;
  readonly clientKey?: string;
  readonly isRefreshable?: boolean;
  readonly agent?: string;
}

/** One client of a store, which says what it likes. */
class Talk {
  readonly store: Store = createMemoryStore();
  readonly wire: Wire;
  readonly asked: Asked;
  #plimsoll: Promise<Plimsoll> | undefined;

  constructor(wire: Wire, asked: Asked = {}) {
    this.wire = wire;
    this.asked = asked;
  }

  user(text: string): JsonObject {
    return SPELLERS[this.wire].said([text], LOOK);
  }

  answer(words: string, calls: readonly Call[] = [], look: Look = LOOK): readonly JsonObject[] {
    return SPELLERS[this.wire].echo([words], calls, look);
  }

  results(...calls: readonly Call[]): readonly JsonObject[] {
    return SPELLERS[this.wire].results(calls);
  }

  /** Answered, or cut off where there is nothing to answer. */
  async say(
    messages: readonly JsonObject[],
    given: { readonly words: string; readonly calls?: readonly Call[] } | undefined,
    asked: Asked = {},
  ): Promise<ReceivedTurn> {
    this.#plimsoll ??= openOn(this.store);
    const plimsoll = await this.#plimsoll;
    if (!open.includes(plimsoll)) open.push(plimsoll);
    const all = [...SPELLERS[this.wire].opening.map(({ json }) => json), ...messages];
    const wished = { tenant: "key:0", clientKey: "test:talk", ...this.asked, ...asked };
    const { tenant, clientKey, agent, isRefreshable } = wished;
    const turn = await receive(
      plimsoll,
      this.wire,
      new TextEncoder().encode(
        bodyText(
          this.wire,
          all.map((message) => JSON.stringify(message)),
        ),
      ),
      {
        tenant,
        hints: { clientKey, isCompacted: false, ...(agent === undefined ? {} : { agent }) },
        isRefreshable: isRefreshable === true,
      },
    );
    if (given === undefined) await turn.end({ status: "failed" });
    else {
      const choices = [SPELLERS[this.wire].answer([given.words], given.calls ?? [])];
      await turn.end({ status: "complete", answer: { outcome: "message", choices } });
    }
    return turn;
  }

  /** Messages of the log that have a text in them. */
  async kept(session: string, text: string): Promise<readonly NodeRecord["source"][]> {
    const { nodes = [] } = (await this.store.snapshot(session)) ?? {};
    const bodies = await this.store.bodies(
      session,
      nodes.map(({ seq }) => seq),
    );
    const has = ({ seq }: NodeRecord): boolean =>
      new TextDecoder().decode(bodies.get(seq)).includes(text);
    return nodes.filter(has).map(({ source }) => source);
  }
}

describe.each(WIRES)("%s: what only looks alike is not the same", (wire) => {
  test("the same words with a call of another id, in the place of an answer", async () => {
    const talk = new Talk(wire);
    const [call, other] = [callOf("call_1"), callOf("call_9")];
    const asked = [talk.user("Is the hull sound?")];
    await talk.say(asked, { words: WORDS, calls: [call] });
    const said = [...asked, ...talk.answer(WORDS, [other]), ...talk.results(other)];
    const { session, relation } = await talk.say(said, { words: "Yes." });
    expect(relation).not.toBe("extends");
    const calls = (await talk.kept(session, '"call_9"')).slice(0, 1);
    expect(calls).toEqual(["request"]);
  });

  test("an answer in its place that says something else", async () => {
    const talk = new Talk(wire);
    const asked = [talk.user("Is the hull sound?")];
    await talk.say(asked, { words: WORDS });
    const said = [...asked, ...talk.answer(`${WORDS} Mostly.`), talk.user("And the deck?")];
    const { session } = await talk.say(said, { words: "Yes." });
    expect(await talk.kept(session, "it is sound.")).toEqual(["answer", "request"]);
  });

  test("arguments of a call that nobody recorded, in other bytes", async () => {
    const talk = new Talk(wire);
    const shot = (argument: string): readonly JsonObject[] => [
      talk.user("An example."),
      ...talk.answer(WORDS, [callOf("call_0", argument)]),
      ...talk.results(callOf("call_0")),
      talk.user("Now you."),
    ];
    await talk.say(shot("the keel"), { words: "Aye, now it is my turn to look." });
    const { session } = await talk.say(shot("the  keel"), { words: "Aye." });
    expect(await talk.kept(session, "the keel")).toEqual(["request"]);
    expect(await talk.kept(session, "the  keel")).toEqual(["request"]);
  });

  test("an assistant's message where no answer was recorded, with another key in it", async () => {
    const talk = new Talk(wire);
    const shot = (look: Look): readonly JsonObject[] => [
      talk.user("An example."),
      ...talk.answer(WORDS, [callOf("call_0")], look),
      ...talk.results(callOf("call_0")),
      talk.user("Now you."),
    ];
    await talk.say(shot(LOOK), { words: "Aye, now it is my turn to look." });
    const { session, relation } = await talk.say(shot(EXTRA), { words: "Aye." });
    expect(relation).not.toBe("retry");
    expect(await talk.kept(session, "x_run")).not.toEqual([]);
  });

  test("an answer that another agent was given: whoever says it again finds it", async () => {
    const talk = new Talk(wire);
    const { session } = await talk.say([talk.user("Is the hull sound?")], { words: WORDS });
    const said = [talk.user("This is what I know."), ...talk.answer(WORDS), talk.user("Go on.")];
    await talk.say(said, { words: "Aye." }, { agent: "helper" });
    expect(await talk.kept(session, WORDS)).toEqual(["answer", "request"]);
  });

  test("a client that goes back behind its last answer, and brings the one before it in pieces", async () => {
    const talk = new Talk(wire);
    const call = callOf("call_1");
    const asked = [talk.user("Is the hull sound?")];
    await talk.say(asked, { words: WORDS, calls: [call] });
    const pieces = [...talk.answer(WORDS), ...SPELLERS[wire].echo([], [call], LOOK)];
    const known = [...asked, ...pieces, ...talk.results(call)];
    const first = await talk.say(known, { words: "It is sound, as far as I can see." });
    const onward = [
      ...known,
      ...talk.answer("It is sound, as far as I can see."),
      talk.user("And the deck?"),
    ];
    await talk.say(onward, { words: "The deck is not sound at all." });
    const back = await talk.say([...known, talk.user("Look again.")], { words: "It is." });
    expect([back.session, back.relation]).toEqual([first.session, "rewind"]);
    expect(await talk.kept(first.session, "The deck is not sound")).toEqual(["answer"]);
  });
});

describe.each(WIRES)("%s: a refreshed credential", (wire) => {
  const named = { clientKey: `test:${UUID}`, isRefreshable: true };
  const refreshed = { tenant: "key:1" };

  /** Two answers, and the history that its client has of them; a third question without an answer, where it is asked. */
  async function begun(asked: Asked = named) {
    const talk = new Talk(wire, asked);
    const call = callOf("call_1");
    const history: JsonObject[] = [talk.user("Is the hull sound?")];
    const { session } = await talk.say(history, { words: WORDS, calls: [call] });
    history.push(...talk.answer(WORDS, [call], EXTRA), ...talk.results(call));
    await talk.say(history, { words: "It is sound, as far as I can see." });
    history.push(...talk.answer("It is sound, as far as I can see."));
    return { talk, session, history };
  }

  test("continues the conversation of which it carries every word, and goes on in it", async () => {
    const { talk, session, history } = await begun();
    const next = [...history, talk.user("And the deck?")];
    const turn = await talk.say(next, { words: "The deck is sound, too." }, refreshed);
    expect(turn.session).toBe(session);
    expect((await talk.store.session(session))?.tenant).toBe("key:0");
    const last = [...next, ...talk.answer("The deck is sound, too."), talk.user("Good.")];
    expect((await talk.say(last, { words: "Aye." }, { tenant: "key:2" })).session).toBe(session);
  });

  test("reaches no conversation of which it lacks anything", async () => {
    const { talk, session, history } = await begun();
    for (let length = 0; length < history.length; length++) {
      const said = [...history.slice(0, length), talk.user("And the deck?")];
      const turn = await talk.say(said, undefined, { tenant: `key:${length + 1}` });
      expect(turn.session).not.toBe(session);
    }
  });

  test("reaches none in which something was asked that it does not know", async () => {
    const { talk, session, history } = await begun();
    await talk.say([...history, talk.user("The word is albatross.")], undefined);
    const turn = await talk.say([...history, talk.user("And the deck?")], undefined, refreshed);
    expect(turn.session).not.toBe(session);
  });

  test("reaches none in which its client left something behind", async () => {
    const { talk, session, history } = await begun();
    const left = [...history, talk.user("The word is albatross.")];
    await talk.say(left, { words: "I will remember the word." });
    const back = [...history, talk.user("And the deck?")];
    await talk.say(back, { words: "The deck is sound, too." });
    const next = [...back, ...talk.answer("The deck is sound, too."), talk.user("Good.")];
    expect((await talk.say(next, undefined)).session).toBe(session);
    expect((await talk.say(next, undefined, refreshed)).session).not.toBe(session);
  });

  test.each([
    ["another UUID", named, { clientKey: `test:${UUID.replace("7", "8")}` }],
    ["a name that is no UUID", { ...named, clientKey: "test:talk" }, {}],
    ["a service that others can reach", named, { isRefreshable: false }],
    ["a token that Plimsoll gave to somebody", { ...named, tenant: "token:0" }, {}],
  ])("reaches nothing with %s", async (_, first, then) => {
    const { talk, session, history } = await begun(first);
    const next = [...history, talk.user("And the deck?")];
    const turn = await talk.say(next, undefined, { ...refreshed, ...then });
    expect(turn.session).not.toBe(session);
  });

  test("reaches no other conversation of the same client", async () => {
    const { talk, session, history } = await begun();
    const elsewhere = { clientKey: "test:another talk" };
    const question = [talk.user("The word is albatross.")];
    const other = await talk.say(question, { words: "I will remember the word." }, elsewhere);
    await talk.say([...history, talk.user("And the deck?")], undefined, refreshed);
    const known = [...question, ...talk.answer("I will remember the word."), talk.user("Which?")];
    const turn = await talk.say(known, undefined, { ...elsewhere, ...refreshed });
    expect([session, other.session]).not.toContain(turn.session);
  });
});
