// Everything that `npm test` checks: the tests, and beside them the static checks one after the other, the quickest first.
// With names, only those: npm test -- layers vitest
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
/** Commands of each static check, in their order. */
const staticChecks = {
  layers: [["node", "scripts/biome.gen.mjs"]],
  biome: [["biome", "check", "--error-on-warnings"]],
  tidy: [
    ["node", "scripts/tidy.mjs"],
    ["node", "scripts/map.mjs", "--check"],
  ],
  docs: [
    ["node", "scripts/config-reference.mjs", "--check"],
    ["node", "scripts/model-texts.mjs", "--check"],
    ["node", "scripts/http-reference.mjs", "--check"],
  ],
  types: [
    ["tsc", "-p", "."],
    ["tsc", "-p", "apps/dashboard"],
  ],
  api: [["node", "scripts/api.mjs", "--check"]],
  unused: [["knip", "--no-progress"]],
};
const vitest = ["vitest", "run", "--config", "packages/plimsoll/vitest.config.ts"];
/** Each child process and each thread compiles the same modules: they share what came of it. */
const environment = {
  ...process.env,
  NODE_COMPILE_CACHE: join(root, "node_modules", ".cache", "compiled"),
};

const running = new Set();

/** @returns what the command printed, or throws an error with it. */
function run([command, ...options], stdio) {
  const child = spawn(command, options, {
    cwd: root,
    stdio,
    env: environment,
    shell: process.platform === "win32",
  });
  running.add(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (text) => (output += text));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => {
      running.delete(child);
      if (code === 0) resolve(output);
      else reject(new Error(`${output}\n${[command, ...options].join(" ")} failed.`));
    });
  });
}

async function check(name, work) {
  const started = performance.now();
  await work();
  console.log(`✓ ${name} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
}

async function checkLayers() {
  const before = readFileSync(`${root}/biome.json`, "utf8");
  for (const command of staticChecks.layers) await run(command, "pipe");
  if (readFileSync(`${root}/biome.json`, "utf8") !== before)
    throw new Error("biome.json was not made by scripts/biome.gen.mjs: commit it anew.");
}

async function checkStatically(names) {
  for (const name of names)
    await check(name, async () => {
      if (name === "layers") return checkLayers();
      for (const command of staticChecks[name]) await run(command, "pipe");
    });
}

const known = [...Object.keys(staticChecks), "vitest"];
const wanted = process.argv.slice(2);
const unknown = wanted.find((name) => !known.includes(name));
if (unknown !== undefined) {
  console.error(`npm test: there is no check "${unknown}": choose from ${known.join(", ")}.`);
  process.exit(2);
}
const isWanted = (name) => wanted.length === 0 || wanted.includes(name);
try {
  await Promise.all([
    checkStatically(Object.keys(staticChecks).filter(isWanted)),
    isWanted("vitest") ? check("vitest", () => run(vitest, "inherit")) : undefined,
  ]);
} catch (error) {
  for (const child of running) child.kill();
  console.error(`\nnpm test: ${error.message.trim()}`);
  process.exit(1);
}
