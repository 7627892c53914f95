/** The demo with 20 sessions, watched in a real browser: on the overview, then on the page of its busiest session. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import {
  type Fate,
  fatesOfPhases,
  fatesOfTurns,
  type Heard,
  hearEvents,
  type Period,
} from "./dashboard-lag.ts";
import { childOf, type Load, watchLoad } from "./dashboard-load.ts";
import { noteRows, type Shown, takeShown } from "./dashboard-page.ts";
import { atMost, figure, type Outcome, type Table } from "./report.ts";
import { percentile } from "./statistics.ts";

const sessions = 20;
/** Of the first session; the others take three times as long from turn to turn. */
const paceMs = 600;
const goalMs = 300;
/** Until windows are full enough that compactions come. */
const warmUpMs = { quick: 20_000, full: 40_000 } as const;
const measuredMs = { quick: 20_000, full: 75_000 } as const;
/** What is emitted last must have its time to be painted. */
const graceMs = 2_000;

interface Demo {
  readonly url: string;
  readonly token: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** What was measured on one page. */
interface Watched {
  readonly name: string;
  readonly period: Period;
  /** Of the whole demo, in this period. */
  readonly heard: readonly Heard[];
  readonly load: Load;
  readonly groups: readonly { readonly name: string; readonly fates: readonly Fate[] }[];
}

export async function measureLive(browser: Browser, isQuick: boolean): Promise<Outcome> {
  const times = isQuick ? "quick" : "full";
  const allMs = warmUpMs[times] + 2 * (measuredMs[times] + 2 * graceMs);
  // All rows are on the screen.
  const context = await browser.newContext({ viewport: { width: 1280, height: 1400 } });
  const demo = await startDemo(Math.ceil((1.2 * allMs) / paceMs));
  const closing = new AbortController();
  try {
    const hearing = await hearEvents(demo.url, demo.token, closing.signal);
    const page = await context.newPage();
    await page.addInitScript(noteRows);
    await page.goto(`${demo.url}/#token=${demo.token}`);
    await wait(warmUpMs[times]);
    const stage = { demo, page, hearing, ms: measuredMs[times] };
    const overview = await measureOverview(stage);
    const session = await measureSession(stage);
    return outcomeOf([overview, session]);
  } finally {
    closing.abort();
    await context.close();
    await demo.stop();
  }
}

interface Stage {
  readonly demo: Demo;
  readonly page: Page;
  /** Grows. */
  readonly hearing: readonly Heard[];
  readonly ms: number;
}

async function measureOverview(stage: Stage): Promise<Watched> {
  const { shown, ...measured } = await watchPage(stage);
  const { period } = measured;
  const heard = stage.hearing;
  const { firsts, gathered } = fatesOfTurns(heard, shown, period);
  return {
    name: "overview",
    ...measured,
    groups: [
      { name: "first events", fates: firsts },
      { name: "phases", fates: fatesOfPhases(heard, shown, period) },
      { name: "gathered events", fates: gathered },
    ],
  };
}

async function measureSession(stage: Stage): Promise<Watched> {
  const { demo, page, hearing } = stage;
  const busiest = busiestOf(hearing);
  await page.goto(`${demo.url}/#/session/${busiest}`);
  await page.waitForSelector("[role=option]");
  const { shown, ...measured } = await watchPage(stage);
  const own = hearing.filter(({ event }) => event.session === busiest);
  return {
    name: "session page",
    ...measured,
    groups: [{ name: "phases", fates: fatesOfPhases(own, shown, measured.period) }],
  };
}

function busiestOf(heard: readonly Heard[]): string {
  const turns = new Map<string, number>();
  for (const { event } of heard)
    if (event.type === "turn-end") turns.set(event.session, (turns.get(event.session) ?? 0) + 1);
  const [busiest] = [...turns].toSorted(([, left], [, right]) => right - left);
  if (busiest === undefined) throw new Error("The demo has announced no turn.");
  return busiest[0];
}

async function watchPage({
  demo,
  page,
  hearing,
  ms,
}: Stage): Promise<
  Pick<Watched, "period" | "heard" | "load"> & { readonly shown: readonly Shown[] }
> {
  const service = childOf(demo.pid);
  if (service === undefined) throw new Error("The demo has no service.");
  await wait(graceMs);
  const shown: Shown[] = [...(await page.evaluate(takeShown))];
  const from = Date.now();
  const watch = watchLoad(
    new Map([
      ["service", service],
      ["demo", demo.pid],
    ]),
  );
  await wait(ms);
  const period = { from, to: Date.now() };
  const load = watch.read();
  await wait(graceMs);
  shown.push(...(await page.evaluate(takeShown)));
  const heard = hearing.filter(({ heardAt }) => heardAt >= period.from && heardAt <= period.to);
  return { period, heard, load, shown };
}

function outcomeOf(watched: readonly Watched[]): Outcome {
  const goals = watched.flatMap(({ name, groups }) =>
    groups
      .filter((group) => group.name !== "gathered events")
      .map((group) =>
        atMost(
          `${name}: ${group.name}, p95 from the event to its pixels`,
          percentile(figuresOf(group.fates, "painted"), 0.95),
          goalMs,
          "ms",
        ),
      ),
  );
  return { tables: [loadTable(watched), lagTable(watched)], checks: goals };
}

function loadTable(watched: readonly Watched[]): Table {
  const [first] = watched;
  const names = [...(first?.load.own.keys() ?? [])];
  return {
    title: `Load while events were watched: one session takes a turn every ${paceMs} ms, the others every ${3 * paceMs} ms; and who used the processors for it, %`,
    columns: ["", "sessions", "turns/s", "events/s", "compactions", ...names, "others"],
    rows: watched.map(({ name, period, heard, load }) => {
      const seconds = (period.to - period.from) / 1000;
      const ends = heard.filter(({ event }) => event.type === "turn-end");
      const compactions = heard.filter(({ event }) => event.type === "compaction-end");
      return [
        name,
        String(new Set(ends.map(({ event }) => event.session)).size),
        figure(ends.length / seconds),
        figure(heard.length / seconds),
        String(compactions.length),
        ...names.map((process) => percent(load.own.get(process) ?? 0)),
        percent(load.others),
      ];
    }),
  };
}

function lagTable(watched: readonly Watched[]): Table {
  return {
    title:
      "From an event, or the next of its row that took its place before there was a frame, to the frame behind the one that shows it, ms; into the document; and to a stream of the benchmark's own",
    columns: [
      "",
      "events",
      "p50",
      "p95",
      "max",
      "document p50",
      "document p95",
      "stream p50",
      "stream p95",
      "overtaken",
      "lost",
    ],
    rows: watched.flatMap(({ name, groups }) =>
      groups.map((group) => [`${name}: ${group.name}`, ...lagCells(group.fates)]),
    ),
  };
}

function lagCells(fates: readonly Fate[]): readonly string[] {
  const shareOf = (kind: Fate["kind"]): string =>
    `${percent(fates.filter((fate) => fate.kind === kind).length / fates.length)} %`;
  const at = (key: "painted" | "written" | "heard", share: number): string =>
    figure(percentile(figuresOf(fates, key), share));
  return [
    String(fates.length),
    at("painted", 0.5),
    at("painted", 0.95),
    at("painted", 1),
    at("written", 0.5),
    at("written", 0.95),
    at("heard", 0.5),
    at("heard", 0.95),
    shareOf("overtaken"),
    shareOf("lost"),
  ];
}

/** Without those of the lost, which have none. */
function figuresOf(
  fates: readonly Fate[],
  key: "painted" | "written" | "heard",
): readonly number[] {
  return fates.map((fate) => fate[key]).filter((value) => !Number.isNaN(value));
}

function percent(share: number): string {
  return Number.isFinite(share) ? (share * 100).toFixed(0) : "–";
}

const demoFile = fileURLToPath(new URL("../packages/plimsoll/demo/main.ts", import.meta.url));
const greetingPattern = /^plimsoll ready on (\S+)\ndashboard \S+#token=(\S+)$/m;

async function startDemo(turns: number): Promise<Demo> {
  const flags = { sessions, turns, pace: paceMs, port: 0 };
  const words = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const child = spawn(process.execPath, [demoFile, ...words, "--hold"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const kill = (): void => void child.kill("SIGTERM");
  process.once("exit", kill);
  child.once("exit", () => process.off("exit", kill));
  const [, url = "", token = ""] = await greetingOf(child);
  return {
    url,
    token,
    pid: child.pid ?? 0,
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, "exit");
      kill();
      await gone;
    },
  };
}

function greetingOf(child: ChildProcess): Promise<RegExpExecArray> {
  return new Promise((resolve, reject) => {
    let output = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      // It goes on to tell what happens, and must be let; only its beginning is read.
      if (output.length < 4_000) output += text;
      const found = greetingPattern.exec(output);
      if (found !== null) resolve(found);
    });
    child.once("error", reject);
    child.once("exit", (code, signal) =>
      reject(new Error(`The demo ended with ${code ?? signal} before it was ready: ${output}`)),
    );
  });
}
