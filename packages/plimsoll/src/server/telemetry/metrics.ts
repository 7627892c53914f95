/** The figures for Prometheus. docs/metrics.md lists them. */

import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Engine } from "../../engine.ts";
import { allFigures, type Figure, type FigureName } from "./figure-table.ts";
import { createFigureReader, type Labels } from "./figures-of-events.ts";

export interface Metrics {
  render(): Promise<string>;
  readonly contentType: string;
  /** Records the seconds from the arrival of a request's last byte until the request is sent to the upstream. */
  observeOverhead(seconds: number): void;
}

type Take = (value: number, labels: Labels) => void;

/** Providers that are not in `providers` all share one label. */
export function createMetrics(engine: Engine, providers: ReadonlySet<string>): Metrics {
  const registry = new Registry();
  const takes = new Map<FigureName, Take>(
    allFigures.flatMap(([name, figure]) => {
      const take = instrumentOf(figure, registry);
      return take === undefined ? [] : [[name, take] as const];
    }),
  );
  const take = (figure: FigureName, value: number, labels: Labels = {}): void =>
    takes.get(figure)?.(value, labels);
  const read = createFigureReader(providers);
  engine.subscribe(({ event }) => {
    for (const { figure, value, labels } of read(event)) take(figure, value, labels);
  });
  return {
    contentType: registry.contentType,
    observeOverhead: (seconds) => take("overheadSeconds", seconds),
    render: async () => {
      const { sessions, archiveBytes } = await engine.store.figures();
      take("sessions", sessions);
      take("archiveBytes", archiveBytes);
      const { tasks, openTickets } = await engine.work.counts();
      for (const [status, count] of Object.entries(tasks)) take("tasks", count, { status });
      take("openTickets", openTickets);
      for (const [kind, bytes] of Object.entries(engine.inspect.memory()))
        take("memoryBytes", bytes, { kind });
      return registry.metrics();
    },
  };
}

function instrumentOf(figure: Figure, registry: Registry): Take | undefined {
  const { prometheus: name, help, labels: labelNames = [], buckets = [] } = figure;
  if (name === undefined) return undefined;
  const shape = { name, help, labelNames: [...labelNames], registers: [registry] };
  switch (figure.kind) {
    case "counter": {
      const counter = new Counter(shape);
      return (value, labels) => counter.inc(labels, value);
    }
    case "gauge": {
      const gauge = new Gauge(shape);
      return (value, labels) => gauge.set(labels, value);
    }
    case "histogram": {
      const histogram = new Histogram({ ...shape, buckets: [...buckets] });
      return (value, labels) => histogram.observe(labels, value);
    }
  }
}
