/** The figures for OpenTelemetry: all figures in the table that have an OpenTelemetry name. */

import type { Attributes, Meter } from "@opentelemetry/api";
import type { Engine } from "../../engine.ts";
import type { Upstreams } from "./attributes.ts";
import { allFigures, type Figure, type FigureName } from "./figure-table.ts";
import { createFigureReader, type Labels } from "./figures-of-events.ts";

export interface FiguresWorld {
  readonly meter: Meter;
  readonly upstreams: Upstreams;
}

type Take = (value: number, attributes: Attributes) => void;

export function recordFigures(
  engine: Pick<Engine, "subscribe">,
  { meter, upstreams }: FiguresWorld,
): { readonly close: () => void } {
  const takes = new Map<FigureName, (value: number, labels: Labels) => void>(
    allFigures.flatMap(([name, figure]) => {
      const take = instrumentOf(figure, meter);
      if (take === undefined) return [];
      return [[name, (value: number, labels: Labels) => take(value, renamed(labels, figure))]];
    }),
  );
  const read = createFigureReader(new Set(upstreams.keys()), upstreams);
  const close = engine.subscribe(({ event }) => {
    for (const { figure, value, labels = {} } of read(event)) takes.get(figure)?.(value, labels);
  });
  return { close };
}

function instrumentOf({ kind, help, otel, buckets = [] }: Figure, meter: Meter): Take | undefined {
  if (otel === undefined) return undefined;
  const shape = { description: help, unit: otel.unit };
  switch (kind) {
    case "counter": {
      const counter = meter.createCounter(otel.name, shape);
      return (value, attributes) => counter.add(value, attributes);
    }
    case "gauge": {
      const gauge = meter.createGauge(otel.name, shape);
      return (value, attributes) => gauge.record(value, attributes);
    }
    case "histogram": {
      const advice = { explicitBucketBoundaries: [...buckets] };
      const histogram = meter.createHistogram(otel.name, { ...shape, advice });
      return (value, attributes) => histogram.record(value, attributes);
    }
  }
}

function renamed(labels: Labels, { otel }: Figure): Attributes {
  const names = Object.entries(labels).map(([name, value]) => [
    otel?.attributes?.[name] ?? name,
    value,
  ]);
  return Object.fromEntries(names) as Attributes;
}
