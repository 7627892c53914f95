/** Goal 5: what Plimsoll adds to a call, beside a proxy that only passes bytes and one that parses and writes JSON. */

import { processorMicroseconds, withFolder } from "./processes.ts";
import { type ConversationOptions, createConversation } from "./proxy-conversation.ts";
import { connect } from "./proxy-load.ts";
import {
  added,
  checkRecorded,
  emptyRounds,
  interleave,
  milliseconds,
  type Rounds,
  type Target,
  type TargetName,
  withTargets,
} from "./proxy-targets.ts";
import {
  atLeast,
  atMost,
  type Benchmark,
  type Check,
  figure,
  type Outcome,
  type RunOptions,
  type Table,
} from "./report.ts";
import { mean, median, medianRatio, percentile } from "./statistics.ts";
import { createTexts } from "./texts.ts";

const concurrentClients = 32;
const streamChunks = 2_000;

export const proxyBenchmark: Benchmark = {
  name: "proxy",
  title: "Proxy: what is added to a direct call",
  run: (options) => withFolder((folder) => runAll(folder, options)),
};

async function runAll(folder: string, options: RunOptions): Promise<Outcome> {
  const upstream = new URL("./proxy-upstream.ts", import.meta.url);
  return withTargets({ upstream, folder, options }, async (targets, service) => {
    const outcome = await measure(targets, options);
    await checkRecorded(service);
    return outcome;
  });
}

async function measure(targets: readonly Target[], options: RunOptions): Promise<Outcome> {
  const outcomes = [
    await measureSmall(targets, options),
    await measureLarge(targets, options),
    await measureStreams(targets, options),
    await measureConcurrent(targets, options),
  ];
  return {
    tables: outcomes.map(({ table }) => table),
    checks: outcomes.flatMap(({ checks }) => checks),
  };
}

interface Part {
  readonly table: Table;
  readonly checks: readonly Check[];
}

interface Sequence {
  readonly requests: number;
  readonly rounds: number;
  readonly conversation: Omit<ConversationOptions, "texts">;
}

interface SequenceTimes {
  readonly p50: Rounds;
  /** All times of all rounds. */
  readonly times: Rounds;
  /** Processor time of the target for one request. */
  readonly processor: Rounds;
}

/** One client, one request after the other, on a conversation of its own with each target. */
async function runSequence(
  targets: readonly Target[],
  { requests, rounds, conversation }: Sequence,
): Promise<SequenceTimes> {
  const p50 = emptyRounds();
  const times = emptyRounds();
  const processor = emptyRounds();
  const clients = new Map(
    targets.map((target, index) => [
      target.name,
      {
        connection: connect(target.origin),
        next: createConversation({ ...conversation, texts: createTexts(index + 1) }),
      },
    ]),
  );
  // The first round warms up.
  await interleave(targets, rounds + 1, async ({ name, pid }, round) => {
    const client = clients.get(name);
    if (client === undefined) return;
    const before = pid === undefined ? 0 : processorMicroseconds(pid);
    const taken: number[] = [];
    for (let count = 0; count < requests; count++)
      taken.push(await client.connection.send(client.next()));
    const after = pid === undefined ? 0 : processorMicroseconds(pid);
    if (round === 0) return;
    p50[name].push(median(taken));
    times[name].push(...taken);
    processor[name].push((after - before) / requests);
  });
  for (const { connection } of clients.values()) await connection.close();
  return { p50, times, processor };
}

async function measureSmall(targets: readonly Target[], { isQuick }: RunOptions): Promise<Part> {
  const { p50, times, processor } = await runSequence(targets, {
    requests: isQuick ? 100 : 200,
    rounds: isQuick ? 3 : 15,
    conversation: { exchanges: 1, resultCharacters: 200, requestsMax: 10 },
  });
  const p99 = (name: TargetName): number =>
    percentile(times[name], 0.99) - percentile(times.direct, 0.99);
  const rows = targets.map(({ name, pid }) => [
    name,
    milliseconds(median(p50[name])),
    ...(pid === undefined
      ? ["", "", ""]
      : [
          milliseconds(median(added(p50, name))),
          milliseconds(p99(name)),
          milliseconds(mean(processor[name])),
        ]),
  ]);
  const ratio = medianRatio(added(p50, "Plimsoll"), added(p50, "parse + stringify"));
  return {
    table: {
      title: "Small body, one client, ms",
      columns: ["", "p50", "added p50", "added p99", "processor time"],
      rows,
    },
    checks: [atMost("small body: added p50 beside parse + stringify", ratio, 1.5, "×")],
  };
}

async function measureLarge(targets: readonly Target[], { isQuick }: RunOptions): Promise<Part> {
  const { p50, processor } = await runSequence(targets, {
    requests: isQuick ? 15 : 50,
    rounds: isQuick ? 3 : 9,
    conversation: { exchanges: 250, resultCharacters: 1_750, requestsMax: 100_000 },
  });
  const rows = targets.map(({ name, pid }) => [
    name,
    milliseconds(median(p50[name])),
    ...(pid === undefined
      ? ["", ""]
      : [milliseconds(median(added(p50, name))), milliseconds(mean(processor[name]))]),
  ]);
  const latency = medianRatio(added(p50, "Plimsoll"), added(p50, "parse + stringify"));
  const work = mean(processor.Plimsoll) / mean(processor["parse + stringify"]);
  return {
    table: {
      title: "500 KB body whose prefix is known, one client, ms",
      columns: ["", "p50", "added p50", "processor time"],
      rows,
    },
    checks: [
      atMost("500 KB body: added p50 beside parse + stringify", latency, 0.5, "×"),
      atMost("500 KB body: processor time beside parse + stringify", work, 0.5, "×"),
    ],
  };
}

interface StreamRounds {
  /** Of a burst, per chunk: until all of it had arrived, and processor time of the target. */
  readonly burst: Rounds;
  readonly burstProcessor: Rounds;
  /** Of chunks that come one by one: p50 of their way, and processor time of the target. */
  readonly paced: Rounds;
  readonly pacedProcessor: Rounds;
}

async function runStreams(targets: readonly Target[], isQuick: boolean): Promise<StreamRounds> {
  const results: StreamRounds = {
    burst: emptyRounds(),
    burstProcessor: emptyRounds(),
    paced: emptyRounds(),
    pacedProcessor: emptyRounds(),
  };
  const bursts = isQuick ? 4 : 10;
  const pacedChunks = isQuick ? 500 : streamChunks;
  const next = createConversation({
    texts: createTexts(9),
    exchanges: 1,
    resultCharacters: 200,
    requestsMax: 1,
  });
  await interleave(targets, isQuick ? 3 : 6, async ({ name, origin, pid }, round) => {
    const connection = connect(origin);
    const processor = (): number => (pid === undefined ? 0 : processorMicroseconds(pid));
    const begin = processor();
    const totals: number[] = [];
    for (let count = 0; count < bursts; count++) {
      const times = await connection.stream(next(), { chunks: streamChunks, isPaced: false });
      totals.push(times.totalMicroseconds / streamChunks);
    }
    const middle = processor();
    const paced = await connection.stream(next(), { chunks: pacedChunks, isPaced: true });
    const end = processor();
    await connection.close();
    if (round === 0) return;
    results.burst[name].push(median(totals));
    results.burstProcessor[name].push((middle - begin) / bursts / streamChunks);
    results.paced[name].push(median(paced.chunkMicroseconds));
    results.pacedProcessor[name].push((end - middle) / pacedChunks);
  });
  return results;
}

async function measureStreams(targets: readonly Target[], { isQuick }: RunOptions): Promise<Part> {
  const streamed = targets.filter(({ name }) => name !== "parse + stringify");
  const { burst, burstProcessor, paced, pacedProcessor } = await runStreams(streamed, isQuick);
  const rows = streamed.map(({ name, pid }) => [
    name,
    figure(median(burst[name])),
    ...(pid === undefined
      ? ["", ""]
      : [figure(median(added(burst, name))), figure(mean(burstProcessor[name]))]),
    figure(median(paced[name])),
    ...(pid === undefined
      ? ["", ""]
      : [figure(median(added(paced, name))), figure(mean(pacedProcessor[name]))]),
  ]);
  return {
    table: {
      title: `Streams of ${streamChunks} events, µs for each`,
      columns: ["", "burst", "added", "processor", "one by one", "added", "processor"],
      rows,
    },
    checks: [
      atMost("stream: added to each event", median(added(burst, "Plimsoll")), 12, "µs"),
      atMost("stream: processor time for each event", mean(burstProcessor.Plimsoll), 12, "µs"),
    ],
  };
}

/** Every client has its own conversation, which begins anew after ten requests. */
async function countPerSecond(target: Target, requests: number): Promise<number> {
  const clients = Array.from({ length: concurrentClients }, (_, index) => ({
    connection: connect(target.origin),
    next: createConversation({
      texts: createTexts(100 + index),
      exchanges: 1,
      resultCharacters: 200,
      requestsMax: 10,
    }),
  }));
  const begin = performance.now();
  await Promise.all(
    clients.map(async ({ connection, next }) => {
      for (let count = 0; count < requests; count++) await connection.send(next());
    }),
  );
  const seconds = (performance.now() - begin) / 1000;
  for (const { connection } of clients) await connection.close();
  return (concurrentClients * requests) / seconds;
}

async function measureConcurrent(
  targets: readonly Target[],
  { isQuick }: RunOptions,
): Promise<Part> {
  const perSecond = emptyRounds();
  await interleave(targets, isQuick ? 3 : 8, async (target, round) => {
    const rate = await countPerSecond(target, isQuick ? 20 : 50);
    if (round > 0) perSecond[target.name].push(rate);
  });
  const ratio = medianRatio(perSecond.Plimsoll, perSecond["parse + stringify"]);
  return {
    table: {
      title: `Small bodies, ${concurrentClients} clients at once`,
      columns: ["", "requests/s"],
      rows: targets.map(({ name }) => [name, figure(median(perSecond[name]))]),
    },
    checks: [atLeast("32 clients: requests/s beside parse + stringify", ratio, 0.6, "×")],
  };
}
