// Runs all checks of `npm test`: the tests and, at the same time, the static checks one after the other, the quickest first.
// To run only some of them, name them: npm test -- layers vitest. What follows `vitest` is for vitest:
// npm test -- vitest src/budget/limit.test.ts -t "worked example"
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
/** The commands of each static check, in order. */
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
  package: [["node", "scripts/check-package.mjs"]],
};
const vitest = ["vitest", "run", "--config", "packages/plimsoll/vitest.config.ts"];
/** All child processes and threads compile the same modules, so they share a cache. */
const environment = {
  ...process.env,
  NODE_COMPILE_CACHE: join(root, "node_modules", ".cache", "compiled"),
};

const running = new Set();

/** Returns the output of the command. If the command fails, throws an error with the output. */
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
    throw new Error("biome.json was out of date. scripts/biome.gen.mjs has updated it: commit it.");
}

async function checkStatically(names) {
  for (const name of names)
    await check(name, async () => {
      if (name === "layers") return checkLayers();
      for (const command of staticChecks[name]) await run(command, "pipe");
    });
}

const known = [...Object.keys(staticChecks), "vitest"];
const given = process.argv.slice(2);
const last = given.indexOf("vitest") + 1;
const wanted = last === 0 ? given : given.slice(0, last);
const forVitest = last === 0 ? [] : given.slice(last);
const unknown = wanted.find((name) => !known.includes(name));
if (unknown !== undefined) {
  console.error(`npm test: there is no check "${unknown}". Choose from ${known.join(", ")}.`);
  process.exit(2);
}
const isWanted = (name) => wanted.length === 0 || wanted.includes(name);
try {
  await Promise.all([
    checkStatically(Object.keys(staticChecks).filter(isWanted)),
    isWanted("vitest")
      ? check("vitest", () => run([...vitest, ...forVitest], "inherit"))
      : undefined,
  ]);
} catch (error) {
  for (const child of running) child.kill();
  console.error(`\nnpm test: ${error.message.trim()}`);
  process.exit(1);
}
