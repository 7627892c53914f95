/** Prometheus metrics, collected from the public events. They have no session ids as labels. docs/metrics.md lists them. */

import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Engine } from "../../engine.ts";
import type { TurnEndEvent } from "../../message/event.ts";
import { brokenRule } from "../../session/draft/validate-view.ts";
import { boundedNames, maxModels, oneOf } from "./metrics-labels.ts";

export interface Metrics {
  render(): Promise<string>;
  readonly contentType: string;
  /** Seconds from a request's last byte until it is sent to the upstream. */
  observeOverhead(seconds: number): void;
}

/** `providers`: the provider names to use as labels. */
export function createMetrics(engine: Engine, providers: ReadonlySet<string>): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const overhead = new Histogram({
    name: "plimsoll_overhead_seconds",
    help: "Time that a request spends in Plimsoll before it is sent on.",
    buckets: [0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.5, 2],
    registers,
  });
  const sessions = new Gauge({
    name: "plimsoll_sessions",
    help: "Sessions in the store.",
    registers,
  });
  const archive = new Gauge({
    name: "plimsoll_archive_bytes",
    help: "Bytes in the archive, unpacked.",
    registers,
  });
  countTurns(engine, registry, providers);
  countTokens(engine, registry);
  countMoney(engine, registry);
  countCompactions(engine, registry);
  countTools(engine, registry);
  countFailures(engine, registry);

  return {
    contentType: registry.contentType,
    observeOverhead: (seconds) => overhead.observe(seconds),
    render: async () => {
      const figures = await engine.store.figures();
      sessions.set(figures.sessions);
      archive.set(figures.archiveBytes);
      return registry.metrics();
    },
  };
}

/** A counter cannot go down and throws if asked to, so invalid figures count as zero. */
function amount(figure: number | undefined): number {
  return figure !== undefined && Number.isFinite(figure) ? Math.max(0, figure) : 0;
}

/** Maximum number of unfinished turns with a failure in Plimsoll. More never run at once. */
const maxUnended = 10_000;

function countTurns(engine: Engine, registry: Registry, providers: ReadonlySet<string>): void {
  const registers = [registry];
  const requests = new Counter({
    name: "plimsoll_requests_total",
    help: "Turns by provider, outcome and status.",
    labelNames: ["provider", "outcome", "status"],
    registers,
  });
  const passthrough = new Counter({
    name: "plimsoll_passthrough_total",
    help: "Turns whose conversation was sent as it came, by reason: fits, over_limit (nothing could be removed), failed (Plimsoll failed).",
    labelNames: ["reason"],
    registers,
  });
  const providerOf = oneOf(providers);
  const degraded = new Set<string>();
  engine.on("degraded", ({ rung, turn }) => {
    // On the first rung the view still exists, so this failure is not the reason for sending the client's original.
    if (rung !== "view" && degraded.size < maxUnended) degraded.add(turn);
  });
  engine.on("turn-end", (event) => {
    const { provider, outcome, status, turn } = event;
    requests.inc({ provider: providerOf(provider), outcome, status });
    const hasFailed = degraded.delete(turn);
    if (outcome === "passthrough") passthrough.inc({ reason: passedBecause(event, hasFailed) });
  });
}

function passedBecause({ measurement, limit }: TurnEndEvent, hasFailed: boolean): string {
  if (hasFailed) return "failed";
  return measurement.total > limit ? "over_limit" : "fits";
}

function countTokens(engine: Engine, registry: Registry): void {
  const registers = [registry];
  const tokens = new Counter({
    name: "plimsoll_tokens_total",
    help: "Tokens that providers reported.",
    labelNames: ["kind"],
    registers,
  });
  const context = new Gauge({
    name: "plimsoll_context_tokens",
    help: "Tokens of the newest turn, by component.",
    labelNames: ["component"],
    registers,
  });
  const saved = new Counter({
    name: "plimsoll_tokens_saved_total",
    help: "Tokens that clients sent and Plimsoll removed, in the provider's tokens.",
    registers,
  });
  engine.on("turn-end", ({ measurement, tokensBefore, usage }) => {
    saved.inc(amount(tokensBefore - measurement.total));
    for (const component of ["system", "skills", "tools", "conversation"] as const) {
      context.set({ component }, measurement[component]);
    }
    if (usage === undefined) return;
    tokens.inc({ kind: "input" }, amount(usage.inputTokens));
    tokens.inc({ kind: "output" }, amount(usage.outputTokens));
    tokens.inc({ kind: "cache_read" }, amount(usage.cacheReadTokens));
    tokens.inc({ kind: "cache_write" }, amount(usage.cacheWriteTokens));
  });
}

function countMoney(engine: Engine, registry: Registry): void {
  const registers = [registry];
  const modelOf = boundedNames(maxModels);
  const money = new Counter({
    name: "plimsoll_cost_usd_total",
    help: "Cost of turns in US dollars, from the usage that providers reported. Turns with unknown prices are not included.",
    labelNames: ["model"],
    registers,
  });
  const unpriced = new Counter({
    name: "plimsoll_unpriced_turns_total",
    help: "Turns whose cost is unknown, because no usage was reported or no price is known.",
    registers,
  });
  const saved = new Counter({
    name: "plimsoll_saved_usd_total",
    help: "Estimated value in US dollars of the tokens that Plimsoll removed, at the cache price.",
    registers,
  });
  const spent = new Counter({
    name: "plimsoll_compaction_usd_total",
    help: "Estimated extra cost in US dollars of requests because of compactions, if the state of the cache is known.",
    registers,
  });
  engine.on("compaction-end", ({ worth }) => spent.inc(amount(worth?.priceUsd)));
  engine.on("turn-end", ({ model, usd, savedUsd }) => {
    saved.inc(amount(savedUsd));
    const label = modelOf(model);
    if (usd === undefined) unpriced.inc();
    else money.inc({ model: label }, amount(usd));
  });
}

function countCompactions(engine: Engine, registry: Registry): void {
  const registers = [registry];
  const compactions = new Counter({
    name: "plimsoll_compactions_total",
    help: "Compactions by reason.",
    labelNames: ["reason"],
    registers,
  });
  const duration = new Histogram({
    name: "plimsoll_compaction_duration_seconds",
    help: "Time from the start of a compaction until its edits were stored.",
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  const reread = new Counter({
    name: "plimsoll_reread_tokens_total",
    help: "Estimated tokens that providers must read again, by the change that invalidated their cache.",
    labelNames: ["by"],
    registers,
  });
  engine.on("tools-loaded", ({ rereadTokens }) =>
    reread.inc({ by: "tools" }, amount(rereadTokens)),
  );
  engine.on("compaction-end", ({ reason, tokensAfter, receipt }) => {
    compactions.inc({ reason });
    duration.observe(receipt.milliseconds / 1000);
    reread.inc({ by: "compaction" }, amount(tokensAfter));
  });
}

function countTools(engine: Engine, registry: Registry): void {
  const registers = [registry];
  const ownCalls = new Counter({
    name: "plimsoll_own_calls_total",
    help: "Answered calls to Plimsoll's own tools, by tool.",
    labelNames: ["tool", "failed"],
    registers,
  });
  const deferred = new Counter({
    name: "plimsoll_tools_deferred_total",
    help: "Deferred tools, counted once per conversation and tool.",
    registers,
  });
  engine.on("tools-deferred", ({ deferred: count }) => deferred.inc(amount(count)));
  engine.on("own-call", ({ tool, isError }) => ownCalls.inc({ tool, failed: String(isError) }));
}

function countFailures(engine: Engine, registry: Registry): void {
  const registers = [registry];
  const overflows = new Counter({
    name: "plimsoll_overflows_total",
    help: "Requests that a provider rejected as too long, by whether a smaller one was sent instead.",
    labelNames: ["retried"],
    registers,
  });
  const degraded = new Counter({
    name: "plimsoll_degraded_total",
    help: "Failures in Plimsoll, by the rung on which the request continued.",
    labelNames: ["rung"],
    registers,
  });
  const rejections = new Counter({
    name: "plimsoll_validator_rejections_total",
    help: "Views that the validator rejected, by the first rule that they would have broken.",
    labelNames: ["rule"],
    registers,
  });
  const storeErrors = new Counter({
    name: "plimsoll_store_errors_total",
    help: "Commits that failed and will be retried.",
    registers,
  });
  engine.on("overflow", ({ isRetried }) => overflows.inc({ retried: String(isRetried) }));
  engine.on("degraded", ({ rung, reason }) => {
    degraded.inc({ rung });
    const rule = brokenRule(reason);
    if (rule !== undefined) rejections.inc({ rule });
  });
  engine.on("store-error", () => storeErrors.inc());
}
