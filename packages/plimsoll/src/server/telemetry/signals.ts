/** The interface between telemetry and the rest of the service. */

import type { Engine } from "../../engine.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Whether all data reached the collector. unsent: the collector did not accept everything in time, and an exporter may still be
 * trying.
 */
export type Flushed = "sent" | "unsent";

export interface Signals {
  readonly hasTraces: boolean;
  readonly hasMetrics: boolean;
}

export interface Telemetry {
  /** Call this after the last event has been emitted. Contract: never rejects, and returns soon. */
  close(): Promise<Flushed>;
}

export interface TelemetryOptions {
  readonly engine: Pick<Engine, "store" | "subscribe">;
  /** The base URL of each provider, by its name. */
  readonly upstreams: ReadonlyMap<string, { readonly baseUrl: string }>;
  readonly version: string;
  readonly env: Environment;
  readonly warn: (message: string) => void;
}
