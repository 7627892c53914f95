/** OpenTelemetry where the standard environment variables ask for it; else nothing of it is loaded. */

import { errorMessage } from "../../message/error.ts";
import type { Plimsoll } from "../../plimsoll.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export interface TelemetryOptions {
  readonly plimsoll: Pick<Plimsoll, "store" | "subscribe">;
  /** Where the requests of each provider go, by its name. */
  readonly upstreams: ReadonlyMap<string, { readonly baseUrl: string }>;
  readonly version: string;
  readonly env: Environment;
  readonly warn: (message: string) => void;
}

export interface Signals {
  readonly hasTraces: boolean;
  readonly hasMetrics: boolean;
}

/** unsent: the collector did not take everything in time, and an exporter may still be trying. */
export type Flushed = "sent" | "unsent";

export interface Telemetry {
  /** Contract: never rejects, and does not take long. Events must have ended before. */
  close(): Promise<Flushed>;
}

const none: Telemetry = { close: () => Promise.resolve("sent") };

/** Contract: never rejects; a service without telemetry is better than none. */
export async function openTelemetry(options: TelemetryOptions): Promise<Telemetry> {
  const signals = signalsOf(options.env);
  if (!signals.hasTraces && !signals.hasMetrics) return none;
  try {
    const { startExport } = await import("./export.ts");
    return startExport(options, signals);
  } catch (error) {
    options.warn(`no telemetry is exported: ${errorMessage(error)}`);
    return none;
  }
}

/** A signal is exported where somebody said where to: the exporters' own default would be a guess. */
export function signalsOf(env: Environment): Signals {
  const isSet = (name: string): boolean => (env[name]?.trim() ?? "") !== "";
  const is = (name: string, value: string): boolean => env[name]?.trim().toLowerCase() === value;
  const hasSignal = (signal: "TRACES" | "METRICS"): boolean =>
    !is("OTEL_SDK_DISABLED", "true") &&
    !is(`OTEL_${signal}_EXPORTER`, "none") &&
    (isSet("OTEL_EXPORTER_OTLP_ENDPOINT") || isSet(`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`));
  return { hasTraces: hasSignal("TRACES"), hasMetrics: hasSignal("METRICS") };
}
