/**
 * `npm run demo`: sends generated coding sessions through the real service to a scripted upstream, and prints a report. Needs
 * no key, and no network except 127.0.0.1.
 */

import { once } from "node:events";
import { stderr, stdout } from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { onStopSignals, signalCodes } from "../src/cli/console/stop-signals.ts";
import type { PlimsollEvent } from "../src/message/event.ts";
import type { Vendor } from "../src/wire/format/wire.ts";
import { type Flags, readFlags, usage } from "./flags.ts";
import { type PlayedSession, playSession } from "./player.ts";
import { freePort, makeFolder, type Program, removeFolder, startProgram } from "./program.ts";
import { askApi, type CostAnswer, reportText, tooLarge } from "./report.ts";
import { createScreen, grouped, type Screen } from "./screen.ts";
import { cast, type SessionScript, sessionScripts } from "./script.ts";
import { startUpstream, type Upstream } from "./upstream.ts";
import { type Watched, watchEvents } from "./watch.ts";
import { wireForms } from "./wires/forms.ts";

const windows: ReadonlyMap<string, number> = new Map(
  cast.map(({ model, window }) => [model, window]),
);
const bufferTokens = 1_000;
const maxTokens = 2_000;
const usualPort = 4141;
/** The other sessions are this many times slower than the first. */
const slownessOfOthers = 3;
const nameWidth = 15;

/** The running parts of the demo. */
interface Stage {
  /** Names of the sessions, by the service's session id. */
  readonly names: Map<string, string>;
  readonly flags: Flags;
  readonly scripts: readonly SessionScript[];
  readonly screen: Screen;
  readonly data: string;
  readonly upstream: Upstream;
  readonly program: Program;
  readonly signal: AbortSignal;
}

/** Returns the exit code: 0, 1 (failed), 2 (wrong usage), or the code of a signal. */
async function main(): Promise<number> {
  const isTerminal = stdout.isTTY === true;
  const read = readFlags(process.argv.slice(2), isTerminal);
  if (read.kind === "flags") return run(read.flags, isTerminal);
  if (read.kind === "help") stdout.write(`${usage}\n`);
  else stderr.write(`demo: ${read.sentence}\n${usage}\n`);
  return read.kind === "help" ? 0 : 2;
}

async function run(flags: Flags, isTerminal: boolean): Promise<number> {
  const screen = createScreen(isTerminal);
  const scripts = sessionScripts(flags);
  const data = makeFolder(flags.data);
  const stop = stopOnSignals(() => {
    if (!flags.isKept) removeFolder(data);
  });
  const closers: (() => Promise<void>)[] = [];
  try {
    const upstream = await startUpstream({ scripts, windows });
    closers.unshift(() => upstream.close());
    const program = await startProgram({
      data,
      port: flags.port ?? (await freePort(usualPort)),
      config: configText(upstream.url),
      seed: flags.seed,
      warn: (line) => screen.line(line),
    });
    closers.unshift(() => program.stop());
    const names = new Map<string, string>();
    await perform({ names, flags, scripts, screen, data, upstream, program, signal: stop.signal });
    return 0;
  } catch (error) {
    screen.end();
    // Ctrl-C reaches the whole process group, and the service may stop before this process gets the signal.
    if (!stop.signal.aborted) await pause(keystrokeReachesAllMs);
    if (stop.signal.aborted) return Number(stop.signal.reason);
    throw error;
  } finally {
    for (const close of closers) await close();
    if (!flags.isKept) removeFolder(data);
  }
}

const keystrokeReachesAllMs = 500;

/** The abort reason is the exit code for that signal. A second Ctrl-C stops everything at once, including the service. */
function stopOnSignals(cleanUp: () => void): AbortController {
  const stop = new AbortController();
  onStopSignals(
    (signal) => stop.abort(signalCodes[signal]),
    (signal) => {
      // Clean up last, after the service has been killed.
      process.on("exit", cleanUp);
      process.exit(signalCodes[signal]);
    },
  );
  return stop;
}

/** Where each vendor's paths begin, after the address of the upstream. */
const basePaths: Readonly<Record<Vendor, string>> = { anthropic: "", openai: "/v1", gemini: "" };

function configText(upstream: string): string {
  return [
    "# The demo's own configuration. The windows are small, so that much happens in a short time.",
    "providers:",
    ...Object.entries(basePaths).flatMap(([vendor, base]) => [
      `  ${vendor}:`,
      "    # The scripted upstream: no key, no network.",
      `    baseUrl: ${upstream}${base}`,
      "    models:",
      ...modelLines(vendor),
    ]),
    "# What is said with these words is kept longest.",
    "priority_areas:",
    '  - { name: Rules, priority: 1, patterns: ["never touch", "never run", "you must not"] }',
    '  - { name: To Do List, priority: 1, patterns: ["- [ ]", "TODO:"] }',
    "",
  ].join("\n");
}

function modelLines(vendor: string): readonly string[] {
  return cast
    .filter(({ wire }) => wireForms[wire].vendor === vendor)
    .map(
      ({ model, window }) =>
        `      ${model}: { contextWindow: ${window}, contextWindowBufferTokens: ${bufferTokens} }`,
    );
}

async function perform(stage: Stage): Promise<void> {
  const { flags, screen, program, scripts, signal, names } = stage;
  screen.line(program.greeting);
  screen.line(
    "Open the dashboard address in a browser and watch: agents work on a made-up harbour project in windows that are far too small for it.\n",
  );
  const watched = await watchEvents({
    url: program.url,
    token: program.token,
    signal,
    onEvent: (event) => {
      const text = shownEvent(event, names.get(event.session) ?? "");
      if (text !== undefined) screen.line(text);
    },
  });
  const started = performance.now();
  const sessions = await Promise.race([playAll(stage), program.failed, aborted(signal)]);
  const seconds = (performance.now() - started) / 1000;
  await watched.settled(scripts.reduce((sum, { steps }) => sum + steps.length, 0));
  screen.end();
  screen.line(await makeReport(stage, watched, { sessions, seconds }));
  checkPromises(stage, watched);
  if (!flags.isHeld) return;
  const after = flags.isKept ? "its data stay" : "its data go with it, unless --keep was given";
  screen.line(`\nThe service stays up, so that you can look around. Ctrl-C ends it; ${after}.`);
  screen.line(program.dashboard);
  await Promise.race([once(signal, "abort"), program.failed]);
}

async function aborted(signal: AbortSignal): Promise<never> {
  if (!signal.aborted) await once(signal, "abort");
  throw new Error("The demo was told to stop.");
}

async function playAll(stage: Stage): Promise<readonly PlayedSession[]> {
  const { flags, scripts, screen, program, signal, upstream, names } = stage;
  const all = scripts.reduce((sum, { steps }) => sum + steps.length, 0);
  let done = 0;
  // The sessions begin one after the other and then go on together, so that each gets the same id in every run.
  const begun = scripts.map(() => Promise.withResolvers<void>());
  try {
    return await Promise.all(
      scripts.map((script, index) => {
        const paceMs = index === 0 ? flags.paceMs : flags.paceMs * slownessOfOthers;
        return playSession(script, {
          url: program.url,
          paceMs,
          maxTokens,
          signal,
          mayBegin: begun[index - 1]?.promise ?? Promise.resolve(),
          mayGoOn: begun.at(-1)?.promise ?? Promise.resolve(),
          onTurn: (id) => {
            begun[index]?.resolve();
            names.set(id, script.name);
            done++;
            screen.progress(done, all);
          },
        });
      }),
    );
  } catch (error) {
    const [refusal] = upstream.refusals;
    if (refusal === undefined) throw error;
    throw new Error(`The upstream refused a request: ${refusal}`, { cause: error });
  }
}

/** The line to print for an event while the demo plays; undefined for events that are not shown. */
function shownEvent(event: PlimsollEvent, name: string): string | undefined {
  const who = name.padEnd(nameWidth);
  switch (event.type) {
    case "compaction-end":
      return `${who}  compacted ${grouped(event.tokensBefore)} → ${grouped(event.tokensAfter)} tokens by ${event.strategies.join(", ")}`;
    case "own-call":
      return `${who}  ${event.tool} answered with ${grouped(event.tokens)} tokens`;
    case "recovery":
      return `${who}  started afresh with a handover: ${event.reason}`;
    case "degraded":
      return `${who}  went on by a lesser way: ${event.reason}`;
    default:
      return undefined;
  }
}

interface Ended {
  readonly sessions: readonly PlayedSession[];
  readonly seconds: number;
}

async function makeReport(stage: Stage, watched: Watched, ended: Ended): Promise<string> {
  const { program, flags, upstream } = stage;
  const cost = await askApi<CostAnswer>(program, "/api/cost");
  return reportText({
    seed: flags.seed,
    ...ended,
    turns: watched.turns,
    compactions: watched.compactions,
    answered: upstream.answered,
    refusals: upstream.refusals.length,
    lookups: upstream.lookups,
    cost,
    further: furtherLines(stage, ended.sessions[0]?.id ?? ""),
  });
}

function furtherLines({ flags, data, program }: Stage, session: string): readonly string[] {
  if (!flags.isKept && !flags.isHeld)
    return ["npm run demo -- --keep     keeps the data, so that it can be looked at afterwards"];
  return [
    ...(flags.isHeld ? [`${program.dashboard}     the dashboard`] : []),
    ...[
      "sessions",
      "cost --all",
      `receipts ${session}`,
      `edits ${session}`,
      "top",
      `report ${session} --html report.html`,
      `recall "which rules did the user give" --session ${session}`,
    ].map((words) => `npx plimsoll ${words} --data ${data}`),
  ];
}

/** Checks two of Plimsoll's promises: the upstream refused no request, and no request was over its limit. */
function checkPromises({ upstream }: Stage, { turns }: Watched): void {
  const [refusal] = upstream.refusals;
  if (refusal !== undefined) throw new Error(`The upstream refused a request: ${refusal}`);
  const [large] = tooLarge(turns);
  if (large !== undefined)
    throw new Error(
      `A request of ${large.measurement.total} tokens went over its limit of ${large.limit} (session ${large.session}).`,
    );
}

try {
  process.exitCode = await main();
} catch (error) {
  const reason = error instanceof Error ? error.message : String(error);
  stderr.write(
    `demo: ${reason}\nRun \`npm run demo -- --help\` to see its flags; with --keep its data stays.\n`,
  );
  process.exitCode = 1;
}
