/**
 * Some servers number the calls of their models, anew with every answer or every conversation: the same id and name say nothing
 * then. Each answer is still one message, and words that nobody has recorded are in the log and are found.
 */

import { afterEach, describe, expect, test } from "vitest";
import type { JsonObject } from "../../test/harness/json.ts";
import { type Call, WIRES } from "../../test/respelled/habits.ts";
import { callOf, closeTalks, EXTRA, LOOK, Talk } from "../../test/respelled/talk.ts";
import { SPELLERS } from "../../test/respelled/wires.ts";
import { pathInSnapshot } from "./log/log.ts";
import type { ReceivedTurn } from "./turn/turn.ts";

afterEach(closeTalks);

const HULL = callOf("call_0", "the teak hull");
const KEEL = callOf("call_0", "the keel and the mast");
const MAST = callOf("call_0", "the zebrawood mast");

function given(words: string, call: Call) {
  return { words, calls: [call] };
}

describe.each(WIRES)("%s", (wire) => {
  /** The numbers of the messages that a turn went on behind. */
  async function pathOf(talk: Talk, turn: ReceivedTurn): Promise<readonly number[]> {
    const snapshot = await talk.store.snapshot(turn.session);
    if (snapshot === undefined) return [];
    const branch = snapshot.branches.find(({ id }) => id === turn.branch);
    return pathInSnapshot(snapshot, branch?.tipSeq ?? null).map(({ seq }) => seq);
  }

  async function numbersWith(talk: Talk, session: string, text: string) {
    const { nodes = [] } = (await talk.store.snapshot(session)) ?? {};
    const seqs = nodes.filter(({ source }) => source === "answer").map(({ seq }) => seq);
    const bodies = await talk.store.bodies(session, seqs);
    return seqs.filter((seq) => new TextDecoder().decode(bodies.get(seq)).includes(text));
  }

  test.each([
    ["at once", false],
    ["after a restart", true],
  ])(
    "two answers in one place, and the client goes on with the first in its own spelling, %s",
    async (_, isLater) => {
      const talk = new Talk(wire);
      const asked = [talk.user("Is the ship sound?")];
      const words = "I look at a part of the ship.";
      await talk.say(asked, given(words, HULL));
      await talk.say(asked, given(words, KEEL));
      if (isLater) await talk.restart();
      const said = [...asked, ...talk.answer(words, [HULL], EXTRA), ...talk.results(HULL)];
      const turn = await talk.say(said, { words: "Yes, it is sound as it is." });
      const { session } = turn;
      const path = await pathOf(talk, turn);
      const [hull] = await numbersWith(talk, session, HULL.argument);
      const [keel] = await numbersWith(talk, session, KEEL.argument);
      expect(path).toContain(hull);
      expect(path).not.toContain(keel);
      expect(await talk.kept(session, HULL.argument)).toEqual(["answer"]);
    },
  );

  test("two answers in one place, of which the client has changed the first once and for all", async () => {
    const talk = new Talk(wire);
    const asked = [talk.user("Is the ship sound?")];
    const words = "I look at a part of the ship.";
    const changed = { ...HULL, argument: "all of it, below the water" };
    await talk.say(asked, given(words, HULL));
    const said = [...asked, ...talk.answer(words, [changed]), ...talk.results(HULL)];
    await talk.say(said, { words: "Yes, it is sound as it is." });
    await talk.say(asked, given(words, KEEL));
    await talk.restart();
    const next = [
      ...asked,
      ...talk.answer(words, [changed], EXTRA),
      ...talk.results(HULL),
      ...talk.answer("Yes, it is sound as it is."),
      talk.user("And the deck?"),
    ];
    const turn = await talk.say(next, { words: "The deck, too." });
    const [hull] = await numbersWith(talk, turn.session, HULL.argument);
    expect(await pathOf(talk, turn)).toContain(hull);
    expect(await talk.kept(turn.session, "sound as it is")).toEqual(["answer"]);
  });

  test("two answers in one place, and the client brings a third", async () => {
    const talk = new Talk(wire);
    const asked = [talk.user("Is the ship sound?")];
    const words = "I look at a part of the ship.";
    await talk.say(asked, given(words, HULL));
    await talk.say(asked, given(words, KEEL));
    const said = [...asked, ...talk.answer(words, [MAST]), ...talk.results(MAST)];
    const { session } = await talk.say(said, { words: "Yes, it is sound as it is." });
    expect(await talk.kept(session, "zebrawood")).toEqual(["request"]);
    expect(await talk.found(session, "zebrawood")).toHaveLength(1);
  });

  test("an answer that nobody recorded, with the id and the name of an earlier call", async () => {
    const talk = new Talk(wire);
    const history: JsonObject[] = [talk.user("Is the ship sound?")];
    await talk.say(history, given("First I look at the hull of it.", HULL));
    history.push(...talk.answer("First I look at the hull of it.", [HULL]), ...talk.results(HULL));
    await talk.say(history, undefined);
    history.push(...talk.answer("Now for the unicorn of it.", [MAST]), ...talk.results(MAST));
    const { session } = await talk.say(history, { words: "Yes, it is sound as it is." });
    expect(await talk.kept(session, "zebrawood")).toEqual(["request"]);
    expect(await talk.kept(session, "unicorn")).toEqual(["request"]);
    expect(await talk.found(session, "zebrawood")).toHaveLength(1);
    expect(await talk.found(session, "unicorn")).toHaveLength(1);
  });

  test("an answer in pieces, of which each says what was said, and a piece with words of its own", async () => {
    const talk = new Talk(wire);
    const history: JsonObject[] = [talk.user("Is the ship sound?")];
    await talk.say(history, given("First I look at the hull of it.", HULL));
    const pieces = [
      ...talk.answer("First I look at the hull of it."),
      ...SPELLERS[wire].echo([], [HULL], LOOK),
      ...talk.results(HULL),
    ];
    const { session } = await talk.say([...history, ...pieces], { words: "It is sound." });
    const only = wire === "openai-responses" ? ["answer"] : ["answer", "echo"];
    expect(await talk.kept(session, HULL.argument)).toEqual(only);
    const own = [
      talk.user("This is what I know."),
      ...talk.answer("Odd.", [HULL]),
      ...talk.results(HULL),
    ];
    await talk.say([...history, ...pieces, ...own], { words: "It still is." });
    expect(await talk.kept(session, "Odd.")).toEqual(["request"]);
    expect(await talk.found(session, "Odd.")).toHaveLength(1);
  });

  describe("clients of one key without a name for their sessions", () => {
    const nameless = { clientKey: undefined };
    const words = "I look at a part of the ship.";
    const done = (call: Call): Call => ({ ...call, result: "done" });

    test("an answer that another was given, with other arguments under the same id, proves nothing", async () => {
      const talk = new Talk(wire, nameless);
      const asked = [talk.user("Is the ship sound?")];
      const { session } = await talk.say(asked, given(words, done(HULL)));
      const said = [...asked, ...talk.answer(words, [done(KEEL)]), ...talk.results(done(KEEL))];
      expect((await talk.say(said, undefined)).session).not.toBe(session);
      const bare = SPELLERS[wire].echo([], [done(HULL)], LOOK);
      const less = [...asked, ...bare, ...talk.results(done(HULL))];
      expect((await talk.say(less, undefined)).session).not.toBe(session);
    });

    test("nor does one further back", async () => {
      const talk = new Talk(wire, nameless);
      const history = [talk.user("Is the ship sound?")];
      const { session } = await talk.say(history, given(words, done(HULL)));
      const next = [...history, ...talk.answer(words, [done(HULL)]), ...talk.results(done(HULL))];
      expect((await talk.say(next, { words: "It is sound as it is." })).session).toBe(session);
      const others = [
        ...history,
        ...talk.answer(words, [done(KEEL)]),
        ...talk.results(done(KEEL)),
        ...talk.answer("It is sound as it is."),
        talk.user("And the deck?"),
      ];
      expect((await talk.say(others, undefined)).session).not.toBe(session);
    });

    test.each([
      ["at once", false],
      ["after a restart", true],
    ])(
      "two that ask the same and are answered with the same ids go on, each in its own, %s",
      async (_, isLater) => {
        const talk = new Talk(wire, nameless);
        const asked = [talk.user("Is the ship sound?")];
        const calls = [done(HULL), done(KEEL)];
        const sessions: string[] = [];
        for (const call of calls)
          sessions.push((await talk.say(asked, given(words, call))).session);
        if (isLater) await talk.restart();
        const known = calls.map((call) => [
          ...asked,
          ...talk.answer(words, [call], EXTRA),
          ...talk.results(call),
        ]);
        const later: string[] = [];
        for (const said of known)
          later.push((await talk.say(said, { words: "It is sound as it is." })).session);
        expect(later).toEqual(sessions);
      },
    );

    test("an id that nobody meets by chance proves it, whatever its client has made of the arguments", async () => {
      const talk = new Talk(wire, nameless);
      const asked = [talk.user("Is the ship sound?")];
      const drawn = (argument: string) => callOf("call_x7Kq2mZp9RtV4wYn", argument);
      const { session } = await talk.say(asked, given(words, drawn("the hull")));
      const changed = drawn("all of it, below the water");
      const said = [...asked, ...talk.answer(words, [changed]), ...talk.results(changed)];
      const same = (await talk.say(said, undefined)).session === session;
      // Clients of Gemini make up ids, so there an id proves nothing.
      expect(same).toBe(wire !== "gemini");
    });
  });
});
