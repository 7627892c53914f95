import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tries } from "../../test/harness/effort.ts";
import {
  type ByComponent,
  type Calibration,
  corrected,
  observe,
  restored,
  uncalibrated,
} from "./calibrate.ts";
import type { Count } from "./tokenizer.ts";

const talk = (conversation: number): ByComponent => ({ system: 0, tools: 0, conversation });
const realOf = (estimated: ByComponent, truth: ByComponent): number =>
  Math.round(
    estimated.system * truth.system +
      estimated.tools * truth.tools +
      estimated.conversation * truth.conversation,
  );
const projected = ({ factors }: Calibration, estimated: ByComponent): number =>
  realOf(estimated, factors);

describe("calibration", () => {
  it("stays within reason, whatever is reported", () => {
    const any = fc.oneof(fc.double(), fc.integer(), fc.constantFrom(0, -1, Number.NaN, Infinity));
    const report = fc.tuple(any, any, any, any);
    fc.assert(
      fc.property(fc.array(report, { maxLength: 50 }), (reports) => {
        let known = uncalibrated;
        for (const [system, tools, conversation, reported] of reports)
          known = observe(known, { system, tools, conversation }, reported);
        for (const factor of [known.factor, ...Object.values(known.factors)]) {
          expect(factor).toBeGreaterThanOrEqual(0.1);
          expect(factor).toBeLessThanOrEqual(3);
        }
      }),
      {
        ...tries({ runs: 300, seed: 1865898986 }),
        examples: [[[[0, 0, 3.35e155, 3.35e155]]], [[[1e200, -1e200, 5000, 5000]]]],
      },
    );
  });

  it("remembers the words that took most tokens, also when it was stored", () => {
    const reports = [1000, 1600, 1870];
    const known = reports.reduce(
      (before, reported, index) => observe(before, talk(1000 + index * 500), reported),
      uncalibrated,
    );
    expect(known.steepest).toBe(1.2);
    expect(restored(known).steepest).toBe(1.2);
  });

  it("believes the first report at once", () => {
    const { factors, factor, samples } = observe(uncalibrated, talk(1000), 1400);
    expect(factors.conversation).toBeCloseTo(1.4, 5);
    expect([factor, samples]).toEqual([1.4, 1]);
  });

  it("tells a head that was estimated too high from a conversation that was not", () => {
    const truth = { system: 1, tools: 0.45, conversation: 1 };
    let known = uncalibrated;
    for (let turn = 0; turn < 6; turn++) {
      const estimated = { system: 3000, tools: 24_000, conversation: 1000 + turn * 2500 };
      known = observe(known, estimated, realOf(estimated, truth));
    }
    expect(known.factors.conversation).toBeCloseTo(1, 1);
    const compacted = { system: 3000, tools: 24_000, conversation: 4000 };
    expect(projected(known, compacted) / realOf(compacted, truth)).toBeCloseTo(1, 1);
  });

  it("projects what is added within a tenth after a few reports, whatever each part was off by", () => {
    const off = fc.double({ min: 0.4, max: 2.5, noNaN: true });
    const truths = fc.record({ system: off, tools: off, conversation: off });
    const sizes = fc.record({
      system: fc.integer({ min: 500, max: 20_000 }),
      tools: fc.integer({ min: 0, max: 30_000 }),
      step: fc.integer({ min: 800, max: 6000 }),
    });
    fc.assert(
      fc.property(truths, sizes, (truth, { system, tools, step }) => {
        let known = uncalibrated;
        const at = (turn: number): ByComponent => ({
          system,
          tools,
          conversation: 400 + turn * step,
        });
        for (let turn = 0; turn < 5; turn++)
          known = observe(known, at(turn), realOf(at(turn), truth));
        const grown = known.factors.conversation / truth.conversation;
        expect(grown).toBeGreaterThan(0.9);
        expect(grown).toBeLessThan(1.1);
      }),
    );
  });

  it("ignores reports on small requests and reports of nothing", () => {
    const known = observe(uncalibrated, talk(1000), 1200);
    expect(observe(known, talk(199), 1000)).toBe(known);
    expect(observe(known, talk(1000), 0)).toBe(known);
    expect(observe(known, talk(Number.NaN), 1000)).toBe(known);
  });

  it("begins anew after a report that cannot be meant", () => {
    const known = observe(uncalibrated, talk(1000), 1200);
    expect(observe(known, talk(1000), 90)).toEqual(uncalibrated);
    expect(observe(known, talk(1000), 3100)).toEqual(uncalibrated);
  });

  it("goes as low as the reports say", () => {
    let known = uncalibrated;
    for (let turn = 1; turn < 8; turn++) known = observe(known, talk(turn * 2000), turn * 500);
    expect(known.factors.conversation).toBeCloseTo(0.25, 2);
  });

  it("is taken up again from what older versions stored", () => {
    expect(restored({ factor: 1.3, samples: 4 }).factors).toEqual({
      system: 1.3,
      tools: 1.3,
      conversation: 1.3,
    });
  });

  it("scales an estimate both ways", () => {
    const count: Count = { tokens: 1000, certainty: "estimate" };
    expect(corrected(count, 1.5)).toEqual({ tokens: 1500, certainty: "estimate" });
    expect(corrected(count, 0.2)).toEqual({ tokens: 200, certainty: "estimate" });
    expect(corrected(count, 1)).toEqual(count);
  });

  it("lowers an exact count, too, but by no more than half, and then it is one no more", () => {
    const count = fc.record({
      tokens: fc.nat(),
      certainty: fc.constantFrom("exact" as const, "bound" as const),
    });
    fc.assert(
      fc.property(count, fc.double({ min: 0, max: 3, noNaN: true }), (before, factor) => {
        const after = corrected(before, factor);
        expect(after.tokens).toBe(Math.ceil(before.tokens * Math.max(0.5, factor)));
        const isSame = after.tokens === before.tokens;
        expect(after.certainty).toBe(isSame ? before.certainty : "estimate");
      }),
    );
  });
});
