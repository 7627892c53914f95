/**
 * Every figure, with its name for Prometheus, for OpenTelemetry, or both. To add a figure, add a row here, and a line in
 * `figures-of-events.ts` that says which event the figure comes from. docs/metrics.md lists all figures.
 */

export interface Figure {
  readonly kind: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly labels?: readonly string[];
  /** The upper bounds of the buckets. Set only for histograms. */
  readonly buckets?: readonly number[];
  /** Name of the figure at `/metrics`. If absent, the figure is not shown there. */
  readonly prometheus?: string;
  /** The figure in OpenTelemetry. If absent, the figure is not exported to OpenTelemetry. */
  readonly otel?: ExportedFigure;
}

export interface ExportedFigure {
  readonly name: string;
  readonly unit: string;
  /** The OpenTelemetry names of those labels that have a different name there. */
  readonly attributes?: Readonly<Record<string, string>>;
}

/** The buckets of the GenAI conventions: powers of 4 in tokens, and powers of 2 in hundredths of a second. */
const tokenBuckets = Array.from({ length: 14 }, (_, power) => 4 ** power);
const secondBuckets = Array.from({ length: 14 }, (_, power) => 2 ** power / 100);

const figures = {
  overheadSeconds: {
    kind: "histogram",
    help: "Time that a request waits in Plimsoll before it is sent to the provider.",
    prometheus: "plimsoll_overhead_seconds",
    buckets: [0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.5, 2],
  },
  sessions: {
    kind: "gauge",
    help: "Sessions in the store.",
    prometheus: "plimsoll_sessions",
  },
  archiveBytes: {
    kind: "gauge",
    help: "Bytes in the archive, uncompressed.",
    prometheus: "plimsoll_archive_bytes",
  },
  memoryBytes: {
    kind: "gauge",
    help: "Memory that Plimsoll keeps between requests, in bytes, estimated: sessions, requests (the last one of each conversation), facts (hashes and counts of messages). Each has a limit.",
    prometheus: "plimsoll_memory_bytes",
    labels: ["kind"],
  },
  tasks: {
    kind: "gauge",
    help: "Tasks in the store, by status.",
    prometheus: "plimsoll_tasks",
    labels: ["status"],
  },
  openTickets: {
    kind: "gauge",
    help: "Tickets that nobody has resolved yet.",
    prometheus: "plimsoll_open_tickets",
  },
  requests: {
    kind: "counter",
    help: "Turns, by provider, by outcome (what Plimsoll did) and by status (complete, incomplete, failed or aborted).",
    prometheus: "plimsoll_requests_total",
    labels: ["provider", "outcome", "status"],
  },
  passthrough: {
    kind: "counter",
    help: "Turns whose conversation Plimsoll sent unchanged, by reason: fits, over_limit (nothing could be taken out), failed (Plimsoll failed).",
    prometheus: "plimsoll_passthrough_total",
    labels: ["reason"],
  },
  tokens: {
    kind: "counter",
    help: "Tokens that providers reported.",
    prometheus: "plimsoll_tokens_total",
    labels: ["kind"],
  },
  contextTokens: {
    kind: "gauge",
    help: "Tokens of the newest turn, by component.",
    prometheus: "plimsoll_context_tokens",
    labels: ["component"],
  },
  tokensSaved: {
    kind: "counter",
    help: "Tokens that clients sent and that Plimsoll left out, as the provider would count them.",
    prometheus: "plimsoll_tokens_saved_total",
  },
  costUsd: {
    kind: "counter",
    help: "Cost of the turns in US dollars, from the usage that providers reported. Turns with unknown prices are not included.",
    prometheus: "plimsoll_cost_usd_total",
    labels: ["model"],
  },
  unpricedTurns: {
    kind: "counter",
    help: "Turns whose cost is unknown, because no usage was reported or no price is known.",
    prometheus: "plimsoll_unpriced_turns_total",
  },
  savedUsd: {
    kind: "counter",
    help: "Tokens that clients sent and that Plimsoll left out, at the price of cached input, in US dollars. An estimate.",
    prometheus: "plimsoll_saved_usd_total",
  },
  compactionUsd: {
    kind: "counter",
    help: "Extra cost of compactions, compared with the same requests without them, in US dollars. An estimate. Compactions are included only if the state of the cache is known.",
    prometheus: "plimsoll_compaction_usd_total",
  },
  compactions: {
    kind: "counter",
    help: "Compactions, by reason.",
    prometheus: "plimsoll_compactions_total",
    labels: ["reason"],
    otel: {
      name: "plimsoll.compaction.count",
      unit: "{compaction}",
      attributes: { reason: "plimsoll.compaction.reason" },
    },
  },
  compactionSeconds: {
    kind: "histogram",
    help: "Time from the start of a compaction until its edits were stored.",
    prometheus: "plimsoll_compaction_duration_seconds",
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  },
  rereadTokens: {
    kind: "counter",
    help: "Tokens that providers must read again because something before them changed, by cause. An estimate.",
    prometheus: "plimsoll_reread_tokens_total",
    labels: ["by"],
  },
  ownCalls: {
    kind: "counter",
    help: "Calls of Plimsoll's own tools that Plimsoll answered, by tool.",
    prometheus: "plimsoll_own_calls_total",
    labels: ["tool", "failed"],
  },
  toolsDeferred: {
    kind: "counter",
    help: "Tools that were deferred, counted once for each conversation and tool.",
    prometheus: "plimsoll_tools_deferred_total",
  },
  overflows: {
    kind: "counter",
    help: "Requests that a provider found too long. The label says whether Plimsoll then sent a smaller one.",
    prometheus: "plimsoll_overflows_total",
    labels: ["retried"],
  },
  degraded: {
    kind: "counter",
    help: "Failures inside Plimsoll, by the fallback that was used for the request.",
    prometheus: "plimsoll_degraded_total",
    labels: ["rung"],
  },
  validatorRejections: {
    kind: "counter",
    help: "Views that the validator rejected, by the first rule that they broke.",
    prometheus: "plimsoll_validator_rejections_total",
    labels: ["rule"],
  },
  storeErrors: {
    kind: "counter",
    help: "Commits that failed. Plimsoll keeps them and tries again.",
    prometheus: "plimsoll_store_errors_total",
  },
  turnTokens: {
    kind: "histogram",
    help: "Tokens of a turn that the provider reported, by type.",
    buckets: tokenBuckets,
    otel: { name: "gen_ai.client.token.usage", unit: "{token}" },
  },
  turnSeconds: {
    kind: "histogram",
    help: "Time from the arrival of a request to the end of its answer.",
    buckets: secondBuckets,
    otel: { name: "gen_ai.client.operation.duration", unit: "s" },
  },
} as const satisfies Readonly<Record<string, Figure>>;

export type FigureName = keyof typeof figures;

export const allFigures: readonly (readonly [FigureName, Figure])[] = Object.entries(
  figures,
) as never;
