// Everything that `npm test` checks, in the order in which it fails fastest. With names, only those: npm test -- vitest
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const steps = {
  layers: () => {
    const before = readFileSync(`${root}/biome.json`, "utf8");
    run("node", ["scripts/biome.gen.mjs"]);
    if (readFileSync(`${root}/biome.json`, "utf8") !== before)
      fail("biome.json was not made by scripts/biome.gen.mjs: commit it anew.");
  },
  biome: () => run("biome", ["check", "--error-on-warnings"]),
  tidy: () => {
    run("node", ["scripts/tidy.mjs"]);
    run("node", ["scripts/map.mjs", "--check"]);
  },
  docs: () => run("node", ["scripts/config-reference.mjs", "--check"]),
  types: () => {
    run("tsc", ["-p", "."]);
    run("tsc", ["-p", "apps/dashboard"]);
  },
  api: () => run("node", ["scripts/api.mjs", "--check"]),
  unused: () => run("knip", ["--no-progress"]),
  vitest: () => run("vitest", ["run", "--config", "packages/plimsoll/vitest.config.ts"]),
};

function run(command, options) {
  const { status } = spawnSync(command, options, {
    cwd: root,
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  if (status !== 0) fail(`${command} ${options.join(" ")} failed.`);
}

function fail(message) {
  console.error(`\nnpm test: ${message}`);
  process.exit(1);
}

const wanted = process.argv.slice(2);
for (const name of wanted)
  if (steps[name] === undefined)
    fail(`there is no check "${name}": choose from ${Object.keys(steps).join(", ")}.`);
for (const [name, step] of Object.entries(steps)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const started = performance.now();
  step();
  console.log(`✓ ${name} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
}
