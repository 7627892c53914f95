/** Prometheus figures, gathered from the same events that everybody sees. No session ids as labels. */

import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { TurnEndEvent } from "../message/event.ts";
import type { Plimsoll } from "../session/plimsoll.ts";

export interface Metrics {
  render(): Promise<string>;
  readonly contentType: string;
  /** Seconds between a request's last byte and its way to the upstream. */
  observeOverhead(seconds: number): void;
}

export function createMetrics(plimsoll: Plimsoll): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const requests = new Counter({
    name: "plimsoll_requests_total",
    help: "Turns by outcome and how they ended.",
    labelNames: ["outcome", "status"],
    registers,
  });
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
  const overhead = new Histogram({
    name: "plimsoll_overhead_seconds",
    help: "Time that a request waits in Plimsoll before it goes on.",
    buckets: [0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.5, 2],
    registers,
  });
  const saved = new Counter({
    name: "plimsoll_tokens_saved_total",
    help: "Tokens that clients sent and that did not go out, as the provider would count them.",
    registers,
  });
  countEvents(plimsoll, registry);
  countMoney(plimsoll, registry);
  const storeErrors = new Counter({
    name: "plimsoll_store_errors_total",
    help: "Commits that failed and were kept for later.",
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

  const countTurn = ({ outcome, status, measurement, tokensBefore, usage }: TurnEndEvent): void => {
    requests.inc({ outcome, status });
    saved.inc(Math.max(0, tokensBefore - measurement.total));
    for (const component of ["system", "skills", "tools", "conversation"] as const) {
      context.set({ component }, measurement[component]);
    }
    if (usage === undefined) return;
    tokens.inc({ kind: "input" }, usage.inputTokens);
    tokens.inc({ kind: "output" }, usage.outputTokens);
    tokens.inc({ kind: "cache_read" }, usage.cacheReadTokens ?? 0);
    tokens.inc({ kind: "cache_write" }, usage.cacheWriteTokens ?? 0);
  };
  plimsoll.on("turn-end", countTurn);
  plimsoll.on("store-error", () => storeErrors.inc());

  return {
    contentType: registry.contentType,
    observeOverhead: (seconds) => overhead.observe(seconds),
    render: async () => {
      const figures = await plimsoll.store.figures();
      sessions.set(figures.sessions);
      archive.set(figures.archiveBytes);
      return registry.metrics();
    },
  };
}

/** Names of models come from clients: so many are told apart. */
const maxModels = 50;

function countMoney(plimsoll: Plimsoll, registry: Registry): void {
  const registers = [registry];
  const models = new Set<string>();
  const money = new Counter({
    name: "plimsoll_cost_usd_total",
    help: "What turns have cost in US dollars, by what providers reported; turns at unknown prices are not in it.",
    labelNames: ["model"],
    registers,
  });
  const unpriced = new Counter({
    name: "plimsoll_unpriced_turns_total",
    help: "Turns whose cost is unknown: no usage was reported, or no price is known.",
    registers,
  });
  const saved = new Counter({
    name: "plimsoll_saved_usd_total",
    help: "What clients sent and did not go out, at the price of the cache, in US dollars: an estimate.",
    registers,
  });
  const spent = new Counter({
    name: "plimsoll_compaction_usd_total",
    help: "What compactions cost more than the same requests without them, in US dollars: an estimate, where the cache is known.",
    registers,
  });
  plimsoll.on("compaction-end", ({ worth }) => spent.inc(Math.max(0, worth?.priceUsd ?? 0)));
  plimsoll.on("turn-end", ({ model, usd, savedUsd = 0 }) => {
    saved.inc(savedUsd);
    if (models.size < maxModels) models.add(model);
    if (usd === undefined) unpriced.inc();
    else money.inc({ model: models.has(model) ? model : "other" }, usd);
  });
}

function countEvents(plimsoll: Plimsoll, registry: Registry): void {
  const registers = [registry];
  const compactions = new Counter({
    name: "plimsoll_compactions_total",
    help: "Compactions by what called for them.",
    labelNames: ["reason"],
    registers,
  });
  const overflows = new Counter({
    name: "plimsoll_overflows_total",
    help: "Requests that a provider found too long, and whether a smaller one was sent instead.",
    labelNames: ["retried"],
    registers,
  });
  const degraded = new Counter({
    name: "plimsoll_degraded_total",
    help: "Failures of Plimsoll's own, by the rung on which the request went on.",
    labelNames: ["rung"],
    registers,
  });
  const ownCalls = new Counter({
    name: "plimsoll_own_calls_total",
    help: "Calls of Plimsoll's own tools that were answered, by tool.",
    labelNames: ["tool", "failed"],
    registers,
  });
  const reread = new Counter({
    name: "plimsoll_reread_tokens_total",
    help: "Tokens that providers had read and must read again, by what changed before them; estimated.",
    labelNames: ["by"],
    registers,
  });
  const deferred = new Counter({
    name: "plimsoll_tools_deferred_total",
    help: "Tools that were held back, one count per conversation and tool.",
    registers,
  });
  plimsoll.on("tools-deferred", ({ deferred: count }) => deferred.inc(count));
  plimsoll.on("tools-loaded", ({ rereadTokens }) => reread.inc({ by: "tools" }, rereadTokens));
  plimsoll.on("compaction-end", ({ tokensAfter }) => reread.inc({ by: "compaction" }, tokensAfter));
  plimsoll.on("own-call", ({ tool, isError }) => ownCalls.inc({ tool, failed: String(isError) }));
  plimsoll.on("compaction-end", ({ reason }) => compactions.inc({ reason }));
  plimsoll.on("overflow", ({ isRetried }) => overflows.inc({ retried: String(isRetried) }));
  plimsoll.on("degraded", ({ rung }) => degraded.inc({ rung }));
}
