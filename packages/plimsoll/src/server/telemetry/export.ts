/**
 * Sends events to a collector, through the providers and OTLP exporters of the OpenTelemetry SDK. The exporters read their own
 * environment variables.
 */

import { type DiagLogger, DiagLogLevel, diag, metrics, trace } from "@opentelemetry/api";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import {
  defaultResource,
  detectResources,
  type Resource,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceInstanceIdDetector,
  serviceNameEnvDetector,
} from "@opentelemetry/resources";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { withTimeout } from "../../workers/with-timeout.ts";
import { contentReader } from "./content.ts";
import { recordFigures } from "./figures.ts";
import type { Environment, Flushed, Signals, Telemetry, TelemetryOptions } from "./signals.ts";
import { recordSpans } from "./spans.ts";

/** Maximum time to send the remaining data when the service stops. An unreachable collector must not delay the shutdown. */
const flushMs = 1500;

export function startExport(options: TelemetryOptions, signals: Signals): Telemetry {
  const { engine, upstreams, version, env, warn } = options;
  diag.setLogger(sayOnce(warn), {
    logLevel: DiagLogLevel.WARN,
    suppressOverrideMessage: true,
  });
  if (env["OTEL_EXPORTER_OTLP_PROTOCOL"] === "grpc")
    warn("telemetry is sent as OTLP over HTTP, not gRPC. Configure the collector's HTTP endpoint.");
  const resource = resourceOf(version);
  const tracing = signals.hasTraces ? openTracing(resource, env) : undefined;
  const metering = signals.hasMetrics ? openMetering(resource, env) : undefined;
  const isCapturing = env["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] === "true";
  const spans = recordSpans(engine, {
    tracer: (tracing ?? trace).getTracer("plimsoll", version),
    upstreams,
    ...(isCapturing ? { content: contentReader(engine.store) } : {}),
  });
  const figures = recordFigures(engine, {
    meter: (metering ?? metrics).getMeter("plimsoll", version),
    upstreams,
  });
  return {
    close: () => {
      figures.close();
      const ended = spans.close().then(() => tracing?.shutdown());
      const flushed = Promise.allSettled([ended, metering?.shutdown()]).then((): Flushed => "sent");
      return withTimeout(flushed, flushMs, (): Flushed => "unsent");
    },
  };
}

/** The description of this service. Attributes that operators set override the service's own. */
function resourceOf(version: string): Resource {
  const own = { "service.name": "plimsoll", "service.version": version };
  const detectors = [
    serviceInstanceIdDetector,
    resourceAttributesEnvDetector,
    serviceNameEnvDetector,
  ];
  return defaultResource().merge(resourceFromAttributes(own)).merge(detectResources({ detectors }));
}

/** The processor's queue is bounded (2048 spans by default). Spans that do not fit are dropped. */
function openTracing(resource: Resource, env: Environment): TracerProvider {
  const delay = positive(env["OTEL_BSP_SCHEDULE_DELAY"]);
  const processor = new BatchSpanProcessor({
    exporter: new OTLPTraceExporter(),
    ...(delay === undefined ? {} : { scheduledDelayMillis: delay }),
  });
  return new TracerProvider({ resource, spanProcessors: [processor] });
}

function openMetering(resource: Resource, env: Environment): MeterProvider {
  const interval = positive(env["OTEL_METRIC_EXPORT_INTERVAL"]);
  const reader = new PeriodicExportingMetricReader({
    exporter: new OTLPMetricExporter(),
    ...(interval === undefined ? {} : { exportIntervalMillis: interval }),
  });
  return new MeterProvider({ resource, readers: [reader] });
}

function positive(text: string | undefined): number | undefined {
  const value = Number(text);
  return Number.isInteger(value) && value > 0 ? value : undefined;
}

/** Maximum number of characters of a reason in a warning. */
const longestReason = 300;
/** Maximum number of different warnings. Each is printed once, because an unreachable collector must not fill the log. */
const maxSentences = 5;

function sayOnce(warn: (message: string) => void): DiagLogger {
  const printed = new Set<string>();
  const say = (what: string, message: string): void => {
    const sentence = `${what}: ${reasonIn(message)} (reported only once)`;
    if (printed.has(sentence) || printed.size >= maxSentences) return;
    printed.add(sentence);
    warn(sentence);
  };
  const quiet = (): void => undefined;
  return {
    error: (message) => say("telemetry could not be exported", message),
    warn: (message) => say("telemetry", message),
    info: quiet,
    debug: quiet,
    verbose: quiet,
  };
}

/** The SDK reports errors as JSON with all their fields. Their message is enough. */
function reasonIn(message: string): string {
  const quoted = /"message":"((?:[^"\\]|\\.)+)"/.exec(message)?.[1];
  const code = /"code":"(\w+)"/.exec(message)?.[1];
  return (quoted ?? code ?? message).slice(0, longestReason);
}
