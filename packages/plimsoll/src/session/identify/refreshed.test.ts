/** A client whose credential was refreshed continues its conversation, and nobody else can. */

import { afterEach, describe, expect, test } from "vitest";
import type { JsonObject } from "../../../test/harness/json.ts";
import { WIRES } from "../../../test/respelled/habits.ts";
import { UUID } from "../../../test/respelled/run.ts";
import {
  type Asked,
  callOf,
  closeTalks,
  EXTRA,
  LOOK,
  Talk,
  WORDS,
} from "../../../test/respelled/talk.ts";
import { SPELLERS } from "../../../test/respelled/wires.ts";

afterEach(closeTalks);

describe.each(WIRES)("%s: a refreshed credential", (wire) => {
  const named = { clientKey: `test:${UUID}`, isRefreshable: true };
  const refreshed = { tenant: "key:1" };

  /** A conversation with two answers, and the history of it that the client has. */
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

  test.each([
    ["the text beside a call", "", callOf("call_1")],
    ["the arguments of a call", WORDS, callOf("call_1", "nothing of it")],
  ])("reaches no conversation of which it has all but %s", async (_, words, call) => {
    const { talk, session, history } = await begun();
    const [question = {}] = history;
    const answer =
      words === "" ? SPELLERS[wire].echo([], [call], LOOK) : talk.answer(words, [call]);
    const known = [question, ...answer, ...talk.results(callOf("call_1"))];
    const last = talk.answer("It is sound, as far as I can see.");
    const turn = await talk.say([...known, ...last, talk.user("Go on.")], undefined, refreshed);
    expect(turn.session).not.toBe(session);
  });

  test("continues the conversation in the words in which its client has always sent it", async () => {
    const talk = new Talk(wire, named);
    const history: JsonObject[] = [talk.user("Is the hull sound?")];
    const { session } = await talk.say(history, { words: WORDS, calls: [callOf("call_1")] });
    const changed = callOf("call_1", "the hull, below the water");
    history.push(...talk.answer(WORDS, [changed]), ...talk.results(changed));
    await talk.say(history, { words: "It is sound, as far as I can see." });
    await talk.restart();
    const last = talk.answer("It is sound, as far as I can see.", [], EXTRA);
    const next = [...history, ...last, talk.user("And the deck?")];
    expect((await talk.say(next, undefined, refreshed)).session).toBe(session);
  });

  test("reaches none that was answered twice in one place, with the same ids in the calls", async () => {
    const talk = new Talk(wire, named);
    const question = [talk.user("Is the hull sound?")];
    const known = callOf("call_1", "the keel");
    const { session } = await talk.say(question, { words: WORDS, calls: [callOf("call_1")] });
    await talk.say(question, { words: WORDS, calls: [known] });
    const next = [...question, ...talk.answer(WORDS, [known]), ...talk.results(known)];
    expect((await talk.say(next, undefined, refreshed)).session).not.toBe(session);
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

  const title = "Write a title for a talk about a hull.";

  test.each([
    ["a title", {}],
    ["a sub-agent", { agent: "helper" }],
  ])("continues the conversation, though %s was asked for first", async (_, who) => {
    const { talk, session, history } = await begun();
    const asked = { ...refreshed, ...who };
    const side = await talk.say([talk.user(title)], { words: "A hull that is sound" }, asked);
    expect(side.session).not.toBe(session);
    expect(await talk.found(side.session, WORDS)).toEqual([]);
    const next = [...history, talk.user("And the deck?")];
    const turn = await talk.say(next, { words: "The deck is sound, too." }, refreshed);
    expect([turn.session, turn.relation]).toEqual([session, "extends"]);
    await talk.restart();
    const last = [
      ...next,
      ...talk.answer("The deck is sound, too.", [], EXTRA),
      talk.user("Good."),
    ];
    expect((await talk.say(last, undefined, refreshed)).session).toBe(session);
    const more = [talk.user(title), ...talk.answer("A hull that is sound"), talk.user("Shorter.")];
    expect((await talk.say(more, undefined, asked)).session).toBe(side.session);
  });

  test("continues the conversation, though a title was asked for in between", async () => {
    const { talk, session, history } = await begun();
    const next = [...history, talk.user("And the deck?")];
    await talk.say(next, { words: "The deck is sound, too." }, refreshed);
    await talk.say([talk.user(title)], { words: "A hull that is sound" }, refreshed);
    const last = [...next, ...talk.answer("The deck is sound, too."), talk.user("Good.")];
    expect((await talk.say(last, undefined, refreshed)).session).toBe(session);
  });

  test("continues the conversation, though a part of it was sent first, and answered", async () => {
    const { talk, session, history } = await begun();
    const part = [...history.slice(0, -1), talk.user("What was that about?")];
    const side = await talk.say(part, { words: "It was about the hull." }, refreshed);
    expect(side.session).not.toBe(session);
    const next = [...history, talk.user("And the deck?")];
    expect((await talk.say(next, undefined, refreshed)).session).toBe(session);
  });

  test("goes on where the new credential has gone on, whatever the old session was", async () => {
    const { talk, session, history } = await begun();
    const back = [...history.slice(0, -1), talk.user("Look again.")];
    const { session: own } = await talk.say(back, { words: "It is not sound at all." }, refreshed);
    expect(own).not.toBe(session);
    const next = [...back, ...talk.answer("It is not sound at all."), talk.user("Is it?")];
    const turn = await talk.say(next, { words: "It is not." }, refreshed);
    expect([turn.session, turn.relation]).toEqual([own, "extends"]);
  });

  test("may ask again, and go back, where it has shown that it has every word", async () => {
    const { talk, session, history } = await begun();
    const next = [...history, talk.user("And the deck?")];
    await talk.say(next, { words: "The deck is sound, too." }, refreshed);
    const again = await talk.say(next, { words: "The deck is as sound." }, refreshed);
    expect([again.session, again.relation]).toEqual([session, "retry"]);
    const back = [...history, talk.user("And the mast?")];
    const gone = await talk.say(back, { words: "The mast is broken." }, refreshed);
    expect([gone.session, gone.relation]).toEqual([session, "rewind"]);
    const last = [...back, ...talk.answer("The mast is broken."), talk.user("Oh.")];
    expect((await talk.say(last, undefined, refreshed)).session).toBe(session);
    // Nobody else may do that, even with the same words.
    expect((await talk.say(last, undefined, { tenant: "key:2" })).session).not.toBe(session);
  });

  test("may not go back any more once the first credential has said something", async () => {
    const { talk, session, history } = await begun();
    const next = [...history, talk.user("And the deck?")];
    await talk.say(next, { words: "The deck is sound, too." }, refreshed);
    const secret = [
      ...next,
      ...talk.answer("The deck is sound, too."),
      talk.user("The word is albatross."),
    ];
    expect((await talk.say(secret, { words: "I will remember it." })).session).toBe(session);
    const back = await talk.say(next, undefined, refreshed);
    expect(back.session).not.toBe(session);
    expect(await talk.found(back.session, "albatross")).toEqual([]);
  });

  test("reaches nothing of another agent, though it has shown every word of one", async () => {
    const { talk, session, history } = await begun();
    const helper = { agent: "helper" };
    const task = [talk.user("The word is albatross."), ...talk.answer("An example.")];
    await talk.say([...task, talk.user("Keep it.")], { words: "I will remember it." }, helper);
    await talk.say([...history, talk.user("And the deck?")], undefined, refreshed);
    const turn = await talk.say([...task, talk.user("Which word?")], undefined, {
      ...refreshed,
      ...helper,
    });
    expect(turn.session).not.toBe(session);
  });

  test("is not looked for where the store cannot be read: what is in memory goes on", async () => {
    const talk = new Talk(wire, named);
    talk.store.sessionsNamed = () => Promise.reject(new Error("The disk is gone."));
    const example = [talk.user("An example."), ...talk.answer(WORDS), talk.user("Now you.")];
    const { session } = await talk.say(example, undefined);
    expect((await talk.say(example, { words: "Aye, I will look." })).session).toBe(session);
  });
});
