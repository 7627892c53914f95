/** OpenTelemetry figures of turns and compactions. They have no session ids as attributes. */

import type { Attributes, Meter } from "@opentelemetry/api";
import type { Engine } from "../../engine.ts";
import type { PlimsollEvent, TurnEndEvent } from "../../message/event.ts";
import { errorType, operationAttributes, type Upstreams } from "./attributes.ts";
import { boundedNames, maxModels } from "./metrics-labels.ts";

/** The convention's buckets: powers of four for tokens, and doubling hundredths of a second. */
const tokenBuckets = Array.from({ length: 14 }, (_, power) => 4 ** power);
const secondBuckets = Array.from({ length: 14 }, (_, power) => 2 ** power / 100);

/** Maximum number of concurrent turns to track. The duration of further turns is not recorded. */
const maxRunning = 10_000;

export interface FiguresWorld {
  readonly meter: Meter;
  readonly upstreams: Upstreams;
}

export function recordFigures(
  engine: Pick<Engine, "subscribe">,
  { meter, upstreams }: FiguresWorld,
): { readonly close: () => void } {
  const tokens = meter.createHistogram("gen_ai.client.token.usage", {
    description: "Tokens that providers reported for a turn, by type.",
    unit: "{token}",
    advice: { explicitBucketBoundaries: tokenBuckets },
  });
  const duration = meter.createHistogram("gen_ai.client.operation.duration", {
    description: "Time from a request's arrival to the end of its answer.",
    unit: "s",
    advice: { explicitBucketBoundaries: secondBuckets },
  });
  const compactions = meter.createCounter("plimsoll.compaction.count", {
    description: "Compactions by reason.",
    unit: "{compaction}",
  });
  const modelOf = boundedNames(maxModels);
  const startedAt = new Map<string, number>();

  const countTurn = (event: TurnEndEvent): void => {
    const common = operationAttributes({ ...event, model: modelOf(event.model) }, upstreams);
    const { usage, at, turn } = event;
    const started = startedAt.get(turn);
    startedAt.delete(turn);
    if (started !== undefined) duration.record((at - started) / 1000, withError(common, event));
    if (usage === undefined) return;
    tokens.record(usage.inputTokens, { ...common, "gen_ai.token.type": "input" });
    tokens.record(usage.outputTokens, { ...common, "gen_ai.token.type": "output" });
  };
  const take = (event: PlimsollEvent): void => {
    if (event.type === "turn-start" && startedAt.size < maxRunning)
      startedAt.set(event.turn, event.at);
    else if (event.type === "turn-end") countTurn(event);
    else if (event.type === "compaction-end")
      compactions.add(1, { "plimsoll.compaction.reason": event.reason });
  };
  return { close: engine.subscribe(({ event }) => take(event)) };
}

function withError(common: Attributes, event: TurnEndEvent): Attributes {
  const error = errorType(event);
  return error === undefined ? common : { ...common, "error.type": error };
}
