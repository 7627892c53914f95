/** Tools that a message brings, as Codex sends them: they are tools wherever something is measured or shown, and count once. */

import { afterEach, expect, test } from "vitest";
import { openWith, receive } from "../../test/generate/rehearsal.ts";
import { wordsOf } from "../../test/generate/texts.ts";
import type { Engine } from "../engine.ts";

const open: Engine[] = [];
afterEach(async () => {
  for (const plimsoll of open.splice(0)) await plimsoll.close();
});

const tools = Array.from({ length: 40 }, (_, index) => ({
  type: "function",
  name: `look_${index}`,
  description: wordsOf(index, 200),
  parameters: { type: "object", properties: {} },
}));
const bringing = {
  type: "additional_tools",
  role: "developer",
  tools: [{ type: "namespace", name: "ship", description: "All of it.", tools }],
};

function user(text: string) {
  return { type: "message", role: "user", content: [{ type: "input_text", text }] };
}

async function send(plimsoll: Engine, turns: number) {
  const input: object[] = [bringing, { role: "developer", content: "Be brief." }];
  for (let turn = 0; ; turn++) {
    input.push(user(wordsOf(turn, 600)));
    const body = JSON.stringify({ model: "gpt-5.1", instructions: "You load ships.", input });
    const received = await receive(plimsoll, "openai-responses", new TextEncoder().encode(body));
    const answer = { type: "message", role: "assistant", content: wordsOf(turn + 50, 600) };
    await received.end({
      status: "complete",
      answer: { outcome: "message", choices: [[answer]] },
    });
    input.push(answer);
    if (turn === turns - 1) return received;
  }
}

async function fresh(): Promise<Engine> {
  const plimsoll = await openWith(60_000);
  open.push(plimsoll);
  return plimsoll;
}

test("a turn measures them as tools, and not as what the developer says", async () => {
  const { measurement } = (await send(await fresh(), 1)).fitted;
  expect(measurement.tools).toBeGreaterThan(2_000);
  expect(measurement.system).toBeLessThan(60);
  expect(measurement.system + measurement.tools + measurement.conversation).toBe(measurement.total);
});

test("the picture shows them once, where they stand", async () => {
  const plimsoll = await fresh();
  const { session, fitted } = await send(plimsoll, 3);
  const { units, tokens } = await plimsoll.inspect.picture(session);
  const segments = units.flatMap((unit) => unit.segments).filter(({ kind }) => kind === "tools");
  expect(segments).toEqual([{ kind: "tools", tokens: fitted.measurement.tools }]);
  // What is more than the request had is the answer to it.
  const answer = tokens - fitted.measurement.total;
  expect(answer).toBeGreaterThan(0);
  expect(answer).toBeLessThan(300);
});

test("a compaction by hand counts them once", async () => {
  const plimsoll = await fresh();
  const { session, fitted } = await send(plimsoll, 12);
  const done = await plimsoll.steering.compact(session, { keep: "lastTwo" });
  const answer = done.tokensBefore - fitted.measurement.total;
  expect(answer).toBeGreaterThan(0);
  expect(answer).toBeLessThan(300);
});
