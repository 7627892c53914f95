/** Telemetry inside the engine: Plimsoll loads nothing unless somebody asks for it, and counts its own failures. */

import { describe, expect, test, vi } from "vitest";
import { createMetrics } from "../../src/server/telemetry/metrics.ts";
import { openTelemetry, signalsOf } from "../../src/server/telemetry/telemetry.ts";
import type { Finding } from "../../src/wire/validate/validate.ts";
import { requestsOf } from "../generate/conversations.ts";
import { openWith, pass } from "../generate/rehearsal.ts";
import { plainScript } from "../generate/script.ts";
import { figure } from "../harness/metrics-page.ts";

describe("where nobody asks for telemetry", () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318" };

  test.each([
    [{}, false, false],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: " " }, false, false],
    [endpoint, true, true],
    [{ ...endpoint, OTEL_SDK_DISABLED: "TRUE" }, false, false],
    [{ ...endpoint, OTEL_METRICS_EXPORTER: "none" }, true, false],
    [{ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: "http://127.0.0.1:4318/v1/metrics" }, false, true],
  ])("%j exports traces: %s, metrics: %s", (env, hasTraces, hasMetrics) => {
    expect(signalsOf(env)).toEqual({ hasTraces, hasMetrics });
  });

  test("nothing of it is loaded; and what cannot be loaded is said, and does no harm", async () => {
    let loads = 0;
    vi.doMock("../../src/server/telemetry/export.ts", () => {
      loads++;
      return {
        startExport: () => {
          throw new Error("there is no exporter");
        },
      };
    });
    const engine = await openWith(1_500);
    const warnings: string[] = [];
    const warn = (message: string): void => void warnings.push(message);
    const options = { engine, upstreams: new Map(), version: "0", warn };
    expect(await (await openTelemetry({ ...options, env: {} })).close()).toBe("sent");
    expect([loads, warnings]).toEqual([0, []]);
    await openTelemetry({ ...options, env: endpoint });
    expect(loads).toBe(1);
    expect(warnings).toEqual(["telemetry is not exported: there is no exporter"]);
    await engine.close();
    vi.doUnmock("../../src/server/telemetry/export.ts");
  });
});

describe("failures of ours in Prometheus", () => {
  test("a view that the validator refuses is counted by its rule, and the turn that went as it came by why", async () => {
    const findings: readonly Finding[] = [{ rule: "A1", message: "no rule A2 would be broken" }];
    const engine = await openWith(1_500, {
      parts: { validate: ({ original }) => (original === undefined ? [] : findings) },
      config: { context_config: { warning_threshold: 1, recovery_mode: "error" } },
    });
    const metrics = createMetrics(engine, new Set(["openai"]));
    const script = plainScript({ rounds: 20, steps: 2, characters: 300 });
    for (const request of requestsOf("anthropic", script)) await pass(engine, "anthropic", request);
    const page = await metrics.render();
    await engine.close();
    expect(figure(page, 'plimsoll_validator_rejections_total{rule="A1"}')).toBeGreaterThan(0);
    expect(page).not.toContain('rule="A2"');
    expect(figure(page, 'plimsoll_passthrough_total{reason="failed"}')).toBeGreaterThan(0);
    expect(figure(page, 'plimsoll_passthrough_total{reason="fits"}')).toBeGreaterThan(0);
    // A provider that nobody configured is no label.
    expect(page).toMatch(/plimsoll_requests_total\{provider="other",outcome="passthrough"/);
    expect(page).not.toContain('provider="anthropic"');
  });
});
