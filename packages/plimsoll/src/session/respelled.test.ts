/**
 * Clients send back what they were told in words of their own, and otherwise with every request. Each answer is still one
 * message of one conversation, and what was looked up and taken out stays so.
 */

import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { tries } from "../../test/harness/effort.ts";
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
import { CLIENTS, type Client, type Look, WIRES } from "../../test/respelled/habits.ts";
import { runClient, type TakenTurn } from "../../test/respelled/run.ts";
import { callOf, closeTalks, EXTRA, LOOK, Talk, WORDS } from "../../test/respelled/talk.ts";
import { SPELLERS } from "../../test/respelled/wires.ts";

const generated = tries({ runs: 4, soak: 14, seed: 20261116 });

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
        await run.engine.close();
      }
    }),
    generated,
  );
  // The clients did what they are there for.
  expect(taken.filter(({ newEdits }) => newEdits.length > 0).length).toBeGreaterThan(
    generated.numRuns,
  );
  expect(taken.filter(({ lookup }) => lookup !== undefined).length).toBeGreaterThan(
    generated.numRuns,
  );
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

describe.each(WIRES)("%s, on a server that numbers its calls", (wire) => {
  test.each(["rearranging", "nameless", "rotating"] as const)(
    "so has each of them (%s)",
    (kind) => holds(wire, CLIENTS.numbered[kind]),
    60_000,
  );
});

/* What only looks alike */

afterEach(closeTalks);

describe.each(WIRES)("%s: what only looks alike is not the same", (wire) => {
  test("the same words with a call of another id, in the place of an answer", async () => {
    const talk = new Talk(wire);
    const [call, other] = [callOf("call_1"), callOf("call_9")];
    const asked = [talk.user("Is the hull sound?")];
    await talk.say(asked, { words: WORDS, calls: [call] });
    const said = [...asked, ...talk.answer(WORDS, [other]), ...talk.results(other)];
    const { session, relation } = await talk.say(said, { words: "Yes." });
    // Clients of Gemini give the provider's calls other ids, so there the id is no part of an answer.
    if (wire === "gemini") {
      expect(relation).toBe("extends");
      return;
    }
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

  test("an answer in its place with the same call, of which its client has changed the arguments", async () => {
    const talk = new Talk(wire);
    const asked = [talk.user("Is the hull sound?")];
    await talk.say(asked, { words: WORDS, calls: [callOf("call_1", "the oaken hull")] });
    const changed = callOf("call_1", "the walnut hull");
    const said = [...asked, ...talk.answer(WORDS, [changed]), ...talk.results(changed)];
    const { session, relation } = await talk.say(said, { words: "It is sound." });
    expect(relation).toBe("extends");
    const [number, ...others] = await talk.found(session, "oaken");
    expect(others).toEqual([]);
    expect(await talk.found(session, "walnut")).toEqual([number]);
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
