/**
 * All tests of the package. Those of the sources share their modules: they change nothing that is global. Those in `test` and
 * `demo` start programs. Child processes start slowly on a busy machine: generous limits, no retries.
 */

import { defineConfig } from "vitest/config";
import { isSoak } from "./test/harness/effort.ts";
import { SlowestFiles } from "./test/harness/slowest-files.ts";

const limits = isSoak
  ? { testTimeout: 7_200_000, hookTimeout: 7_200_000 }
  : { testTimeout: 60_000, hookTimeout: 60_000 };

// biome-ignore lint/style/noDefaultExport: vitest asks for it.
export default defineConfig({
  root: import.meta.dirname,
  test: {
    maxWorkers: 2,
    reporters: ["default", new SlowestFiles()],
    projects: [
      {
        extends: true,
        test: {
          ...limits,
          name: "sources",
          isolate: false,
          include: ["src/**/*.test.ts", "../../apps/dashboard/src/**/*.test.ts"],
        },
      },
      {
        extends: true,
        test: {
          ...limits,
          name: "programs",
          include: ["test/**/*.test.ts", "demo/**/*.test.ts"],
        },
      },
    ],
  },
});
