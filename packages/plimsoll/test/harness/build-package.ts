/** Builds the package if its sources have changed, because tests of programs run what users run. */

import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const build = fileURLToPath(new URL("../../../../scripts/build.mjs", import.meta.url));

export function setup(): void {
  execFileSync(process.execPath, [build, "--if-needed"], { stdio: "inherit" });
}
