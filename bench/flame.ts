/**
 * A picture of where a small turn spends the time of the main thread: `npm run bench:flame` writes small-turn.svg. Each box is a
 * function, as wide as its share of the time; what it called is above it.
 */

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startService } from "../packages/plimsoll/test/harness/service.ts";
import { drawFlames, type Frame } from "./flame-drawing.ts";
import { startChild, withFolder } from "./processes.ts";
import { createConversation } from "./proxy-conversation.ts";
import { connect } from "./proxy-load.ts";
import { median } from "./statistics.ts";
import { createTexts } from "./texts.ts";

const turns = { warmUp: 300, timed: 3000 };
const picture = new URL("./small-turn.svg", import.meta.url);

/** The parts of a profile that V8 writes, as far as they are used here. */
interface Profile {
  readonly nodes: readonly ProfileNode[];
  /** In microseconds of the machine's monotonic clock. */
  readonly startTime: number;
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string };
  readonly children?: readonly number[];
}

interface Span {
  readonly from: number;
  readonly to: number;
}

await withFolder(async (folder) => {
  const profiles = fileURLToPath(new URL("./results/flame", import.meta.url));
  rmSync(profiles, { recursive: true, force: true });
  mkdirSync(profiles, { recursive: true });
  const upstream = await startChild(new URL("./proxy-upstream.ts", import.meta.url));
  const { port } = upstream.greeting as { readonly port: number };
  const service = await startService({
    upstreams: { anthropic: `http://127.0.0.1:${port}` },
    data: folder,
    env: { NODE_OPTIONS: `--cpu-prof --cpu-prof-interval=100 --cpu-prof-dir=${profiles}` },
  });
  const { span, milliseconds } = await takeTurns(service.url);
  await service.stop();
  await upstream.stop();
  const { root, busy } = frameOf(mainProfile(profiles), span);
  const title = `A small turn through the proxy: ${milliseconds.toFixed(2)} ms at the median, the main thread works ${(busy / turns.timed).toFixed(0)} µs of it`;
  writeFileSync(picture, drawFlames(root, title));
  console.log(title);
});

async function takeTurns(
  url: string,
): Promise<{ readonly span: Span; readonly milliseconds: number }> {
  const connection = connect(url);
  const next = createConversation({
    texts: createTexts(1),
    exchanges: 1,
    resultCharacters: 200,
    requestsMax: 10,
  });
  for (let turn = 0; turn < turns.warmUp; turn++) await connection.send(next());
  const from = microseconds();
  const times: number[] = [];
  for (let turn = 0; turn < turns.timed; turn++) times.push(await connection.send(next()));
  const span = { from, to: microseconds() };
  await connection.close();
  return { span, milliseconds: median(times) / 1000 };
}

function microseconds(): number {
  return Number(process.hrtime.bigint() / 1000n);
}

/** Node names profiles by process and thread. The main thread is thread 0. */
function mainProfile(folder: string): Profile {
  const name = readdirSync(folder).find((file) => /\.0\.\d+\.cpuprofile$/.test(file));
  if (name === undefined) throw new Error("The service has written no profile.");
  return JSON.parse(readFileSync(join(folder, name), "utf8")) as Profile;
}

interface GrowingFrame extends Frame {
  microseconds: number;
  readonly inner: Map<string, GrowingFrame>;
}

/** The samples of the span as one tree, without those in which the thread had nothing to do. */
function frameOf(
  { nodes, startTime, samples, timeDeltas }: Profile,
  { from, to }: Span,
): { readonly root: Frame; readonly busy: number } {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(
    nodes.flatMap(({ id, children = [] }) => children.map((one) => [one, id])),
  );
  const root: GrowingFrame = { name: "main thread", microseconds: 0, inner: new Map() };
  let at = startTime;
  for (const [index, sample] of samples.entries()) {
    const took = timeDeltas[index] ?? 0;
    at += took;
    if (at < from || at > to) continue;
    const stack: string[] = [];
    for (let id: number | undefined = sample; id !== undefined; id = parents.get(id)) {
      const name = nameOf(byId.get(id));
      if (name !== undefined) stack.unshift(name);
    }
    if (stack.includes("(idle)")) continue;
    add(root, stack, took);
  }
  return { root, busy: root.microseconds };
}

function add(root: GrowingFrame, stack: readonly string[], took: number): void {
  root.microseconds += took;
  let frame = root;
  for (const name of stack) {
    const inner = frame.inner.get(name) ?? { name, microseconds: 0, inner: new Map() };
    frame.inner.set(name, inner);
    inner.microseconds += took;
    frame = inner;
  }
}

/** A function with its file. The root of the profile has no name of its own. */
function nameOf(node: ProfileNode | undefined): string | undefined {
  const { functionName = "", url = "" } = node?.callFrame ?? {};
  if (functionName === "(root)") return undefined;
  const file =
    url
      .split("/")
      .at(-1)
      ?.replace(/-[\w-]{8}\.js$/, "") ?? "";
  return `${functionName === "" ? "(anonymous)" : functionName}${file === "" ? "" : ` ${file}`}`;
}
