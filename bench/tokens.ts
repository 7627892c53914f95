/** Hostile texts: ten megabytes of what tokenizers are slow at, as one tool result. Others must not wait for it. */

import { randomBytes } from "node:crypto";
import { type Engine, openEngine } from "../packages/plimsoll/src/engine.ts";
import { anthropicWire } from "../packages/plimsoll/src/wire/anthropic/anthropic.ts";
import { atMost, type Benchmark, type Check, figure } from "./report.ts";
import { median } from "./statistics.ts";

const textBytes = 10 * 1024 * 1024;
/** Threat T12. */
const secondsMax = 2;
const gapMillisecondsMax = 50;
const tickMilliseconds = 2;

const texts: Readonly<Record<string, () => string>> = {
  "letter a": () => "a".repeat(textBytes),
  spaces: () => " ".repeat(textBytes),
  base64: () => randomBytes((textBytes / 4) * 3).toString("base64"),
  emoji: () => "\u{1F600}\u{1F389}\u{1F680}".repeat(textBytes / 12),
  Chinese: () => "\u4E2D\u6587\u5B57\u7B26".repeat(textBytes / 12),
};

/** Both speak Anthropic's wire; the second has its tokenizer set by the user. */
const providers: Readonly<Record<string, string>> = {
  anthropic: "estimate for Claude",
  counted: "tiktoken:o200k_base",
};

interface Measured {
  readonly text: string;
  readonly provider: string;
  readonly seconds: number;
  readonly gapMilliseconds: number;
  readonly tokens: number;
  readonly certainty: string;
}

export const tokensBenchmark: Benchmark = {
  name: "tokens",
  title: "Tokens: 10 MB of hostile text in one tool result",
  run: async ({ isQuick }) => {
    const engine = await openEngine({
      store: "memory",
      config: {
        providers: {
          counted: {
            wire: "anthropic",
            baseUrl: "http://127.0.0.1:1",
            tokenizer: "tiktoken:o200k_base",
          },
        },
      },
    });
    try {
      return outcomeOf(await measureAll(engine, isQuick ? 1 : 3));
    } finally {
      await engine.close();
    }
  },
};

async function measureAll(engine: Engine, rounds: number): Promise<readonly Measured[]> {
  const all: Measured[] = [];
  for (const provider of Object.keys(providers)) {
    // Loads the tokenizer, here and in the counting thread.
    await receive(engine, provider, "word ".repeat(10_000));
    for (const [name, make] of Object.entries(texts)) {
      const taken: Measured[] = [];
      for (let round = 0; round < rounds; round++) {
        // Begins in its own way, so that nothing of it is known.
        const text = `${provider} ${round} ${make()}`;
        taken.push(await measureOne(engine, provider, { name, text }));
      }
      all.push(middle(taken));
    }
  }
  return all;
}

function middle(rounds: readonly Measured[]): Measured {
  const [first] = rounds;
  if (first === undefined) throw new Error("There must be a round.");
  return {
    ...first,
    seconds: median(rounds.map(({ seconds }) => seconds)),
    gapMilliseconds: median(rounds.map(({ gapMilliseconds }) => gapMilliseconds)),
  };
}

async function measureOne(
  engine: Engine,
  provider: string,
  { name, text }: { readonly name: string; readonly text: string },
): Promise<Measured> {
  const body = bodyOf(text);
  const gap = watchGaps();
  const begin = performance.now();
  const { total, certainty } = await receiveBody(engine, provider, body);
  const seconds = (performance.now() - begin) / 1000;
  const gapMilliseconds = await gap.stop();
  return { text: name, provider, seconds, gapMilliseconds, tokens: total, certainty };
}

/** The longest time in which the event loop did not turn. */
function watchGaps(): { stop(): Promise<number> } {
  let last = performance.now();
  let longest = 0;
  const look = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - last - tickMilliseconds);
    last = now;
  };
  const timer = setInterval(look, tickMilliseconds);
  return {
    stop: async () => {
      look();
      clearInterval(timer);
      return longest;
    },
  };
}

function bodyOf(text: string): Buffer {
  const call = { type: "tool_use", id: "toolu_1", name: "read", input: {} };
  const result = { type: "tool_result", tool_use_id: "toolu_1", content: text };
  return Buffer.from(
    JSON.stringify({
      model: "claude-sonnet-4-5",
      max_tokens: 1000,
      messages: [
        { role: "user", content: "Read it." },
        { role: "assistant", content: [call] },
        { role: "user", content: [result] },
      ],
    }),
  );
}

type Total = Pick<
  Awaited<ReturnType<Engine["receive"]>>["fitted"]["measurement"],
  "total" | "certainty"
>;

function receive(engine: Engine, provider: string, text: string): Promise<Total> {
  return receiveBody(engine, provider, bodyOf(text));
}

async function receiveBody(engine: Engine, provider: string, body: Buffer): Promise<Total> {
  const turn = await engine.receive({
    tenant: "local",
    provider,
    wire: anthropicWire,
    body,
    hints: { isCompacted: false },
  });
  const { total, certainty } = turn.fitted.measurement;
  await turn.end({ status: "aborted" });
  return { total, certainty };
}

function outcomeOf(all: readonly Measured[]): Awaited<ReturnType<Benchmark["run"]>> {
  const rows = all.map(({ text, provider, seconds, gapMilliseconds, tokens, certainty }) => [
    text,
    providers[provider] ?? "",
    figure(seconds),
    figure(gapMilliseconds),
    tokens.toLocaleString("en-US"),
    certainty,
  ]);
  const worst = (pick: (measured: Measured) => number): number => Math.max(...all.map(pick));
  const checks: readonly Check[] = [
    atMost(
      "slowest text",
      worst(({ seconds }) => seconds),
      secondsMax,
      "s",
    ),
    atMost(
      "longest gap",
      worst(({ gapMilliseconds }) => gapMilliseconds),
      gapMillisecondsMax,
      "ms",
    ),
  ];
  return {
    tables: [
      {
        title: "10 MB each",
        columns: ["text", "tokenizer", "s", "longest gap, ms", "tokens", "certainty"],
        rows,
      },
    ],
    checks,
  };
}
