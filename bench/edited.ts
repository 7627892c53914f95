/**
 * What Plimsoll adds to a call of a conversation that it has compacted: the client sends all of it each time, Plimsoll knows all
 * but the last exchange, and the provider gets little of it. Beside it a proxy that parses and writes the same bodies.
 */

import {
  type CodingConversation,
  codingSizes,
  createCodingConversation,
} from "./coding-conversation.ts";
import { processorMicroseconds, withFolder } from "./processes.ts";
import { type Answered, type Connection, connect } from "./proxy-load.ts";
import {
  added,
  checkRecorded,
  emptyRounds,
  interleave,
  milliseconds,
  type Rounds,
  type Target,
  withTargets,
} from "./proxy-targets.ts";
import { atMost, type Benchmark, type Check, type RunOptions, type Table } from "./report.ts";
import { mean, median, medianRatio } from "./statistics.ts";

const megabyte = 1_000_000;
const sizes = [0.5, 2, 8] as const;
/** So small that the first request of each size must become smaller, and so large that no timed one must. */
const windowTokens = 100_000;
const model = "bench-edited";
/** Of the exchange that each request adds. */
const addedCharacters = 200;
const warmUpRequests = 10;

export const editedBenchmark: Benchmark = {
  name: "edited",
  title: "Edited: what is added to a call of a conversation that was compacted",
  run: (options) =>
    withFolder((folder) => {
      const upstream = new URL("./coding-upstream.ts", import.meta.url);
      const windows = { [model]: windowTokens };
      return withTargets({ upstream, folder, options, windows }, async (targets, service) => {
        const parts: Part[] = [];
        for (const size of sizes) parts.push(await measureSize(targets, size, options));
        await checkRecorded(service);
        return {
          tables: parts.map(({ table }) => table),
          checks: parts.map(({ check }) => check),
        };
      });
    }),
};

interface Part {
  readonly table: Table;
  readonly check: Check;
}

interface Client {
  readonly connection: Connection;
  readonly conversation: CodingConversation;
  last?: Answered;
}

async function measureSize(
  targets: readonly Target[],
  size: number,
  { isQuick }: RunOptions,
): Promise<Part> {
  const clients = new Map<string, Client>();
  for (const [index, target] of targets.entries())
    clients.set(target.name, await openClient(target, index, size));
  const p50 = emptyRounds();
  const processor = emptyRounds();
  const requests = isQuick ? 6 : 12;
  await interleave(targets, isQuick ? 3 : 7, async (target, round) => {
    const client = clients.get(target.name);
    if (client === undefined) return;
    const before = spentBy(target);
    const taken: number[] = [];
    for (let count = 0; count < requests; count++) taken.push(await exchange(client, "edited"));
    const after = spentBy(target);
    // The first round warms up.
    if (round === 0) return;
    p50[target.name].push(median(taken));
    processor[target.name].push((after - before) / requests);
  });
  for (const { connection } of clients.values()) await connection.close();
  const tokens = clients.get("Plimsoll")?.last?.tokens ?? "";
  return partOf({ targets, size, p50, processor, tokens });
}

/** The first request brings all of the history, and Plimsoll compacts it. */
async function openClient({ name, origin }: Target, index: number, size: number): Promise<Client> {
  const history = { startBytes: size * megabyte, resultSizes: codingSizes };
  const seed = size * 10 + index + 1;
  const conversation = createCodingConversation({ seed, model, addedCharacters, ...history });
  const client: Client = { connection: connect(origin), conversation };
  await exchange(client, "compacted");
  const requests = name === "Plimsoll" ? warmUpRequests : 1;
  for (let count = 0; count < requests; count++) await exchange(client, "edited");
  return client;
}

/** Microseconds. The others have no action. */
async function exchange(client: Client, expected: string): Promise<number> {
  const { connection, conversation } = client;
  const answered = await connection.ask(conversation.request());
  const { action, tokens, microseconds } = answered;
  if (action !== "" && action !== expected)
    throw new Error(`A request was ${action} and not ${expected} (${tokens} tokens).`);
  conversation.take(answered.text);
  client.last = answered;
  return microseconds;
}

function spentBy({ pid }: Target): number {
  return pid === undefined ? 0 : processorMicroseconds(pid);
}

interface Measured {
  readonly targets: readonly Target[];
  readonly size: number;
  readonly p50: Rounds;
  readonly processor: Rounds;
  /** Before and after, of the last request. */
  readonly tokens: string;
}

function partOf({ targets, size, p50, processor, tokens }: Measured): Part {
  const [before = 0, after = 0] = tokens.split(";").map(Number);
  const counts = `${before.toLocaleString("en-US")} tokens, of which ${after.toLocaleString("en-US")} are sent on`;
  const rows = targets.map(({ name, pid }) => [
    name,
    milliseconds(median(p50[name])),
    ...(pid === undefined
      ? ["", ""]
      : [milliseconds(median(added(p50, name))), milliseconds(mean(processor[name]))]),
  ]);
  const ratio = medianRatio(added(p50, "Plimsoll"), added(p50, "parse + stringify"));
  return {
    table: {
      title: `${size} MB body whose prefix is known, ${counts}, one client, ms`,
      columns: ["", "p50", "added p50", "processor time"],
      rows,
    },
    check: atMost(`${size} MB, edited: added p50 beside parse + stringify`, ratio, 0.5, "×"),
  };
}
