/**
 * The process of the stalls benchmark: one conversation that must become smaller, then its receipt, a picture of its window, and
 * a search. Arguments: kind of text, characters, window. Says how long the event loop was held in one piece meanwhile.
 */

import { openEngine } from "../packages/plimsoll/src/engine.ts";
import type { JsonObject } from "../packages/plimsoll/src/message/json.ts";
import { wires } from "../packages/plimsoll/src/wire/wires.ts";
import { type Held, watchEventLoop } from "./event-loop.ts";
import { greet } from "./processes.ts";
import { createTexts } from "./texts.ts";

export interface StallFigures {
  readonly outcome: string;
  readonly turn: Held;
  readonly receipt: Held;
  readonly picture: Held;
  readonly search: Held;
}

const [kind = "words", characters = "1000000", window = "60000"] = process.argv.slice(2);
const texts = createTexts(7);

function fill(line: (at: number) => string, length: number): string {
  const lines: string[] = [];
  for (let size = 0; size < length; size += (lines.at(-1)?.length ?? 0) + 1)
    lines.push(line(lines.length));
  return lines.join("\n").slice(0, length);
}

const kinds: Readonly<Record<string, (length: number) => string>> = {
  words: (length) => texts.text(length).replaceAll("\n", " "),
  "blank lines": (length) => "\n".repeat(length),
  "grep output": (length) =>
    fill(
      (at) => `src/dir${at % 40}/file${at % 300}.ts:${at}:  const total${at} = load(${at});`,
      length,
    ),
  JSON: (length) => {
    const rows = fill(
      (at) => JSON.stringify({ id: at, name: `row ${at}`, tags: ["a", `b${at % 9}`] }),
      length,
    );
    return `[${rows.split("\n").slice(0, -1).join(",")}]`;
  },
};

function textOf(length: number): string {
  return kinds[kind]?.(length) ?? texts.text(length);
}

/** One message, or as many exchanges as it takes. */
function conversation(): readonly JsonObject[] {
  const size = Number(characters);
  const first = {
    role: "user",
    content: "Mend the loader in src/load.ts. Never touch src/main.ts.",
  };
  if (kind !== "exchanges")
    return [
      first,
      { role: "assistant", content: "Show me." },
      { role: "user", content: textOf(size) },
      { role: "assistant", content: "I see." },
      { role: "user", content: "Go on." },
    ];
  const names = Object.keys(kinds).filter((name) => name !== "blank lines");
  const pools = names.map((name) => kinds[name]?.(size / 20) ?? "");
  const each = 3_000;
  const steps = Array.from({ length: Math.ceil(size / (each + 250)) }, (_, at) => {
    const pool = pools[at % pools.length] ?? "";
    const start = (at * 977) % Math.max(1, pool.length - each);
    return [
      {
        role: "assistant",
        content: [
          { type: "text", text: `Step ${at}: ${texts.text(100)}` },
          {
            type: "tool_use",
            id: `t${at}`,
            name: "bash",
            input: { command: `cat src/file${at}.ts` },
          },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: `t${at}`, content: pool.slice(start, start + each) },
        ],
      },
    ];
  });
  return [first, ...steps.flat()];
}

const providers = { anthropic: { contextWindow: Number(window) } };
const agent = { context_budget: "window" } as const;
const engine = await openEngine({ store: "memory", config: { providers, agent } });
await engine.warmUp();
const receipt = new Promise((resolve) => engine.on("compaction-end", resolve));
const bash = {
  name: "bash",
  input_schema: { type: "object", properties: { command: { type: "string" } } },
};
const request = {
  model: "claude-sonnet-4-5",
  max_tokens: 1000,
  tools: [bash],
  messages: conversation(),
};
const body = new TextEncoder().encode(JSON.stringify(request));
const held = watchEventLoop();
let session = "";
let outcome = "";
const turn = await held(async () => {
  const received = await engine.receive({
    tenant: "t",
    provider: "anthropic",
    wire: wires.anthropic,
    body,
    hints: { isCompacted: false },
  });
  session = received.session;
  ({ outcome } = received.fitted);
  void received.body;
  await received.end({ status: "complete" });
});
const hasReceipt = outcome === "compacted";
const figures: StallFigures = {
  outcome,
  turn,
  receipt: await held(() => (hasReceipt ? receipt : Promise.resolve())),
  picture: await held(() => engine.inspect.picture(session, {})),
  search: await held(() =>
    engine.own.search("t", session, "the loader of cargo", { budgetTokens: 2000 }),
  ),
};
greet(figures);
