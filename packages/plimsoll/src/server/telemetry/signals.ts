/** What telemetry is to the rest of the service. */

import type { Engine } from "../../engine.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** unsent: the collector did not take everything in time, and an exporter may still be trying. */
export type Flushed = "sent" | "unsent";

export interface Signals {
  readonly hasTraces: boolean;
  readonly hasMetrics: boolean;
}

export interface Telemetry {
  /** Contract: never rejects, and does not take long. Events must have ended before. */
  close(): Promise<Flushed>;
}

export interface TelemetryOptions {
  readonly engine: Pick<Engine, "store" | "subscribe">;
  /** Where the requests of each provider go, by its name. */
  readonly upstreams: ReadonlyMap<string, { readonly baseUrl: string }>;
  readonly version: string;
  readonly env: Environment;
  readonly warn: (message: string) => void;
}
