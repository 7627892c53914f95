/** All tests of the package. Child processes start slowly on a busy machine: generous limits, no retries. */

import { defineConfig } from "vitest/config";

// biome-ignore lint/style/noDefaultExport: vitest asks for it.
export default defineConfig({
  root: import.meta.dirname,
  test: {
    include: [
      "src/**/*.test.ts",
      "test/**/*.test.ts",
      "demo/**/*.test.ts",
      "../../apps/dashboard/src/**/*.test.ts",
    ],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
