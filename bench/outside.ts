/**
 * Outside the window: a turn in which Plimsoll answers a call itself, beside the same two calls made by hand; a large result on
 * its way into the archive; and a search through a very large one.
 */

import { Client } from "undici";
import { openEngine } from "../packages/plimsoll/src/engine.ts";
import { type Service, startService } from "../packages/plimsoll/test/harness/service.ts";
import { startChild, withFolder } from "./processes.ts";
import { type Benchmark, figure, type Outcome, type RunOptions, type Table } from "./report.ts";
import { median, medianRatio } from "./statistics.ts";
import { createTexts, type TextSource } from "./texts.ts";

export const outsideBenchmark: Benchmark = {
  name: "outside",
  title: "Outside the window: own tools, large results",
  run: (options) => withFolder((folder) => runAll(folder, options)),
};

async function runAll(folder: string, options: RunOptions): Promise<Outcome> {
  const upstream = await startChild(new URL("./outside-upstream.ts", import.meta.url));
  const { port } = upstream.greeting as { readonly port: number };
  const direct = `http://127.0.0.1:${port}`;
  const config = { own_tools: "first-request" };
  const service = await startService({ upstreams: { anthropic: direct }, data: folder, config });
  try {
    const tables = [
      await measureInnerRound(service, direct, options),
      await measureOffload(service, direct, options),
      await measureGrep(options),
    ];
    return { tables, checks: [] };
  } finally {
    await service.stop();
    await upstream.stop();
  }
}

interface Sent {
  readonly milliseconds: number;
  readonly text: string;
  readonly upstreamBytes: number;
  readonly action: string;
}

interface Asked {
  readonly origin: string;
  readonly body: unknown;
  readonly session: string;
  readonly isLooking?: boolean;
  readonly isBypassed?: boolean;
}

const clients = new Map<string, Client>();

async function send({ origin, body, session, isLooking, isBypassed }: Asked): Promise<Sent> {
  const client = clients.get(origin) ?? new Client(origin);
  clients.set(origin, client);
  const bytes = JSON.stringify(body);
  const begin = performance.now();
  const answer = await client.request({
    path: "/v1/messages",
    method: "POST",
    headers: {
      "content-type": "application/json",
      "anthropic-version": "2023-06-01",
      "x-api-key": "benchmark",
      "x-claude-code-session-id": session,
      "x-bench-look": isLooking === true ? "1" : "0",
      ...(isBypassed === true ? { "x-plimsoll-off": "1" } : {}),
    },
    body: bytes,
  });
  const text = await answer.body.text();
  const milliseconds = performance.now() - begin;
  if (answer.statusCode !== 200) throw new Error(`${answer.statusCode}: ${text}`);
  return {
    milliseconds,
    text,
    upstreamBytes: Number(answer.headers["x-bench-bytes"] ?? 0),
    action: String(answer.headers["x-plimsoll-action"] ?? ""),
  };
}

const tools = [
  {
    name: "bash",
    description: "Runs a command.",
    input_schema: { type: "object", properties: {} },
  },
  {
    name: "look",
    description: "Looks something up.",
    input_schema: { type: "object", properties: { ref_id: { type: "string" } } },
  },
];

function bodyWith(messages: readonly unknown[]): unknown {
  return { model: "claude-sonnet-4-5", max_tokens: 1000, tools, messages };
}

/** A conversation of so many bytes, about. */
function historyOf(bytes: number): readonly unknown[] {
  const texts = createTexts(7);
  const messages: unknown[] = [{ role: "user", content: texts.text(200) }];
  for (let size = 0; size < bytes; ) {
    const text = texts.text(2_000);
    size += text.length;
    const role = messages.length % 2 === 1 ? "assistant" : "user";
    messages.push({ role, content: text });
  }
  if (messages.length % 2 === 0) messages.push({ role: "user", content: "Go on." });
  return messages;
}

const called = [{ type: "tool_use", id: "toolu_1", name: "look", input: { ref_id: "#1" } }];
const result = [{ type: "tool_result", tool_use_id: "toolu_1", content: "What was looked up." }];

async function measureInnerRound(
  service: Service,
  direct: string,
  { isQuick }: RunOptions,
): Promise<Table> {
  const rows: string[][] = [];
  for (const kilobytes of [2, 500]) {
    const history = historyOf(kilobytes * 1024);
    const byHand = [
      ...history,
      { role: "assistant", content: called },
      { role: "user", content: result },
    ];
    const times = { own: [] as number[], through: [] as number[], direct: [] as number[] };
    for (let round = 0; round < (isQuick ? 5 : 60); round++) {
      const session = `bench-${kilobytes}-${round % 3}`;
      const own = await send({
        origin: service.url,
        body: bodyWith(history),
        session: `own-${session}`,
        isLooking: true,
      });
      if (!own.text.includes("Done.")) throw new Error(`The inner round failed: ${own.text}`);
      times.own.push(own.milliseconds);
      for (const [origin, list] of [
        [service.url, times.through],
        [direct, times.direct],
      ] as const) {
        const first = await send({ origin, body: bodyWith(history), session: `hand-${session}` });
        const second = await send({ origin, body: bodyWith(byHand), session: `hand-${session}` });
        list.push(first.milliseconds + second.milliseconds);
      }
    }
    rows.push([
      `${kilobytes} KB`,
      figure(median(times.own)),
      figure(median(times.through)),
      figure(median(times.direct)),
      figure(medianRatio(times.own, times.through)),
      figure(median(times.own.map((time, at) => time - (times.direct[at] ?? 0)))),
    ]);
  }
  return {
    title: "A turn with one inner round, and the same two calls made by hand (ms, median)",
    columns: [
      "conversation",
      "answered here",
      "two calls through Plimsoll",
      "two direct calls",
      "ratio to two calls through Plimsoll",
      "added to two direct calls",
    ],
    rows,
  };
}

async function measureOffload(
  service: Service,
  direct: string,
  { isQuick }: RunOptions,
): Promise<Table> {
  const texts = createTexts(11);
  const rounds = isQuick ? 2 : 8;
  const times = { moved: [] as number[], off: [] as number[], direct: [] as number[] };
  let upstreamBytes = 0;
  for (let round = 0; round < rounds; round++) {
    // Each its own words: what was counted once would not be counted again.
    const bodies = Array.from({ length: 3 }, (_, at) => bodyWithResult(texts, `${round}.${at}`));
    const session = `offload-${round}`;
    const moved = await send({ origin: service.url, body: bodies[0], session });
    if (moved.action !== "edited") throw new Error(`It was not moved out: ${moved.action}`);
    upstreamBytes = moved.upstreamBytes;
    times.moved.push(moved.milliseconds);
    const whole = {
      origin: service.url,
      body: bodies[1],
      session: `off-${round}`,
      isBypassed: true,
    };
    times.off.push((await send(whole)).milliseconds);
    times.direct.push((await send({ origin: direct, body: bodies[2], session })).milliseconds);
  }
  return {
    title: "A fresh result of 5 MB (ms, median)",
    columns: [
      "moved out",
      "passed on whole",
      "direct",
      "ratio to passed on whole",
      "bytes to the provider",
    ],
    rows: [
      [
        figure(median(times.moved)),
        figure(median(times.off)),
        figure(median(times.direct)),
        figure(medianRatio(times.moved, times.off)),
        String(upstreamBytes),
      ],
    ],
  };
}

function bodyWithResult(texts: TextSource, name: string): unknown {
  const line = (at: number): string => `${name} ${at} ${texts.text(80).replaceAll("\n", " ")}`;
  const lines = Array.from({ length: 55_000 }, (_, at) => line(at));
  const content = lines.join("\n").slice(0, 5 * 1024 * 1024);
  return bodyWith([
    { role: "user", content: `Run the build, ${name}.` },
    { role: "assistant", content: [{ ...called[0], name: "bash", input: {} }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content }] },
  ]);
}

const grepped = [
  ["words that occur in it once", "the needle of line 400000"],
  ["words that stand nowhere", "no such words at all"],
  ["an expression", String.raw`needle of line \d+`],
] as const;

async function measureGrep({ isQuick }: RunOptions): Promise<Table> {
  const megabytes = isQuick ? 5 : 50;
  const text = haystack(megabytes * 1024 * 1024);
  const engine = await openEngine({ store: "memory" });
  const session = await engine.session();
  await session.append({ role: "user", content: text });
  await session.prepare({ target: "anthropic/claude-sonnet-4-5" });
  await session.checkpoint();
  const asker = { tenant: undefined, session: session.id, roomTokens: 8000 };
  const rows: string[][] = [];
  for (const [name, pattern] of grepped) {
    const own: number[] = [];
    const split: number[] = [];
    for (let round = 0; round < (isQuick ? 2 : 5); round++) {
      const begin = performance.now();
      const call = { kind: "read_result", refId: "#1", grep: pattern } as const;
      const answer = await engine.own.answer(asker, call);
      own.push(performance.now() - begin);
      if (answer.isError) throw new Error(answer.text);
      split.push(timeOfSplit(text, pattern));
    }
    const [first = 0, ...later] = own;
    const ratio = medianRatio(own, split);
    rows.push([name, figure(first), figure(median(later)), figure(median(split)), figure(ratio)]);
  }
  await engine.close();
  return {
    title: `read_result with grep over ${megabytes} MB (ms; the first time it is read from the store, checked and unpacked)`,
    columns: ["looked for", "first time", "later (median)", "split and test in memory", "ratio"],
    rows,
  };
}

/** Lines of words, and a needle now and then. */
function haystack(bytes: number): string {
  const texts = createTexts(13);
  const lines: string[] = [];
  for (let size = 0; size < bytes; ) {
    const number = lines.length + 1;
    const words = `${number} ${texts.text(90).replaceAll("\n", " ")}`;
    const line = number % 100_000 === 0 ? `the needle of line ${number}` : words;
    size += line.length + 1;
    lines.push(line);
  }
  return lines.join("\n");
}

function timeOfSplit(text: string, pattern: string): number {
  const begin = performance.now();
  const expression = new RegExp(pattern);
  const found = text.split("\n").filter((line) => expression.test(line));
  if (found.length > 1000) throw new Error("That was too much.");
  return performance.now() - begin;
}
