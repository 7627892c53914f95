import { expect, test } from "vitest";
import { thresholdsOf } from "../config/limits.ts";
import { configJsonSchema } from "../config/schema.ts";
import { usualSettings } from "../watch/row-state.ts";
import { usualThresholds } from "./thresholds.ts";

test("a warning comes before a compaction, and a compaction before one is forced", () => {
  const { warn, compact, block } = usualThresholds;
  expect([warn, compact, block]).toEqual([0.8, 0.95, 0.98]);
});

test("guard, screens and the reference of the configuration go by the same figures", () => {
  expect(thresholdsOf({})).toEqual(usualThresholds);
  expect(usualSettings.warningThreshold).toBe(usualThresholds.warn);
  const reference = JSON.stringify(configJsonSchema());
  expect(reference).toContain("are warned. Default: 0.8.");
  expect(reference).toContain("compacted. Default: 0.95.");
  expect(reference).toContain("whatever it costs. Default: 0.98.");
});
