/** Agents and branches that share a beginning: messages that are taken out for one of them stay in the view of the others. */

import { afterEach, describe, expect, test } from "vitest";
import { openWith, receive } from "../../../test/generate/rehearsal.ts";
import type { JsonObject } from "../../../test/harness/json.ts";
import { WIRES } from "../../../test/respelled/habits.ts";
import { bodyText } from "../../../test/respelled/run.ts";
import { LOOK } from "../../../test/respelled/talk.ts";
import { SPELLERS } from "../../../test/respelled/wires.ts";
import type { Engine } from "../../engine.ts";
import type { ReceivedTurn } from "../turn/turn.ts";

const open: Engine[] = [];
afterEach(async () => {
  for (const plimsoll of open.splice(0)) await plimsoll.close();
});

const CREW = { min_limit: 500, per_agent: { scout: 3000, cook: 5000 } };

function long(name: string): string {
  return `${name}: ${"hull mark depth cargo harbour crew anchor deck chart ".repeat(30)}`;
}

interface Sent {
  readonly turn: ReceivedTurn;
  /** The request was sent as its client wrote it. */
  readonly isWhole: boolean;
  readonly text: string;
}

describe.each(WIRES)("%s", (wire) => {
  const { opening, said, echo, answer } = SPELLERS[wire];

  async function begun(rounds = 10) {
    const plimsoll = await openWith(60_000, { config: { context_config: CREW } });
    open.push(plimsoll);
    const send = async (
      messages: readonly JsonObject[],
      { agent, words = "So it is." }: { readonly agent?: string; readonly words?: string } = {},
    ): Promise<Sent> => {
      const all = [...opening.map(({ json }) => json), ...messages];
      const body = bodyText(
        wire,
        all.map((message) => JSON.stringify(message)),
      );
      const turn = await receive(plimsoll, wire, new TextEncoder().encode(body), {
        hints: { clientKey: "test:talk", isCompacted: false, ...(agent && { agent }) },
      });
      const text = turn.body === undefined ? body : new TextDecoder().decode(turn.body);
      const choices = [answer([words], [])];
      await turn.end({ status: "complete", answer: { outcome: "message", choices } });
      return { turn, isWhole: text === body, text };
    };
    const history: JsonObject[] = [];
    for (let round = 0; round < rounds; round++) {
      history.push(said([long(`question ${round}`)], LOOK));
      await send(history, { words: long(`answer ${round}`) });
      history.push(...echo([long(`answer ${round}`)], [], LOOK));
    }
    return { plimsoll, send, history };
  }

  const asks = (text: string): JsonObject => said([text], LOOK);

  test("a sub-agent with a low limit takes nothing out of the view of the agent that it came from", async () => {
    const { send, history } = await begun();
    const scout = await send([...history, asks("Scout, look at the mast.")], { agent: "scout" });
    expect([scout.turn.fitted.outcome, scout.isWhole]).toEqual(["compacted", false]);
    const main = await send([...history, asks("And the deck?")]);
    expect([main.turn.fitted.outcome, main.isWhole]).toEqual(["passthrough", true]);
  });

  test("nor out of another sub-agent's, and each keeps what was taken out for it", async () => {
    const { send, history } = await begun();
    const tasks = { scout: [...history, asks("Scout!")], cook: [...history, asks("Cook!")] };
    const scout = await send(tasks.scout, { agent: "scout" });
    const cook = await send(tasks.cook, { agent: "cook" });
    expect(cook.turn.fitted.tokensBefore).toBeGreaterThan(5000);
    expect(cook.turn.fitted.tokensAfter).toBeGreaterThan(scout.turn.fitted.tokensAfter);
    const more = [...echo(["So it is."], [], LOOK), asks("Go on.")];
    for (const [agent, first] of [
      ["scout", scout],
      ["cook", cook],
    ] as const) {
      const next = await send([...tasks[agent], ...more], { agent });
      expect([next.turn.relation, next.turn.fitted.outcome]).toEqual(["extends", "edited"]);
      expect(next.turn.branch).toBe(first.turn.branch);
    }
  });

  test("a sub-agent begins with what its agent has been shown", async () => {
    const { plimsoll, send, history } = await begun();
    const { turn } = await send([...history, asks("And the deck?")]);
    await plimsoll.steering.compact(turn.session, { budget: 4000 });
    const rest = [...history, asks("And the deck?"), ...echo(["So it is."], [], LOOK)];
    const main = await send([...rest, asks("Good.")]);
    expect(main.turn.fitted.outcome).toBe("edited");
    const other = await send([...rest, asks("Helper, look at the mast.")], { agent: "helper" });
    expect([other.turn.relation, other.turn.fitted.outcome]).toEqual(["fork", "edited"]);
  });

  test("a client that goes back keeps what was taken out, and what it left is as it was", async () => {
    const { plimsoll, send, history } = await begun();
    const { turn } = await send([...history, asks("And the deck?")]);
    const back = await send([...history, asks("And the mast?")]);
    expect(back.turn.relation).toBe("rewind");
    await plimsoll.steering.compact(turn.session, { budget: 4000 });
    const next = [...echo(["So it is."], [], LOOK), asks("Good.")];
    const onward = await send([...history, asks("And the mast?"), ...next]);
    expect([onward.turn.branch, onward.isWhole]).toEqual([back.turn.branch, false]);
    const again = await send([...history, asks("And the mast?"), asks("Well?")]);
    expect([again.turn.relation, again.isWhole]).toEqual(["rewind", false]);
    const left = await send([...history, asks("And the deck?"), ...next]);
    expect([left.turn.branch, left.isWhole]).toEqual([turn.branch, true]);
  });

  test.each(["undo", "restore"] as const)(
    "a client that goes back keeps what was taken back by hand (%s)",
    async (how) => {
      const { plimsoll, send, history } = await begun();
      const { session } = (await send([...history, asks("And the deck?")])).turn;
      await plimsoll.steering.compact(session, { budget: 4000 });
      const rest = [...history, asks("And the deck?"), ...echo(["So it is."], [], LOOK)];
      expect((await send([...rest, asks("Good.")])).isWhole).toBe(false);
      await plimsoll.steering[how](session, how === "undo" ? {} : { seq: 0 });
      const back = await send([...rest, asks("Or is it?")]);
      expect([back.turn.relation, back.isWhole]).toEqual(["rewind", true]);
      const further = await send([...history, asks("And the mast?")]);
      expect([further.turn.relation, further.isWhole]).toEqual(["rewind", true]);
    },
  );
});
