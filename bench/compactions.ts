/**
 * What a compaction takes in the service, the first one of a conversation and those after it, and what it does to others meanwhile:
 * how late the service's event loop is, and how long a second session waits for its small turns.
 */

import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type CodingConversation, createCodingConversation } from "./coding-conversation.ts";
import type { NeighbourTurn } from "./compactions-neighbour.ts";
import type { LoopFigures } from "./loop-delay.ts";
import { startChild, withFolder } from "./processes.ts";
import { type Connection, connect } from "./proxy-load.ts";
import { originOf, startPlimsoll } from "./proxy-targets.ts";
import {
  atMost,
  type Benchmark,
  type Check,
  figure,
  type Outcome,
  type RunOptions,
  type Table,
} from "./report.ts";
import { median, percentile } from "./statistics.ts";

interface Window {
  readonly name: string;
  readonly tokens: number;
  /** So that a compaction is due after twenty to fifty requests. */
  readonly callsPerAnswer: number;
  /** After so long the conversation ends, but never before its first compaction. */
  readonly secondsMax: number;
  readonly quick: { readonly compactions: number; readonly secondsMax: number };
}

const windows: readonly Window[] = [
  {
    name: "100k",
    tokens: 100_000,
    callsPerAnswer: 3,
    secondsMax: 75,
    quick: { compactions: 6, secondsMax: 20 },
  },
  {
    name: "200k",
    tokens: 200_000,
    callsPerAnswer: 6,
    secondsMax: 100,
    quick: { compactions: 2, secondsMax: 20 },
  },
  {
    name: "1M",
    tokens: 1_000_000,
    callsPerAnswer: 20,
    secondsMax: 170,
    quick: { compactions: 1, secondsMax: 30 },
  },
];
/** Compactions before the one that is compared with the first. */
const earlier = [1, 5, 20] as const;
const mostCompactions = 21;
const mostConversations = 3;
/** In which the service learns, with a small window, what all conversations need alike: code, workers, the tokenizer. */
const warmUpTokens = 30_000;
const warmUpCompactions = 2;
/** The second session alone, before the long conversation begins. */
const calmMs = 3_000;
/** What goes on after the answer of a request that compacted: its receipt, and what is stored. */
const aftermathMs = 100;
const addedMsMax = 50;

/**
 * Characters of results. None of them comes to the 4,096 bytes from which on a result is replaced by a reference: the first
 * compaction of a conversation with such results only does that, which takes a tenth of the time, and would be no measure for the
 * others.
 */
const resultSizes: readonly number[] = [400, 1_200, 3_000, 800, 3_900, 2_000, 3_600, 600];

const modelOf = (name: string): string => `bench-${name}`;

export const compactionsBenchmark: Benchmark = {
  name: "compactions",
  title: "Compactions: the first and those after it, and what other sessions feel",
  run: async (options) => {
    const runs: WindowRun[] = [];
    for (const window of windows) runs.push(await runWindow(window, options));
    return outcomeOf(runs, options);
  },
};

/** Of one long conversation, in milliseconds. */
interface Conversation {
  /** In order; the first has none before it. */
  readonly compactions: readonly number[];
  readonly megabytes: number;
  readonly loop: LoopFigures;
  readonly alone: readonly number[];
  /** While the other session was compacted. */
  readonly meanwhile: readonly number[];
}

interface WindowRun {
  readonly window: Window;
  readonly conversations: readonly Conversation[];
}

async function runWindow(window: Window, options: RunOptions): Promise<WindowRun> {
  const conversations: Conversation[] = [];
  const secondsMax = options.isQuick ? window.quick.secondsMax : window.secondsMax;
  const deadline = performance.now() + secondsMax * 1000;
  const rounds = options.isQuick ? 1 : mostConversations;
  while (conversations.length < rounds && performance.now() < deadline) {
    const began = performance.now();
    conversations.push(
      await withFolder((folder) => runConversation(window, { folder, options, deadline })),
    );
    // Another one is not begun if it could not end in time.
    if (performance.now() * 2 - began > deadline) break;
  }
  return { window, conversations };
}

interface Place {
  readonly folder: string;
  readonly options: RunOptions;
  readonly deadline: number;
}

/** A service of its own for each conversation. */
async function runConversation(window: Window, place: Place): Promise<Conversation> {
  const { folder, options } = place;
  const upstream = await startChild(new URL("./coding-upstream.ts", import.meta.url));
  const data = join(folder, "data");
  mkdirSync(data);
  const file = join(folder, "loop-delay");
  const service = await startPlimsoll({
    upstream: originOf(upstream.greeting),
    data,
    options,
    windows: {
      [modelOf("warm-up")]: warmUpTokens,
      [modelOf(window.name)]: window.tokens,
      [modelOf("neighbour")]: windows[1]?.tokens ?? 0,
    },
    nodeOptions: [`--import=${new URL("./loop-delay.ts", import.meta.url)}`],
    env: { PLIMSOLL_BENCH_LOOP: file },
  });
  const connection = connect(service.url);
  try {
    await warmUp(connection);
    const neighbour = await startChild(new URL("./compactions-neighbour.ts", import.meta.url), {
      arguments: [service.url, modelOf("neighbour")],
    });
    try {
      const parties = { connection, loop: loopOf(file), neighbour: originOf(neighbour.greeting) };
      return await measure(window, place, parties);
    } finally {
      await neighbour.stop();
    }
  } finally {
    await connection.close();
    await service.stop();
    await upstream.stop();
  }
}

async function warmUp(connection: Connection): Promise<void> {
  const model = modelOf("warm-up");
  const conversation = createCodingConversation({
    seed: 1_000,
    model,
    startBytes: 0,
    resultSizes,
  });
  let compactions = 0;
  while (compactions < warmUpCompactions)
    if ((await exchange(connection, conversation)).isCompacted) compactions++;
}

interface Exchanged {
  readonly begin: number;
  readonly milliseconds: number;
  readonly isCompacted: boolean;
}

const expectedActions = ["passthrough", "edited", "compacted"];

async function exchange(
  connection: Connection,
  conversation: CodingConversation,
): Promise<Exchanged> {
  const begin = performance.timeOrigin + performance.now();
  const { action, text, tokens, microseconds } = await connection.ask(conversation.request());
  if (!expectedActions.includes(action)) throw new Error(`A request was ${action} (${tokens}).`);
  conversation.take(text);
  return { begin, milliseconds: microseconds / 1000, isCompacted: action === "compacted" };
}

interface Parties {
  readonly connection: Connection;
  /** Where the delays of the service's event loop are, and the turns of the second session. */
  readonly loop: string;
  readonly neighbour: string;
}

async function measure(
  window: Window,
  { options, deadline }: Place,
  { connection, loop, neighbour }: Parties,
): Promise<Conversation> {
  await pause(calmMs);
  const alone = (await read<readonly NeighbourTurn[]>(neighbour)).map(durationOf);
  const conversation = createCodingConversation({
    seed: window.tokens,
    model: modelOf(window.name),
    startBytes: 0,
    resultSizes,
    callsPerAnswer: window.callsPerAnswer,
  });
  const wanted = options.isQuick ? window.quick.compactions : mostCompactions;
  const compactions: number[] = [];
  const meanwhile: number[] = [];
  let figures = await read<LoopFigures>(`${loop}/drop`);
  const isTimeLeft = (): boolean => compactions.length === 0 || performance.now() < deadline;
  while (compactions.length < wanted && isTimeLeft()) {
    const { begin, milliseconds, isCompacted } = await exchange(connection, conversation);
    if (!isCompacted) {
      await read(`${loop}/drop`);
      continue;
    }
    await pause(aftermathMs);
    figures = await read<LoopFigures>(`${loop}/keep`);
    const end = begin + milliseconds + aftermathMs;
    const turns = await read<readonly NeighbourTurn[]>(neighbour);
    meanwhile.push(...turns.filter((turn) => turn.begin < end && turn.end > begin).map(durationOf));
    compactions.push(milliseconds);
  }
  return {
    compactions,
    megabytes: conversation.bytes / 1_000_000,
    loop: figures,
    alone,
    meanwhile,
  };
}

function durationOf({ begin, end }: NeighbourTurn): number {
  return end - begin;
}

async function read<T>(url: string): Promise<T> {
  return (await (await fetch(url)).json()) as T;
}

function loopOf(file: string): string {
  if (!existsSync(file)) throw new Error("The service does not say how late its event loop is.");
  return `http://127.0.0.1:${readFileSync(file, "utf8")}`;
}

function outcomeOf(runs: readonly WindowRun[], { isQuick }: RunOptions): Outcome {
  return {
    tables: [timesTable(runs, isQuick), loopTable(runs), neighbourTable(runs)],
    checks: runs.flatMap((run) => [...timeChecks(run), ...otherChecks(run)]),
  };
}

/** The median over conversations of the compaction with so many before it. Not a number if none came so far. */
function timeAfter({ conversations }: WindowRun, count: number): number {
  return median(conversations.flatMap(({ compactions }) => compactions[count] ?? []));
}

/** The same beside the first of its conversation. */
function ratioAfter({ conversations }: WindowRun, count: number): number {
  return median(
    conversations.flatMap(({ compactions }) => {
      const [first, time] = [compactions[0], compactions[count]];
      return first === undefined || time === undefined ? [] : [time / first];
    }),
  );
}

function timesTable(runs: readonly WindowRun[], isQuick: boolean): Table {
  const most = isQuick ? "as few as show that it works" : `at most ${mostCompactions}`;
  return {
    title: `A request that compacts, ms, as its client sees it; ${most} in a conversation, and – where it did not come so far in the time of its window`,
    columns: [
      "window",
      "first",
      ...earlier.map((count) => `after ${count}`),
      "conversations",
      "compactions",
      "MB at the end",
    ],
    rows: runs.map((run) => [
      run.window.name,
      figure(timeAfter(run, 0)),
      ...earlier.map((count) => figure(timeAfter(run, count))),
      String(run.conversations.length),
      String(Math.max(...run.conversations.map(({ compactions }) => compactions.length))),
      figure(Math.max(...run.conversations.map(({ megabytes }) => megabytes))),
    ]),
  };
}

interface Felt {
  readonly p99: number;
  readonly max: number;
  readonly held: number;
}

/** The median over conversations of how late the loop was during all compactions of one. */
function feltOf({ conversations }: WindowRun): Felt {
  return {
    p99: median(conversations.map(({ loop }) => loop.p99Ms)),
    max: median(conversations.map(({ loop }) => loop.maxMs)),
    held: median(conversations.map(({ loop }) => loop.heldMs)),
  };
}

function loopTable(runs: readonly WindowRun[]): Table {
  return {
    title: "How late the service's event loop is during its compactions, ms",
    columns: ["window", "p99", "longest", "longest hold in processor time of the main thread"],
    rows: runs.map((run) => {
      const { p99, max, held } = feltOf(run);
      return [run.window.name, figure(p99), figure(max), figure(held)];
    }),
  };
}

interface Waited {
  readonly alone: readonly number[];
  readonly meanwhile: readonly number[];
  /** What the slowest hundredth of the turns took beyond the usual turn without a compaction. */
  readonly addedP99: number;
}

function waitedOf({ conversations }: WindowRun): Waited {
  const alone = conversations.flatMap((one) => one.alone);
  const meanwhile = conversations.flatMap((one) => one.meanwhile);
  return { alone, meanwhile, addedP99: percentile(meanwhile, 0.99) - median(alone) };
}

function neighbourTable(runs: readonly WindowRun[]): Table {
  return {
    title: "A small turn of a second session, ms: alone, and during compactions of the first",
    columns: [
      "window",
      "alone, p50",
      "alone, p99",
      "turns meanwhile",
      "p50",
      "p99",
      "longest",
      "added p99",
    ],
    rows: runs.map((run) => {
      const { alone, meanwhile, addedP99 } = waitedOf(run);
      return [
        run.window.name,
        figure(median(alone)),
        figure(percentile(alone, 0.99)),
        String(meanwhile.length),
        figure(median(meanwhile)),
        figure(percentile(meanwhile, 0.99)),
        figure(Math.max(...meanwhile)),
        figure(addedP99),
      ];
    }),
  };
}

/** Nothing is said about what was not reached. */
function timeChecks(run: WindowRun): readonly Check[] {
  const { name } = run.window;
  return earlier
    .filter((count) => Number.isFinite(ratioAfter(run, count)))
    .map((count) =>
      atMost(`${name}: after ${count}, beside the first`, ratioAfter(run, count), 2, "×"),
    );
}

function otherChecks(run: WindowRun): readonly Check[] {
  const { name } = run.window;
  const { p99, max } = feltOf(run);
  return [
    atMost(`${name}: event loop late, p99`, p99, 20, "ms"),
    atMost(`${name}: event loop late, longest`, max, 50, "ms"),
    atMost(`${name}: second session, added p99`, waitedOf(run).addedP99, addedMsMax, "ms"),
  ];
}
