/** What requests are sent to: an upstream, and in front of it two proxies that do next to nothing, and Plimsoll. */

import {
  type Service,
  type ServiceOptions,
  type SessionSummary,
  startService,
} from "../packages/plimsoll/test/harness/service.ts";
import { startChild } from "./processes.ts";
import { figure, type RunOptions } from "./report.ts";

/** Something to send requests to; without a process of its own it is the upstream itself. */
export interface Target {
  readonly name: TargetName;
  readonly origin: string;
  readonly pid?: number;
}

export type TargetName = "direct" | "pass-through" | "parse + stringify" | "Plimsoll";

/** One number for each round and target: what was measured next to each other stays comparable. */
export type Rounds = Readonly<Record<TargetName, number[]>>;

export function emptyRounds(): Rounds {
  return { direct: [], "pass-through": [], "parse + stringify": [], Plimsoll: [] };
}

/** In every round each target has its turn. */
export async function interleave(
  targets: readonly Target[],
  rounds: number,
  work: (target: Target, round: number) => Promise<void>,
): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    for (const target of targets) await work(target, round);
  }
}

/** Beyond the direct call of the same round. */
export function added(rounds: Rounds, name: TargetName): readonly number[] {
  return rounds[name].map((value, round) => value - (rounds.direct[round] ?? Number.NaN));
}

export function milliseconds(microseconds: number): string {
  return figure(microseconds / 1000);
}

export interface TargetsOptions {
  /** The script of the upstream. */
  readonly upstream: URL;
  readonly folder: string;
  readonly options: RunOptions;
  /** The windows of Plimsoll's models, in tokens. By default they are those of the catalogue. */
  readonly windows?: Readonly<Record<string, number>>;
}

/** Starts them all, and stops them whatever happens. */
export async function withTargets<T>(
  { upstream: script, folder, options, windows }: TargetsOptions,
  work: (targets: readonly Target[], service: Service) => Promise<T>,
): Promise<T> {
  const started: { stop(): Promise<void> }[] = [];
  const start = async <S extends { stop(): Promise<void> }>(starting: Promise<S>): Promise<S> => {
    const running = await starting;
    started.unshift(running);
    return running;
  };
  try {
    const upstream = await start(startChild(script));
    const direct = originOf(upstream.greeting);
    const floor = new URL("./proxy-floor.ts", import.meta.url);
    const pass = await start(startChild(floor, { arguments: ["pass", direct] }));
    const parse = await start(startChild(floor, { arguments: ["parse", direct] }));
    const service = await start(
      startPlimsoll({ upstream: direct, data: folder, options, windows }),
    );
    const targets: readonly Target[] = [
      { name: "direct", origin: direct },
      { name: "pass-through", origin: originOf(pass.greeting), pid: pass.pid },
      { name: "parse + stringify", origin: originOf(parse.greeting), pid: parse.pid },
      { name: "Plimsoll", origin: service.url, pid: service.pid },
    ];
    return await work(targets, service);
  } finally {
    for (const running of started) await running.stop();
  }
}

export function originOf(greeting: unknown): string {
  return `http://127.0.0.1:${(greeting as { readonly port: number }).port}`;
}

export interface PlimsollOptions {
  readonly upstream: string;
  readonly data: string;
  readonly options: RunOptions;
  readonly windows?: Readonly<Record<string, number>> | undefined;
  readonly nodeOptions?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export function startPlimsoll(wanted: PlimsollOptions): Promise<Service> {
  const { upstream, data, options, windows, nodeOptions = [], env = {} } = wanted;
  const { profileFolder } = options;
  const profile =
    profileFolder === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profileFolder}`];
  const flags = [...nodeOptions, ...profile].join(" ");
  return startService({
    upstreams: { anthropic: upstream },
    data,
    ...(windows && { config: configOf(upstream, windows) }),
    env: { ...env, ...(flags !== "" && { NODE_OPTIONS: flags }) },
  });
}

/** The window is the limit, also of the largest. */
function configOf(
  baseUrl: string,
  windows: Readonly<Record<string, number>>,
): NonNullable<ServiceOptions["config"]> {
  const models = Object.fromEntries(
    Object.entries(windows).map(([name, contextWindow]) => [name, { contextWindow }]),
  );
  return {
    providers: { anthropic: { baseUrl, models } },
    agent: { context_budget: "window" },
  };
}

/** What was not recorded as one conversation was not measured as one. */
export async function checkRecorded(service: Service): Promise<void> {
  const page = await service.api<{ readonly items: readonly SessionSummary[] }>(
    "/api/sessions?limit=100",
  );
  const isTorn = page.items.some(({ branches, turns }) => branches !== 1 || turns === 0);
  if (page.items.length === 0 || isTorn)
    throw new Error("Plimsoll did not take the conversations for what they are.");
  if (service.stderr !== "") throw new Error(`Plimsoll complained: ${service.stderr}`);
}
