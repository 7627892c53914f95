/** The replay lab: runs recorded conversations through different policies, against a simulation of the provider's cache. */

import { effectiveLimit } from "../budget/guard.ts";
import { windowFor } from "../budget/limit.ts";
import { answerTokensMin } from "../budget/output-room.ts";
import { ownLimitsOf } from "../config/limits.ts";
import type { Config, ProviderSettings } from "../config/schema.ts";
import { type Engine, openEngine } from "../engine.ts";
import { PlimsollError } from "../message/error.ts";
import type { JsonObject } from "../message/json.ts";
import type { Usage } from "../message/message.ts";
import { type BilledTokens, costOf } from "../prompt/bill.ts";
import {
  type CacheModel,
  commonPrefixTokens,
  type InputTokens,
  openCacheModel,
} from "../prompt/cache-model.ts";
import type { PriceList } from "../prompt/price-rows.ts";
import { decodeMessage } from "../session/draft/encode.ts";
import { asGuarded } from "../session/draft/projection.ts";
import { createFactsReader, type FactsReader } from "../session/measure/message-facts.ts";
import { createTargets, type Target } from "../session/measure/target.ts";
import { createTokenCounter } from "../session/measure/token-counter.ts";
import {
  openRequestReader,
  type ReadRequest,
  type RequestReader,
  type Run,
  type Sent,
  withMarks,
} from "./blocks.ts";
import { idealRun } from "./ideal.ts";
import { bodyAt, type SimplePolicy } from "./policies.ts";
import { answerOf, bodyOf, type Script } from "./turns.ts";

/**
 * Names of the policies. Under "ideal", requests are as large as Plimsoll's, but their beginning changes only at a compaction.
 */
export const policyNames = ["none", "tail", "clear", "plimsoll", "ideal"] as const;
export type PolicyName = (typeof policyNames)[number];

/** The window for every policy except `none`. */
export type ReplayWindow =
  | { readonly kind: "model" }
  | { readonly kind: "tokens"; readonly tokens: number }
  /** The window has room for this share of the conversation, and for its tools and system prompt. */
  | { readonly kind: "share"; readonly share: number };

export interface ReplayOptions {
  readonly policies: readonly PolicyName[];
  readonly window: ReplayWindow;
  readonly secondsPerTurn: number;
  readonly prices: PriceList;
  /** Configuration for the policy `plimsoll`. The windows, models and limits in it apply to all policies. */
  readonly config: Config;
  readonly onProgress?: (done: number) => void;
  /** Called for every request that was sent. */
  readonly onRequest?: (sent: SentRequest) => void;
}

export interface SentRequest {
  readonly policy: PolicyName;
  readonly conversation: string;
  readonly turn: number;
  readonly tokens: number;
  /** Number of tokens at the beginning of this request that are the same as in the previous request. */
  readonly prefixTokens: number;
  readonly billed: InputTokens;
  readonly isCompacted: boolean;
  /** The body that was sent. Undefined for the policy `ideal`, which only computes sizes. */
  readonly body?: JsonObject;
}

export interface PolicyFigures extends BilledTokens {
  readonly policy: PolicyName;
  readonly requests: number;
  readonly sent: number;
  readonly cacheWriteLong: number;
  readonly prefix: number;
  readonly compactions: number;
  /** Number of compactions that were necessary because the request would not have fitted otherwise. */
  readonly forced: number;
  readonly overWindow: number;
  readonly refused: number;
  /** The cost in US dollars. Undefined if it is unknown. */
  readonly usd?: number;
}

/** Share of the limit that is kept as a buffer in case counts are too low. Used if the window is a share of the conversation. */
const bufferShare = 0.15;

export async function replayAll(
  scripts: readonly Script[],
  given: ReplayOptions,
): Promise<readonly PolicyFigures[]> {
  const options = { ...given, config: configFor(given) };
  const counter = createTokenCounter();
  const facts = createFactsReader(counter);
  try {
    const worlds: World[] = [];
    for (const [index, script] of scripts.entries())
      worlds.push(await worldOf(facts, options, script, index));
    const { runs, reasons } = await runPolicies(worlds, options);
    const isForced = ({ turn }: Sent): boolean => reasons.get(turn ?? "") === "forced";
    return [...runs].map(([policy, done]) => {
      const run = done.flat();
      const forced = run.filter((sent) => sent !== undefined && isForced(sent)).length;
      return { ...figuresOf(policy, run, options.prices), forced };
    });
  } finally {
    await counter.close();
  }
}

interface PolicyRuns {
  readonly runs: ReadonlyMap<PolicyName, readonly Run[]>;
  /** The reasons for Plimsoll's compactions, by the id of the turn. */
  readonly reasons: ReadonlyMap<string, string>;
}

/** Runs every conversation under every policy. Plimsoll runs each conversation once, and the policy `ideal` uses the same run. */
async function runPolicies(worlds: readonly World[], options: ReplayOptions): Promise<PolicyRuns> {
  const runs = new Map<PolicyName, Run[]>(options.policies.map((policy) => [policy, []]));
  const isOurs = options.policies.some((policy) => policy === "plimsoll" || policy === "ideal");
  const clock = { seconds: 0 };
  const engine = isOurs ? await openFor(options.config, worlds, clock) : undefined;
  // Events arrive in the background, so all of them have arrived only when the engine is closed.
  const reasons = new Map<string, string>();
  engine?.on("compaction-end", ({ turn, reason }) => reasons.set(turn, reason));
  try {
    for (const [index, world] of worlds.entries()) {
      const ours = engine && (await runPlimsoll(engine, world, clock));
      for (const [policy, done] of runs) {
        const run = await runOf(policy, world, ours ?? []);
        reportRun(options, policy, world, run);
        done.push(run.map(withoutBody));
      }
      options.onProgress?.(index + 1);
    }
  } finally {
    await engine?.close();
  }
  return { runs, reasons };
}

/** Keeps only the figures of a run. The bodies of all turns of all conversations would fill the memory. */
function withoutBody(sent: Sent | undefined): Sent | undefined {
  if (sent === undefined) return undefined;
  const { body: _, ...rest } = sent;
  return { ...rest, request: { ...rest.request, blocks: [] } };
}

function runOf(policy: PolicyName, world: World, ours: Run): Promise<Run> | Run {
  switch (policy) {
    case "plimsoll":
      return ours;
    case "ideal":
      return idealRun(ours, openCacheModel(world.prices.cache), world.secondsPerTurn);
    default:
      return runSimple(policy, world);
  }
}

function reportRun(options: ReplayOptions, policy: PolicyName, world: World, run: Run): void {
  if (options.onRequest === undefined) return;
  for (const [turn, sent] of run.entries()) {
    if (sent === undefined) continue;
    const { billed, prefixTokens, isCompacted, request, body } = sent;
    options.onRequest({
      policy,
      conversation: world.script.id,
      turn,
      tokens: request.tokens,
      prefixTokens,
      billed,
      isCompacted,
      ...(body === undefined ? {} : { body }),
    });
  }
}

/** One conversation, and everything needed to measure a policy on it. */
interface World {
  readonly script: Script;
  /** Name of the conversation's provider in the configuration. */
  readonly provider: string;
  readonly settings: ProviderSettings;
  readonly target: Target;
  /** The limit for this conversation, given the size of its tools and system prompt. */
  readonly limit: number;
  readonly reader: RequestReader;
  readonly headTokens: number;
  readonly prices: PriceList;
  readonly secondsPerTurn: number;
}

/** The configuration of a replay. If the caller gives the window, that window is the only limit, unless a budget is configured. */
function configFor({ config, window }: Pick<ReplayOptions, "config" | "window">): Config {
  const { context_budget: budget = "auto" } = config.agent ?? {};
  if (window.kind === "model" || budget !== "auto") return config;
  return { ...config, agent: { ...config.agent, context_budget: "window" } };
}

/** The configured settings for the provider of the conversation. */
function settingsFor({ providers }: Config, { wire }: Script): ProviderSettings {
  const { vendor } = wire;
  return { ...providers?.[vendor], wire: vendor };
}

async function worldOf(
  facts: FactsReader,
  { config, window, prices, secondsPerTurn }: ReplayOptions,
  script: Script,
  index: number,
): Promise<World> {
  const provider = `replay-${index}`;
  const known = settingsFor(config, script);
  const resolve = (settings: ProviderSettings): Target =>
    createTargets({ ...config, providers: { [provider]: settings } }, () => 0).resolve(
      provider,
      script.wire,
      script,
    );
  const reader = openRequestReader(facts, script.wire, resolve(known).ruler);
  const head = await reader.read(bodyOf(script, []));
  const settings = await withWindow(known, { window, script, reader, headTokens: head.tokens });
  const target = resolve(settings);
  const limit = limitFor(config, target, head.tokens);
  if (limit <= head.tokens) throw tooSmall(script, target, head.tokens);
  return {
    script,
    provider,
    settings,
    target,
    limit,
    reader,
    headTokens: head.tokens,
    prices,
    secondsPerTurn,
  };
}

function limitFor(config: Config, target: Target, headTokens: number): number {
  const fixed = { head: headTokens, preamble: headTokens };
  return effectiveLimit(asGuarded(target), ownLimitsOf(config, target), fixed);
}

function tooSmall({ id }: Script, { limit }: Target, headTokens: number): PlimsollError {
  const { window } = limit;
  return new PlimsollError(
    "USAGE",
    `A window of ${window} tokens is too small for ${id}. Tools and system prompt take ${headTokens} tokens, which leaves no room for a conversation. Give a larger --window.`,
  );
}

interface Windowing {
  readonly window: ReplayWindow;
  readonly script: Script;
  readonly reader: RequestReader;
  readonly headTokens: number;
}

/** Sets the window on the provider and on the model, because the settings of a model override the settings of its provider. */
async function withWindow(
  known: ProviderSettings,
  windowing: Windowing,
): Promise<ProviderSettings> {
  const { window, script, reader, headTokens } = windowing;
  if (window.kind === "model") return known;
  const ofModel = known.models?.[script.model] ?? {};
  const sized = { contextWindow: window.kind === "tokens" ? window.tokens : 0 };
  if (window.kind === "share") {
    const soFar = script.turns.flatMap(({ added, answer }, index) =>
      index === script.turns.length - 1 ? added : [...added, ...(answer ?? [])],
    );
    const tokens = (await reader.weigh(soFar)).reduce((sum, one) => sum + one, 0);
    const limit = Math.ceil(headTokens + tokens * window.share);
    const buffer = Math.ceil(limit * bufferShare);
    const contextWindow = windowFor(limit + buffer, script.maxOutputTokens);
    const both = { contextWindow, contextWindowBufferTokens: buffer };
    return { ...known, ...both, models: { [script.model]: { ...ofModel, ...both } } };
  }
  return { ...known, ...sized, models: { [script.model]: { ...ofModel, ...sized } } };
}

/**
 * The simulated time. The engine uses it as its clock, so that for Plimsoll cache entries expire at the same time as in the
 * simulated cache.
 */
interface Clock {
  seconds: number;
}

function openFor(config: Config, worlds: readonly World[], clock: Clock): Promise<Engine> {
  const providers = Object.fromEntries(worlds.map((one) => [one.provider, one.settings]));
  return openEngine({
    store: "memory",
    config: { ...config, providers: { ...config.providers, ...providers } },
    parts: { now: () => beginning + clock.seconds * 1000 },
  });
}

const beginning = Date.UTC(2026, 0, 1);

/**
 * Tokens kept free for the answer. If the limit was raised because of a large fixed part, this is only enough for a short answer.
 */
function keptForAnswer({ target, limit }: World): number {
  const { reserve, limit: usual } = target.limit;
  return limit > usual ? Math.min(reserve, answerTokensMin) : reserve;
}

/** Computes the bill of one request after another. It remembers the previous request. */
class Biller {
  readonly #model: CacheModel;
  readonly #world: World;
  #previous: ReadRequest | undefined;

  constructor(world: World) {
    this.#world = world;
    this.#model = openCacheModel(world.prices.cache);
  }

  async take(body: JsonObject, turn: number, isLimited = true): Promise<Sent> {
    const { reader, script, secondsPerTurn, target } = this.#world;
    const request = await reader.read(body);
    const billed = this.#model.take(withMarks(request, this.#previous), turn * secondsPerTurn);
    const prefixTokens =
      this.#previous === undefined ? 0 : commonPrefixTokens(request.blocks, this.#previous.blocks);
    this.#previous = request;
    const answer = script.turns[turn]?.answer ?? [];
    const output = (await reader.weigh(answer)).reduce((sum, one) => sum + one, 0);
    const isOverWindow =
      isLimited && request.tokens + keptForAnswer(this.#world) > target.limit.window;
    return { request, billed, prefixTokens, output, isCompacted: false, isOverWindow, body };
  }
}

async function runSimple(policy: SimplePolicy, world: World): Promise<Run> {
  const biller = new Biller(world);
  const run: Sent[] = [];
  for (const turn of world.script.turns.keys())
    run.push(await biller.take(await bodyAt(policy, world, turn), turn, policy !== "none"));
  return run;
}

/** Runs the conversation through Plimsoll's engine, which makes exactly the requests that it would have sent. */
async function runPlimsoll(engine: Engine, world: World, clock: Clock): Promise<Run> {
  const { script } = world;
  const biller = new Biller(world);
  const run: (Sent | undefined)[] = [];
  const soFar: JsonObject[] = [];
  for (const [turn, { added, answer }] of script.turns.entries()) {
    clock.seconds = turn * world.secondsPerTurn;
    soFar.push(...added);
    const body = new TextEncoder().encode(JSON.stringify(bodyOf(script, soFar)));
    soFar.push(...(answer ?? []));
    const received = await receiveFrom(engine, world, body);
    if (received.fitted.refusal !== undefined) {
      await received.end({ status: "aborted" });
      run.push(undefined);
      continue;
    }
    const sent = await biller.take(decodeMessage(received.body ?? body), turn);
    await received.end(
      answer === undefined
        ? { status: "aborted" }
        : { status: "complete", answer: answerOf(answer, usageOf(sent)) },
    );
    const { outcome } = received.fitted;
    const isCompacted = outcome === "compacted" || outcome === "recovered";
    run.push({ ...sent, turn: received.id, isCompacted });
  }
  return run;
}

function receiveFrom(
  engine: Engine,
  { script, provider }: World,
  body: Uint8Array,
): ReturnType<Engine["receive"]> {
  return engine.receive({
    tenant: "local",
    provider,
    wire: script.wire,
    body,
    hints: { clientKey: provider, isCompacted: false },
  });
}

function usageOf({ request, billed, output }: Sent): Usage {
  return {
    inputTokens: request.tokens,
    outputTokens: output,
    cacheReadTokens: billed.cacheRead,
    cacheWriteTokens: billed.cacheWrite + (billed.cacheWriteLong ?? 0),
    ...(billed.cacheWriteLong === undefined ? {} : { cacheWriteLongTokens: billed.cacheWriteLong }),
  };
}

function figuresOf(policy: PolicyName, run: Run, prices: PriceList): Omit<PolicyFigures, "forced"> {
  const sent = run.filter((one) => one !== undefined);
  const sum = (pick: (one: Sent) => number): number =>
    sent.reduce((all, one) => all + pick(one), 0);
  const tokens = {
    fresh: sum(({ billed }) => billed.fresh),
    cacheRead: sum(({ billed }) => billed.cacheRead),
    cacheWrite: sum(({ billed }) => billed.cacheWrite),
    cacheWriteLong: sum(({ billed }) => billed.cacheWriteLong ?? 0),
    output: sum(({ output }) => output),
  };
  const usd = costOf(tokens, prices);
  return {
    policy,
    requests: run.length,
    sent: sum(({ request }) => request.tokens),
    ...tokens,
    prefix: sum(({ prefixTokens }) => prefixTokens),
    compactions: sent.filter(({ isCompacted }) => isCompacted).length,
    overWindow: sent.filter(({ isOverWindow }) => isOverWindow).length,
    refused: run.length - sent.length,
    ...(usd === undefined ? {} : { usd }),
  };
}
