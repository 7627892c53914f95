/**
 * Every figure, with its name for Prometheus, for OpenTelemetry, or both. A new one is a row here, and a line in `figures-of-events.ts`
 * that says which event makes it. docs/metrics.md lists them.
 */

export interface Figure {
  readonly kind: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly labels?: readonly string[];
  /** Of a histogram. */
  readonly buckets?: readonly number[];
  /** Its name at `/metrics`; absent: it is not there. */
  readonly prometheus?: string;
  /** Absent: it is not exported. */
  readonly otel?: ExportedFigure;
}

export interface ExportedFigure {
  readonly name: string;
  readonly unit: string;
  /** What labels are called there, where they are called something else. */
  readonly attributes?: Readonly<Record<string, string>>;
}

/** As the GenAI convention gives them: powers of four tokens, and hundredths of a second, doubled. */
const tokenBuckets = Array.from({ length: 14 }, (_, power) => 4 ** power);
const secondBuckets = Array.from({ length: 14 }, (_, power) => 2 ** power / 100);

const figures = {
  overheadSeconds: {
    kind: "histogram",
    help: "Time that a request waits in Plimsoll before it goes on.",
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
    help: "Bytes in the archive, unpacked.",
    prometheus: "plimsoll_archive_bytes",
  },
  requests: {
    kind: "counter",
    help: "Turns by provider, outcome and how they ended.",
    prometheus: "plimsoll_requests_total",
    labels: ["provider", "outcome", "status"],
  },
  passthrough: {
    kind: "counter",
    help: "Turns whose conversation went out as the client sent it, by why: fits, over_limit (nothing could be taken out), failed (Plimsoll did).",
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
    help: "Tokens that clients sent and that did not go out, as the provider would count them.",
    prometheus: "plimsoll_tokens_saved_total",
  },
  costUsd: {
    kind: "counter",
    help: "What turns have cost in US dollars, by what providers reported; turns at unknown prices are not in it.",
    prometheus: "plimsoll_cost_usd_total",
    labels: ["model"],
  },
  unpricedTurns: {
    kind: "counter",
    help: "Turns whose cost is unknown: no usage was reported, or no price is known.",
    prometheus: "plimsoll_unpriced_turns_total",
  },
  savedUsd: {
    kind: "counter",
    help: "What clients sent and did not go out, at the price of the cache, in US dollars: an estimate.",
    prometheus: "plimsoll_saved_usd_total",
  },
  compactionUsd: {
    kind: "counter",
    help: "What compactions cost more than the same requests without them, in US dollars: an estimate, where the cache is known.",
    prometheus: "plimsoll_compaction_usd_total",
  },
  compactions: {
    kind: "counter",
    help: "Compactions by what called for them.",
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
    help: "Time from the beginning of a compaction until its edits were stored.",
    prometheus: "plimsoll_compaction_duration_seconds",
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  },
  rereadTokens: {
    kind: "counter",
    help: "Tokens that providers had read and must read again, by what changed before them; estimated.",
    prometheus: "plimsoll_reread_tokens_total",
    labels: ["by"],
  },
  ownCalls: {
    kind: "counter",
    help: "Calls of Plimsoll's own tools that were answered, by tool.",
    prometheus: "plimsoll_own_calls_total",
    labels: ["tool", "failed"],
  },
  toolsDeferred: {
    kind: "counter",
    help: "Tools that were held back, one count per conversation and tool.",
    prometheus: "plimsoll_tools_deferred_total",
  },
  overflows: {
    kind: "counter",
    help: "Requests that a provider found too long, and whether a smaller one was sent instead.",
    prometheus: "plimsoll_overflows_total",
    labels: ["retried"],
  },
  degraded: {
    kind: "counter",
    help: "Failures of Plimsoll's own, by the rung on which the request went on.",
    prometheus: "plimsoll_degraded_total",
    labels: ["rung"],
  },
  validatorRejections: {
    kind: "counter",
    help: "Views that the validator refused, by the rule that they would have broken; of several the first.",
    prometheus: "plimsoll_validator_rejections_total",
    labels: ["rule"],
  },
  storeErrors: {
    kind: "counter",
    help: "Commits that failed and were kept for later.",
    prometheus: "plimsoll_store_errors_total",
  },
  turnTokens: {
    kind: "histogram",
    help: "Tokens that providers reported of a turn, by type.",
    buckets: tokenBuckets,
    otel: { name: "gen_ai.client.token.usage", unit: "{token}" },
  },
  turnSeconds: {
    kind: "histogram",
    help: "Time from a request's arrival to the end of its answer.",
    buckets: secondBuckets,
    otel: { name: "gen_ai.client.operation.duration", unit: "s" },
  },
} as const satisfies Readonly<Record<string, Figure>>;

export type FigureName = keyof typeof figures;

export const allFigures: readonly (readonly [FigureName, Figure])[] = Object.entries(
  figures,
) as never;
