/** Starts OpenTelemetry if the standard environment variables enable it. Otherwise none of its code is loaded. */

import { errorMessage } from "../../message/error.ts";
import { loadOptional } from "../../message/optional-packages.ts";
import type { Environment, Signals, Telemetry, TelemetryOptions } from "./signals.ts";

const none: Telemetry = { close: () => Promise.resolve("sent") };

/** Contract: never rejects, because the service must run even if telemetry fails. */
export async function openTelemetry(options: TelemetryOptions): Promise<Telemetry> {
  const signals = signalsOf(options.env);
  if (!signals.hasTraces && !signals.hasMetrics) return none;
  const loaded = await loadOptional("telemetry", () => import("./export.ts"));
  if (loaded.kind === "unusable") {
    options.warn(loaded.sentence);
    return none;
  }
  try {
    return loaded.module.startExport(options, signals);
  } catch (error) {
    options.warn(`telemetry is not exported: ${errorMessage(error)}`);
    return none;
  }
}

/**
 * The signals to export. A signal is exported only if an endpoint is configured, because the exporters' own default endpoint
 * would be a guess.
 */
export function signalsOf(env: Environment): Signals {
  const isSet = (name: string): boolean => (env[name]?.trim() ?? "") !== "";
  const is = (name: string, value: string): boolean => env[name]?.trim().toLowerCase() === value;
  const hasSignal = (signal: "TRACES" | "METRICS"): boolean =>
    !is("OTEL_SDK_DISABLED", "true") &&
    !is(`OTEL_${signal}_EXPORTER`, "none") &&
    (isSet("OTEL_EXPORTER_OTLP_ENDPOINT") || isSet(`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`));
  return { hasTraces: hasSignal("TRACES"), hasMetrics: hasSignal("METRICS") };
}
