/** Prints the slowest test files after a run. Fails the run if one takes far more than its share of the eight minutes. */

import { stdout } from "node:process";
import type { Reporter, TestModule } from "vitest/node";
import { isSoak } from "./effort.ts";

const PRINTED = 10;
/** Time budget of a file. A slower file should be split, or make fewer runs. */
const BUDGET_MS = 20_000;
/** Machines are noisy, so a run fails only if a file takes many times its budget: then it hangs, or has far too much to do. */
const FAILING_MS = 10 * BUDGET_MS;

export class SlowestFiles implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    if (isSoak || modules.length < PRINTED) return;
    const slowest = modules
      .map((module) => ({ name: module.relativeModuleId, ms: module.diagnostic().duration }))
      .sort((one, other) => other.ms - one.ms)
      .slice(0, PRINTED);
    stdout.write(`\nThe ${PRINTED} slowest files; the budget of one is ${BUDGET_MS / 1000} s:\n`);
    for (const { name, ms } of slowest) {
      const note = ms > BUDGET_MS ? "  over its budget: split it, or let it try less" : "";
      stdout.write(`  ${(ms / 1000).toFixed(1).padStart(5)} s  ${name}${note}\n`);
    }
    const tooSlow = slowest.filter(({ ms }) => ms > FAILING_MS);
    if (tooSlow.length === 0) return;
    stdout.write(
      `More than ${FAILING_MS / 1000} s: ${tooSlow.map(({ name }) => name).join(", ")}\n`,
    );
    process.exitCode = 1;
  }
}
