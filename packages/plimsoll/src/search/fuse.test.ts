import fc from "fast-check";
import { expect, test } from "vitest";
import { tries } from "../../test/harness/effort.ts";
import { calibrate, fuseScores } from "./fuse.ts";

test("scores of any scale count by their weight", () => {
  const words = { scores: Float64Array.of(20, 10, 0), weight: 1 };
  const meaning = { scores: Float64Array.of(0.1, 0.4, 0.4), weight: 0.5 };
  expect([...fuseScores([words, meaning])]).toEqual([1.125, 1, 0.5]);
});

test("a make that found nothing, or no make at all, changes nothing", () => {
  const words = { scores: Float64Array.of(2, 1), weight: 1 };
  const nothing = { scores: new Float64Array(2), weight: 1 };
  expect([...fuseScores([words, nothing])]).toEqual([1, 0.5]);
  expect(fuseScores([]).length).toBe(0);
});

test("relevance is the rank within the set, whatever scale the scores had", () => {
  expect(calibrate([0.2, 0.9, 0.5])).toEqual([0, 1, 0.5]);
  expect(calibrate([200, 900, 201])).toEqual([0, 1, 0.5]);
  expect(calibrate([1, 3, 3, 9])).toEqual([0, 0.5, 0.5, 1]);
});

test("one score, or equal ones, say nothing", () => {
  expect(calibrate([])).toEqual([]);
  expect(calibrate([4])).toEqual([0.5]);
  expect(calibrate([2, 2, 2])).toEqual([0.5, 0.5, 0.5]);
});

test("calibration keeps the order and stays within 0…1", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -50, max: 50 }), { maxLength: 40 }), (scores) => {
      const calibrated = calibrate(scores);
      for (const [a, left] of scores.entries()) {
        expect(calibrated[a]).toBeGreaterThanOrEqual(0);
        expect(calibrated[a]).toBeLessThanOrEqual(1);
        for (const [b, right] of scores.entries()) {
          const difference = (calibrated[a] ?? 0) - (calibrated[b] ?? 0);
          expect(Math.sign(difference)).toBe(Math.sign(left - right));
        }
      }
    }),
    tries({ runs: 100, seed: 5 }),
  );
});
