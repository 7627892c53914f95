/**
 * How much of the disk a conversation takes, beside what was said in it: with a head that stays and with one in which a date
 * and a state change every turn, on each wire. The texts are of three thousand words by Zipf's law, made of random letters,
 * so that they pack no better than prose does.
 */

import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { openEngine } from "../packages/plimsoll/src/engine.ts";
import type { WireName } from "../packages/plimsoll/src/wire/format/wire.ts";
import { wires } from "../packages/plimsoll/src/wire/wires.ts";
import { withFolder } from "./processes.ts";
import { atMost, type Benchmark, figure } from "./report.ts";

const headBytes = 50_000;
const messageBytes = 1_150;
const goal = 2.5;
const heads = ["fixed", "changing"] as const;
type Head = (typeof heads)[number];

interface Taken {
  readonly wire: WireName;
  readonly head: Head;
  readonly said: number;
  readonly taken: number;
  readonly sessions: number;
}

export const diskBenchmark: Benchmark = {
  name: "disk",
  title: "Disk: what a conversation takes, messages of 1.2 kB, head of 50 kB",
  run: async ({ isQuick }) => {
    const turns = isQuick ? 200 : 500;
    const results: Taken[] = [];
    for (const wire of Object.keys(wires) as WireName[])
      for (const head of heads)
        results.push(await withFolder((folder) => talk(folder, { wire, head, turns })));
    return {
      tables: [
        {
          title: `After ${turns} turns, when the store is closed`,
          columns: ["wire", "head", "said, kB", "on disk, kB", "ratio", "sessions"],
          rows: results.map(({ wire, head, said, taken, sessions }) => [
            wire,
            head,
            figure(said / 1000),
            figure(taken / 1000),
            figure(taken / said),
            String(sessions),
          ]),
        },
      ],
      checks: results.map(({ wire, head, said, taken }) =>
        atMost(`${wire}, ${head} head: bytes on disk per byte said`, taken / said, goal, ""),
      ),
    };
  },
};

interface TalkOptions {
  readonly wire: WireName;
  readonly head: Head;
  readonly turns: number;
}

async function talk(folder: string, { wire: name, head, turns }: TalkOptions): Promise<Taken> {
  const words = createWords(7);
  const system = words(headBytes);
  const wire = wires[name];
  const engine = await openEngine({ data: folder });
  const said: { role: "user" | "assistant"; text: string }[] = [];
  let bytes = 0;
  for (let turn = 0; turn < turns; turn++) {
    said.push({ role: "user", text: words(messageBytes) });
    const now =
      head === "fixed" ? "" : ` Now: ${1_790_000_000 + turn * 61}, changed: ${words(40)} `;
    const messages = wire.messages.encode(
      said.map(({ role, text }) => ({ role, parts: [{ kind: "text", text }] })),
    );
    const body = wire.body.compose({
      model: name === "anthropic" ? "claude-sonnet-4-6" : "gpt-5.1",
      system: [{ text: system.slice(0, 20_000) + now + system.slice(20_000) }],
      tools: [],
      messages,
      maxOutputTokens: 1000,
    });
    const received = await engine.receive({
      tenant: "key:0123456789abcdefghijkl",
      provider: name === "anthropic" ? "anthropic" : "openai",
      wire,
      body: new TextEncoder().encode(JSON.stringify(body)),
      hints: { isCompacted: false },
    });
    const text = words(messageBytes);
    said.push({ role: "assistant", text });
    const answer = wire.messages.encode([{ role: "assistant", parts: [{ kind: "text", text }] }]);
    const usage = { inputTokens: 13_000 + turn * 600, outputTokens: 300 };
    await received.end({
      status: "complete",
      answer: { outcome: "message", choices: [answer], usage, stopReason: "end_turn" },
    });
    bytes += JSON.stringify(messages.at(-1)).length + JSON.stringify(answer).length;
  }
  const sessions = (await engine.store.figures()).sessions;
  await engine.close();
  const taken = readdirSync(folder).reduce(
    (sum, file) => sum + statSync(join(folder, file)).size,
    0,
  );
  return { wire: name, head, said: bytes, taken, sessions };
}

function createWords(seed: number): (characters: number) => string {
  let state = seed;
  const random = (): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return state / 0x7fffffff;
  };
  const letters = "etaoinshrdlucmfw";
  const vocabulary = Array.from({ length: 3000 }, () =>
    Array.from(
      { length: 2 + Math.floor(random() * 8) },
      () => letters[Math.floor(random() * 16)],
    ).join(""),
  );
  return (characters) => {
    let text = "";
    while (text.length < characters)
      text += `${vocabulary[Math.floor(vocabulary.length ** random()) - 1]}${random() < 0.1 ? ".\n" : " "}`;
    return text;
  };
}
