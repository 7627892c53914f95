/** From events to a collector: the SDK's providers and OTLP exporters, which read their own environment variables. */

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

/** What is left gets this long when the service stops: a collector that is away must not hold it. */
const flushMs = 1500;

export function startExport(options: TelemetryOptions, signals: Signals): Telemetry {
  const { engine, upstreams, version, env, warn } = options;
  diag.setLogger(sayOnce(warn), {
    logLevel: DiagLogLevel.WARN,
    suppressOverrideMessage: true,
  });
  if (env["OTEL_EXPORTER_OTLP_PROTOCOL"] === "grpc")
    warn("telemetry goes out as OTLP over HTTP, not gRPC: give the collector's HTTP endpoint.");
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

/** What operators say of the service stands above what it says of itself. */
function resourceOf(version: string): Resource {
  const own = { "service.name": "plimsoll", "service.version": version };
  const detectors = [
    serviceInstanceIdDetector,
    resourceAttributesEnvDetector,
    serviceNameEnvDetector,
  ];
  return defaultResource().merge(resourceFromAttributes(own)).merge(detectResources({ detectors }));
}

/** The processor's queue is bounded (2048 spans by default): what does not fit is dropped. */
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

/** A reason is read by people: so much of it. */
const longestReason = 300;
/** A collector that stays away must not fill the log: each sentence once, and no more than these. */
const maxSentences = 5;

function sayOnce(warn: (message: string) => void): DiagLogger {
  const printed = new Set<string>();
  const say = (what: string, message: string): void => {
    const sentence = `${what}: ${reasonIn(message)} (not said again)`;
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

/** The SDK tells errors as JSON of all that they have: what they say is enough. */
function reasonIn(message: string): string {
  const quoted = /"message":"((?:[^"\\]|\\.)+)"/.exec(message)?.[1];
  const code = /"code":"(\w+)"/.exec(message)?.[1];
  return (quoted ?? code ?? message).slice(0, longestReason);
}
