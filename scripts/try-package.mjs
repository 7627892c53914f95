// Installs the packed package with several versions of Node and tries it (test/package.test.ts).
// Usage: npm run try:package [-- VERSION…]. The versions come from npm.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const wanted = process.argv.slice(2);
const test = [
  "vitest",
  "run",
  "--config",
  "packages/plimsoll/vitest.config.ts",
  "test/package.test.ts",
];
for (const version of wanted.length === 0 ? ["22.19.0", "24"] : wanted) {
  const folder = mkdtempSync(join(tmpdir(), "plimsoll-node-"));
  try {
    writeFileSync(join(folder, "package.json"), '{ "allowScripts": { "node": true } }');
    execFileSync(
      "npm",
      ["install", "--no-audit", "--no-fund", "--loglevel=error", `node@${version}`],
      {
        cwd: folder,
        stdio: "inherit",
      },
    );
    const place = join(folder, "node_modules", "node", "bin");
    const found = execFileSync(join(place, "node"), ["--version"], { encoding: "utf8" }).trim();
    console.log(`\nNode ${found}`);
    const env = { ...process.env, PLIMSOLL_TRY_NODE: place };
    const { status } = spawnSync(test[0], test.slice(1), { stdio: "inherit", env });
    if (status !== 0) process.exitCode = 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
