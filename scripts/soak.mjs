// `npm run test:soak`: the random tests with many more runs, and then every broken start. It takes about an hour. With names it
// runs only the files whose paths contain them: npm run test:soak -- what-fits respelled
import { execFileSync, spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const named = process.argv.slice(2);
const git = (...words) => execFileSync("git", words, { cwd: root, encoding: "utf8" });

/** Test files that try harder in a soak run. */
const longer = git(
  "grep",
  "-lE",
  "harness/effort.ts|waysOf",
  "--",
  "packages/plimsoll/**/*.test.ts",
)
  .split("\n")
  .filter((file) => file !== "");
const files = longer.filter(
  (file) => named.length === 0 || named.some((name) => file.includes(name)),
);

console.log(`Soak run of ${git("rev-parse", "--short", "HEAD").trim()}: ${files.length} files.`);
const environment = {
  ...process.env,
  PLIMSOLL_SOAK: "1",
  NODE_COMPILE_CACHE: join(root, "node_modules", ".cache", "compiled"),
};

/** A part that fails does not stop the next one. */
function run(command, ...options) {
  const { status } = spawnSync(command, options, { cwd: root, stdio: "inherit", env: environment });
  if (status !== 0) process.exitCode = status ?? 1;
}

if (files.length > 0)
  run(
    "vitest",
    "run",
    "--config",
    "packages/plimsoll/vitest.config.ts",
    ...files.map((file) => join(root, file)),
  );
if (named.length === 0 || named.includes("start"))
  run("node", "packages/plimsoll/test/soak-start.ts");
