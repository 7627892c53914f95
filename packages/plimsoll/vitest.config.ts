/**
 * All tests of the package. Test files share a worker's modules, because they change nothing global. Only those in `test/engine`
 * do, so each has a worker of its own. Child processes start slowly on a busy machine, so the limits are generous.
 */

import { defineConfig } from "vitest/config";
import { packageSources } from "../../apps/dashboard/package-sources.ts";
import { isSoak } from "./test/harness/effort.ts";
import { SlowestFiles } from "./test/harness/slowest-files.ts";

const limits = isSoak
  ? { testTimeout: 7_200_000, hookTimeout: 7_200_000 }
  : { testTimeout: 60_000, hookTimeout: 60_000 };

// biome-ignore lint/style/noDefaultExport: vitest asks for it.
export default defineConfig({
  root: import.meta.dirname,
  test: {
    // One more than the two cores that `npm test` is made for: tests often wait, for a child process or for the disk.
    maxWorkers: 3,
    globalSetup: "test/harness/build-package.ts",
    reporters: ["default", new SlowestFiles()],
    projects: [
      {
        extends: true,
        test: {
          ...limits,
          name: "sources",
          alias: [...packageSources],
          isolate: false,
          include: ["src/**/*.test.ts", "../../apps/dashboard/src/**/*.test.ts"],
        },
      },
      {
        extends: true,
        test: {
          ...limits,
          name: "programs",
          isolate: false,
          include: ["test/*.test.ts", "test/harness/*.test.ts", "demo/**/*.test.ts"],
        },
      },
      {
        extends: true,
        test: { ...limits, name: "engine", include: ["test/engine/*.test.ts"] },
      },
    ],
  },
});
