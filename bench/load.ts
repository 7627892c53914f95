/**
 * Many sessions at once, of a few KB to 1 MB: what comes through Plimsoll beside a proxy that only passes bytes, how long the slowest
 * wait, and whether its memory grows. The largest come over their window, and some grow over it again and again, so Plimsoll
 * compacts them while all others go on.
 */

import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import {
  type CodingConversation,
  codingSizes,
  createCodingConversation,
} from "./coding-conversation.ts";
import { withFolder } from "./processes.ts";
import { type Connection, connect } from "./proxy-load.ts";
import { type Target, withTargets } from "./proxy-targets.ts";
import { atMost, type Benchmark, figure, type Outcome } from "./report.ts";
import { mean, median, percentile } from "./statistics.ts";

const sessions = 200;
const smallestBytes = 4_000;
const largestBytes = 1_000_000;
/** About what Plimsoll counts. */
const bytesPerToken = 3;
const windowTokens = 250_000;
/** Sessions from here on are over their window from the start: about one of twenty. */
const overWindowBytes = windowTokens * bytesPerToken;
const overShare = Math.log(largestBytes / overWindowBytes) / Math.log(largestBytes / smallestBytes);
/** Of the last of them, as a share of the time. */
const latestStart = 0.4;
const usualModel = "bench-load";
/** One of so many sessions has a model of its own, whose window it fills: it is compacted again and again. */
const sessionsPerFull = 10;
const fullFromBytes = 30_000;
/** Of the window, the rest is room for the answer and a buffer. */
const fullShare = 0.8;
/** Of the exchange that each request adds. */
const addedCharacters = 600;
/** A session smaller than this ends after so many requests, and another one begins. */
const briefBytes = 64_000;
const briefRequests = 20;
const sampleMs = 250;
const growthMax = 5;

export const loadBenchmark: Benchmark = {
  name: "load",
  title: `Load: ${sessions} sessions of 4 KB to 1 MB at once`,
  run: ({ isQuick }) =>
    withFolder((folder) => {
      const upstream = new URL("./coding-upstream.ts", import.meta.url);
      const windows = windowsOf();
      const options = { upstream, folder, options: { isQuick }, windows };
      return withTargets(options, async (targets, service) => {
        const own = targetOf(targets, "Plimsoll");
        const pass = targetOf(targets, "pass-through");
        const seconds = isQuick ? { own: 10, pass: 4 } : { own: 60, pass: 15 };
        // On both sides of the other, so that what slows the machine down in between slows down both.
        const before = await runLoad(pass, seconds.pass, 1);
        const loaded = await runLoad(own, seconds.own, 2);
        const after = await runLoad(pass, seconds.pass, 3);
        if (service.stderr !== "") throw new Error(`Plimsoll complained: ${service.stderr}`);
        return outcomeOf(loaded, [before, after], seconds.own);
      });
    }),
};

function targetOf(targets: readonly Target[], name: Target["name"]): Target {
  const found = targets.find((target) => target.name === name);
  if (found === undefined) throw new Error(`There is no ${name}.`);
  return found;
}

interface Sample {
  readonly seconds: number;
  readonly megabytes: number;
}

interface Load {
  /** Of each request that was answered in time. */
  readonly milliseconds: number[];
  readonly perSecond: number;
  readonly compactions: number;
  /** Resident memory of the target. */
  readonly memory: readonly Sample[];
}

interface Client {
  readonly connection: Connection;
  readonly startBytes: number;
  /** Share of the time after which it begins. Those over their window begin one after the other, in the first half. */
  readonly startsAt: number;
  /** The next conversation of this client. */
  readonly open: () => CodingConversation;
  conversation: CodingConversation;
}

interface Ongoing {
  readonly milliseconds: number[];
  compactions: number;
  /** By the clock of `performance`. */
  readonly begin: number;
  readonly end: number;
}

async function runLoad(target: Target, seconds: number, run: number): Promise<Load> {
  const clients = Array.from({ length: sessions }, (_, index) => openClient(target, index, run));
  // Those under their window are known before the clock starts.
  for (const client of clients) {
    if (client.startBytes >= overWindowBytes) continue;
    await exchange(client);
  }
  const begin = performance.now();
  const end = begin + seconds * 1000;
  const ongoing: Ongoing = { milliseconds: [], compactions: 0, begin, end };
  const [memory] = await Promise.all([
    sampleMemory(target, ongoing),
    ...clients.map((client) => keepAsking(client, ongoing)),
  ]);
  for (const { connection } of clients) await connection.close();
  const { milliseconds, compactions } = ongoing;
  return { milliseconds, perSecond: milliseconds.length / seconds, compactions, memory };
}

/** Each size is as much larger than the one before it. */
function startBytesOf(index: number): number {
  return Math.round(smallestBytes * (largestBytes / smallestBytes) ** (index / (sessions - 1)));
}

function modelOf(index: number): string {
  const bytes = startBytesOf(index);
  const isFull = index % sessionsPerFull === 0 && bytes > fullFromBytes && bytes < overWindowBytes;
  return isFull ? `${usualModel}-${index}` : usualModel;
}

function windowsOf(): Readonly<Record<string, number>> {
  const windows = Array.from({ length: sessions }, (_, index) => {
    const model = modelOf(index);
    const full = Math.round(startBytesOf(index) / bytesPerToken / fullShare);
    return [model, model === usualModel ? windowTokens : full] as const;
  });
  return Object.fromEntries(windows);
}

function openClient({ origin }: Target, index: number, run: number): Client {
  const startBytes = startBytesOf(index);
  const share = index / (sessions - 1);
  const startsAt = startBytes < overWindowBytes ? 0 : (latestStart * (1 - share)) / overShare;
  let opened = 0;
  const open = (): CodingConversation =>
    createCodingConversation({
      seed: run * 1_000_000 + index * 1_000 + opened++,
      model: modelOf(index),
      startBytes,
      resultSizes: codingSizes,
      addedCharacters,
    });
  return { connection: connect(origin), startBytes, startsAt, open, conversation: open() };
}

/** One request after the other. */
async function keepAsking(client: Client, ongoing: Ongoing): Promise<void> {
  const { begin, end } = ongoing;
  await pause(client.startsAt * (end - begin));
  for (let requests = 1; performance.now() < end; requests++) {
    const { action, microseconds } = await exchange(client);
    if (performance.now() > end) return;
    ongoing.milliseconds.push(microseconds / 1000);
    if (action === "compacted") ongoing.compactions++;
    if (client.startBytes < briefBytes && requests % briefRequests === 0)
      client.conversation = client.open();
  }
}

async function exchange({
  connection,
  conversation,
}: Client): Promise<{ readonly action: string; readonly microseconds: number }> {
  const { text, action, microseconds } = await connection.ask(conversation.request());
  conversation.take(text);
  return { action, microseconds };
}

async function sampleMemory({ pid }: Target, { begin, end }: Ongoing): Promise<readonly Sample[]> {
  const samples: Sample[] = [];
  for (let at = begin; at < end; at = performance.now()) {
    samples.push({ seconds: (at - begin) / 1000, megabytes: residentMegabytes(pid ?? 0) });
    await pause(sampleMs);
  }
  return samples;
}

function residentMegabytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

/** Of the line through the samples of the second half, from its beginning to its end, in percent of their mean. */
function growthOf(samples: readonly Sample[]): number {
  const half = samples.slice(Math.floor(samples.length / 2));
  const times = half.map(({ seconds }) => seconds);
  const sizes = half.map(({ megabytes }) => megabytes);
  const [time, size] = [mean(times), mean(sizes)];
  const together = half.map(({ seconds, megabytes }) => (seconds - time) * (megabytes - size));
  const alone = times.map((seconds) => (seconds - time) ** 2);
  const slope = mean(together) / mean(alone);
  return (slope * ((times.at(-1) ?? 0) - (times[0] ?? 0)) * 100) / size;
}

function outcomeOf(own: Load, passes: readonly Load[], seconds: number): Outcome {
  const pass = mean(passes.map(({ perSecond }) => perSecond));
  const latencies = passes.flatMap(({ milliseconds }) => milliseconds);
  const row = (name: string, perSecond: number, times: readonly number[]): readonly string[] => [
    name,
    figure(perSecond),
    figure(perSecond / pass),
    figure(median(times)),
    figure(percentile(times, 0.99)),
    figure(Math.max(...times)),
  ];
  const marks = [0, 0.25, 0.5, 0.75, 1].map((share) => ({
    share,
    at: own.memory[Math.min(own.memory.length - 1, Math.floor(share * own.memory.length))],
  }));
  const growth = growthOf(own.memory);
  return {
    tables: [
      {
        title: `${sessions} clients, each with one request after the other, ${seconds} s; ms`,
        columns: ["", "requests/s", "× pass-through", "p50", "p99", "longest"],
        rows: [
          row("pass-through", pass, latencies),
          row("Plimsoll", own.perSecond, own.milliseconds),
        ],
      },
      {
        title: `Resident memory of Plimsoll, MB; it compacted ${own.compactions} times meanwhile`,
        columns: [...marks.map(({ share }) => `at ${seconds * share} s`), "growth, second half"],
        rows: [[...marks.map(({ at }) => figure(at?.megabytes ?? 0)), `${figure(growth)} %`]],
      },
    ],
    checks: [atMost("memory: growth over the second half", growth, growthMax, "%")],
  };
}
