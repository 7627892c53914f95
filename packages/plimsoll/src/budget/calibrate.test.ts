import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Calibration, corrected, observe, uncalibrated } from "./calibrate.ts";
import type { Count } from "./tokenizer.ts";

const anyNumber = fc.oneof(fc.double(), fc.integer(), fc.constantFrom(0, -1, Number.NaN, Infinity));
const report = fc.tuple(anyNumber, anyNumber);
const observed = (reports: readonly (readonly [number, number])[]): Calibration =>
  reports.reduce(
    (known, [estimated, reported]) => observe(known, estimated, reported),
    uncalibrated,
  );

describe("calibration", () => {
  it("stays between a half and three, whatever is reported", () => {
    fc.assert(
      fc.property(fc.array(report, { maxLength: 50 }), (reports) => {
        const { factor } = observed(reports);
        expect(factor).toBeGreaterThanOrEqual(0.5);
        expect(factor).toBeLessThanOrEqual(3);
      }),
    );
  });

  it("comes to the ratio that is reported, whatever was reported before", () => {
    const honest = fc.tuple(
      fc.integer({ min: 200, max: 1_000_000 }),
      fc.integer({ min: 1, max: 2_000_000 }),
    );
    fc.assert(
      fc.property(
        fc.array(honest, { maxLength: 20 }),
        fc.double({ min: 0.5, max: 3, noNaN: true }),
        (past, ratio) => {
          const steady = Array.from({ length: 40 }, () => [10_000, 10_000 * ratio] as const);
          expect(observed([...past, ...steady]).factor).toBeCloseTo(ratio, 2);
        },
      ),
    );
  });

  it("believes the first report at once and a single outlier little", () => {
    const first = observe(uncalibrated, 1000, 1400);
    expect(first).toEqual({ factor: 1.4, samples: 1 });
    const settled = observed(Array.from({ length: 10 }, () => [1000, 1400] as const));
    expect(observe(settled, 1000, 2800).factor).toBeCloseTo(1.68, 5);
  });

  it("ignores reports on small requests and reports of nothing", () => {
    const known: Calibration = { factor: 1.2, samples: 3 };
    expect(observe(known, 199, 1000)).toBe(known);
    expect(observe(known, 1000, 0)).toBe(known);
    expect(observe(known, Number.NaN, 1000)).toBe(known);
  });

  it("scales an estimate both ways", () => {
    const count: Count = { tokens: 1000, certainty: "estimate" };
    expect(corrected(count, { factor: 1.5, samples: 9 })).toEqual({
      tokens: 1500,
      certainty: "estimate",
    });
    expect(corrected(count, { factor: 0.8, samples: 9 })).toEqual({
      tokens: 800,
      certainty: "estimate",
    });
    expect(corrected(count, uncalibrated)).toEqual(count);
  });

  it("never lowers an exact count or a bound, and a bound stays one", () => {
    const count = fc.record({
      tokens: fc.nat(),
      certainty: fc.constantFrom("exact" as const, "bound" as const),
    });
    fc.assert(
      fc.property(count, fc.double({ min: 0, max: 10, noNaN: true }), (before, factor) => {
        const after = corrected(before, { factor, samples: 1 });
        expect(after.tokens).toBeGreaterThanOrEqual(before.tokens);
        expect(after.tokens).toBeLessThanOrEqual(before.tokens * 3);
        if (before.certainty === "bound") expect(after.certainty).toBe("bound");
        if (after.tokens > before.tokens) expect(after.certainty).not.toBe("exact");
      }),
    );
  });
});
