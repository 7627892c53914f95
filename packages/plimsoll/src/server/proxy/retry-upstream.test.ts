/** How long Plimsoll waits before it asks an upstream again, and for which answers. */

import { expect, test } from "vitest";
import { isTemporary, pauseBefore, upstreamPolicy } from "./retry-upstream.ts";

/** The defaults of document A. */
const usual = { attempts: 3, baseMs: 5_000, maxMs: 60_000 };
const now = Date.parse("2026-07-01T12:00:00Z");

test.each([
  ["base 5 s", {}, 0, 5_000],
  ["twice as long after each failure", {}, 2, 20_000],
  ["at most 60 s", {}, 9, 60_000],
  ["as long as the provider says", { "retry-after": "7" }, 0, 7_000],
  ["in milliseconds", { "retry-after-ms": "250", "retry-after": "1" }, 0, 250],
  ["until a date", { "retry-after": "Wed, 01 Jul 2026 12:00:30 GMT" }, 0, 30_000],
  ["until a date that is over", { "retry-after": "Wed, 01 Jul 2026 11:00:00 GMT" }, 0, 0],
  ["never longer than 60 s", { "retry-after": "3600" }, 0, 60_000],
  ["words that say nothing", { "retry-after": "soon" }, 1, 10_000],
])("the pause is %s", (_, headers, failures, pause) => {
  expect(pauseBefore(usual, failures, headers, now)).toBe(pause);
});

test("429, 529 and 5xx may be over soon, other errors not", () => {
  const statuses = [200, 400, 401, 404, 413, 422, 429, 500, 502, 503, 529];
  expect(statuses.filter((status) => isTemporary(status, {}))).toEqual([429, 500, 502, 503, 529]);
  expect(isTemporary(503, { "x-should-retry": "false" })).toBe(false);
});

test("the policy of document A holds for every client with `upstream: always`", () => {
  const documentA = { max_attempts: 3, backoff_base_seconds: 5, max_delay_seconds: 60 };
  const retry = (upstream: "auto" | "always") => ({
    context_config: { retry_policies: { default: documentA, upstream } },
  });
  const counting = { "x-stainless-retry-count": "0" };
  for (const [headers, client] of [
    [{}, undefined],
    [counting, undefined],
    [{}, "codex_cli_rs"],
  ] as const)
    expect(upstreamPolicy(retry("always"), headers, client)).toEqual(usual);
  expect(upstreamPolicy(retry("auto"), counting, undefined)).toBeUndefined();
  expect(upstreamPolicy({}, {}, undefined)).toBeUndefined();
});
