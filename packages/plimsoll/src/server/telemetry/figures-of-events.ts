/** Turns events into figures, for both Prometheus and OpenTelemetry. Labels never contain session ids. */

import type {
  CompactionEndEvent,
  DegradedEvent,
  PlimsollEvent,
  TurnEndEvent,
} from "../../message/event.ts";
import { savedTokensOf } from "../../prompt/saved.ts";
import { brokenRule } from "../../session/draft/validate-view.ts";
import { errorType, operationAttributes, type Upstreams } from "./attributes.ts";
import type { FigureName } from "./figure-table.ts";
import { boundedNames, maxModels, oneOf } from "./metrics-labels.ts";

export type Labels = Readonly<Record<string, string | number>>;

/** A value for a figure. A counter grows by the value, a gauge is set to it, and a histogram records it. */
export interface Sample {
  readonly figure: FigureName;
  readonly value: number;
  readonly labels?: Labels;
}

/** Contract: called once for every event, in order. */
export type ReadFigures = (event: PlimsollEvent) => readonly Sample[];

/** Maximum number of running turns to remember. For further turns, neither the duration nor a failure of Plimsoll is known. */
const maxRunning = 10_000;

/** Data about turns that have not ended. */
interface Running {
  readonly startedAt: Map<string, number>;
  readonly degraded: Set<string>;
}

interface Naming {
  readonly providerOf: (name: string | undefined) => string;
  readonly modelOf: (name: string) => string;
  readonly upstreams: Upstreams;
}

/** Providers that are not in `providers` all share one label. */
export function createFigureReader(
  providers: ReadonlySet<string>,
  upstreams: Upstreams = new Map(),
): ReadFigures {
  const running: Running = { startedAt: new Map(), degraded: new Set() };
  const naming: Naming = {
    providerOf: oneOf(providers),
    modelOf: boundedNames(maxModels),
    upstreams,
  };
  return (event) => {
    switch (event.type) {
      case "turn-start":
        if (running.startedAt.size < maxRunning) running.startedAt.set(event.turn, event.at);
        return [];
      case "turn-end":
        return turnSamples(event, naming, endOf(event, running));
      case "compaction-end":
        return compactionSamples(event);
      case "degraded":
        // With the fallback `view`, Plimsoll sends the last valid view, so the turn is not counted as sent unchanged.
        if (event.rung !== "view" && running.degraded.size < maxRunning)
          running.degraded.add(event.turn);
        return degradedSamples(event);
      default:
        return plainSamples(event);
    }
  };
}

function sample(figure: FigureName, value: number | undefined, labels?: Labels): Sample {
  // A counter throws if it gets a negative value. So a negative value, or one that is not a number, becomes 0.
  const amount = value !== undefined && Number.isFinite(value) ? Math.max(0, value) : 0;
  return labels === undefined ? { figure, value: amount } : { figure, value: amount, labels };
}

interface TurnEnd {
  readonly hasFailed: boolean;
  /** Duration of the turn. Undefined if the start of the turn was not seen. */
  readonly seconds: number | undefined;
}

function endOf({ turn, at }: TurnEndEvent, { startedAt, degraded }: Running): TurnEnd {
  const started = startedAt.get(turn);
  startedAt.delete(turn);
  const seconds = started === undefined ? undefined : (at - started) / 1000;
  return { hasFailed: degraded.delete(turn), seconds };
}

function turnSamples(event: TurnEndEvent, naming: Naming, end: TurnEnd): readonly Sample[] {
  const { provider, outcome, status, measurement } = event;
  const components = ["system", "skills", "tools", "conversation"] as const;
  const model = naming.modelOf(event.model);
  return [
    sample("requests", 1, { provider: naming.providerOf(provider), outcome, status }),
    ...(outcome === "passthrough"
      ? [sample("passthrough", 1, { reason: passedBecause(event, end.hasFailed) })]
      : []),
    sample("tokensSaved", savedTokensOf({ ...event, tokensAfter: measurement.total })),
    ...components.map((component) =>
      sample("contextTokens", measurement[component], { component }),
    ),
    sample("savedUsd", event.savedUsd),
    event.usd === undefined ? sample("unpricedTurns", 1) : sample("costUsd", event.usd, { model }),
    ...usageSamples(event),
    ...operationSamples({ ...event, model }, naming.upstreams, end),
  ];
}

function passedBecause({ measurement, limit }: TurnEndEvent, hasFailed: boolean): string {
  if (hasFailed) return "failed";
  return measurement.total > limit ? "over_limit" : "fits";
}

function usageSamples({ usage }: TurnEndEvent): readonly Sample[] {
  if (usage === undefined) return [];
  return [
    sample("tokens", usage.inputTokens, { kind: "input" }),
    sample("tokens", usage.outputTokens, { kind: "output" }),
    sample("tokens", usage.cacheReadTokens, { kind: "cache_read" }),
    sample("tokens", usage.cacheWriteTokens, { kind: "cache_write" }),
  ];
}

/** The samples that the GenAI conventions define. */
function operationSamples(
  event: TurnEndEvent,
  upstreams: Upstreams,
  { seconds }: TurnEnd,
): readonly Sample[] {
  const { usage } = event;
  const common = operationAttributes(event, upstreams) as Labels;
  const error = errorType(event);
  const type = "gen_ai.token.type";
  return [
    ...(seconds === undefined
      ? []
      : [
          sample(
            "turnSeconds",
            seconds,
            error === undefined ? common : { ...common, "error.type": error },
          ),
        ]),
    ...(usage === undefined
      ? []
      : [
          sample("turnTokens", usage.inputTokens, { ...common, [type]: "input" }),
          sample("turnTokens", usage.outputTokens, { ...common, [type]: "output" }),
        ]),
  ];
}

function compactionSamples(event: CompactionEndEvent): readonly Sample[] {
  const { reason, tokensAfter, receipt, worth } = event;
  return [
    sample("compactions", 1, { reason }),
    sample("compactionSeconds", receipt.milliseconds / 1000),
    sample("rereadTokens", tokensAfter, { by: "compaction" }),
    sample("compactionUsd", worth?.priceUsd),
  ];
}

function degradedSamples({ rung, reason }: DegradedEvent): readonly Sample[] {
  const rule = brokenRule(reason);
  return [
    sample("degraded", 1, { rung }),
    ...(rule === undefined ? [] : [sample("validatorRejections", 1, { rule })]),
  ];
}

/** The samples of events that can be read without any other event. */
function plainSamples(event: PlimsollEvent): readonly Sample[] {
  switch (event.type) {
    case "own-call":
      return [sample("ownCalls", 1, { tool: event.tool, failed: String(event.isError) })];
    case "tools-deferred":
      return [sample("toolsDeferred", event.deferred)];
    case "tools-loaded":
      return [sample("rereadTokens", event.rereadTokens, { by: "tools" })];
    case "overflow":
      return [sample("overflows", 1, { retried: String(event.isRetried) })];
    case "store-error":
      return [sample("storeErrors", 1)];
    default:
      return [];
  }
}
