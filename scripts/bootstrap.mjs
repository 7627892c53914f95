// Sets up a fresh clone, then runs a script of the project with a Node that is new enough. This file is plain JavaScript
// without dependencies and runs on Node 18 or newer. Usage: node scripts/bootstrap.mjs PROFILE SCRIPT [argument…]
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const stampFile = join(root, "node_modules", ".plimsoll-set-up.json");

/** The folder of the workspace root. Its packages: a Node for machines whose own is too old, and the tools of the checks. */
const top = ".";
const product = ["packages/plimsoll", "apps/dashboard"];

/**
 * The packages that each profile installs. npm also installs the `dependencies` of workspaces that the profile does not name.
 * So bench and examples have only `devDependencies` (tidy.mjs checks it).
 */
const profiles = {
  run: { workspaces: needsTop() ? [...product, top] : product, dev: false },
  test: { workspaces: [...product, top, "examples"], dev: true },
  bench: { workspaces: [...product, top, "bench"], dev: true },
};

/**
 * Skips the root if possible, because its Node is larger than all other packages. Installs packages that a user has
 * added to the root.
 */
function needsTop() {
  const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return !isNewEnough() || Object.keys(dependencies).some((name) => name !== "node");
}

function isNewEnough() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  return major > 22 || (major === 22 && minor >= 19);
}
const [profile, script, ...rest] = process.argv.slice(2);
if (profiles[profile] === undefined || script === undefined) {
  console.error(
    `usage: node scripts/bootstrap.mjs ${Object.keys(profiles).join("|")} SCRIPT [argument…]`,
  );
  process.exit(2);
}

const lockHash = createHash("sha256")
  .update(readFileSync(join(root, "package-lock.json")))
  .digest("hex");

/** The record of the last installation, from this lockfile or an earlier one. */
function readStamp() {
  try {
    return JSON.parse(readFileSync(stampFile, "utf8"));
  } catch {
    return undefined;
  }
}

async function setUp() {
  const wanted = profiles[profile];
  const stamp = readStamp();
  const has =
    stamp?.lockHash === lockHash &&
    wanted.workspaces.every((name) => stamp.workspaces.includes(name)) &&
    (stamp.dev || !wanted.dev);
  if (has) return;
  // Keep what an earlier command installed, even if the lockfile has changed.
  const workspaces = [...new Set([...wanted.workspaces, ...(stamp?.workspaces ?? [])])];
  const dev = wanted.dev || stamp?.dev === true;
  await install(workspaces, dev);
  writeFileSync(stampFile, JSON.stringify({ lockHash, workspaces, dev }));
}

/**
 * Registries sometimes answer 429. npm retries each request; this function also retries the whole installation.
 * `npm install` takes versions and hashes from the lockfile. Unlike `npm ci`, it accepts a registry that
 * does not have the optional packages of other platforms.
 */
async function install(workspaces, dev) {
  const options = ["install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"];
  for (const name of workspaces)
    options.push(...(name === top ? ["--include-workspace-root"] : ["--workspace", name]));
  if (!dev) options.push("--omit=dev");
  const attempts = 3;
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const what = `installing what ${profile} needs, from the lockfile`;
    const { status, stderr } = await watched(what, () => runNpm(options));
    if (status === 0) return;
    const reason = stderr
      .split("\n")
      .filter((line) => line.startsWith("npm error"))
      .slice(0, 4)
      .join("\n");
    console.error(`${reason}\nplimsoll: npm failed (try ${attempt} of ${attempts}).`);
    await new Promise((resolve) => setTimeout(resolve, attempt * 5000));
  }
  console.error(
    "plimsoll: the packages could not be installed. Check the network and the npm registry, then try again.",
  );
  process.exit(1);
}

function runNpm(options) {
  return run("npm", options, {
    env: {
      ...process.env,
      npm_config_fetch_retries: "12",
      npm_config_fetch_retry_mintimeout: "800",
    },
    shell: process.platform === "win32",
  });
}

/** Runs a program to its end, and returns its output. */
function run(file, options, settings) {
  const child = spawn(file, options, {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
    ...settings,
  });
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"])
    child[name].setEncoding("utf8").on("data", (text) => {
      said[name] += text;
    });
  return new Promise((resolve) => {
    child.on("error", ({ message }) => resolve({ ...said, status: 1, stderr: message }));
    child.on("close", (status) => resolve({ ...said, status }));
  });
}

/** On a terminal, one line counts the seconds. In a file, a new line every ten seconds shows that the work goes on. */
async function watched(what, work) {
  const started = Date.now();
  const isTerminal = process.stderr.isTTY === true;
  const line = () => `plimsoll: ${what} … ${Math.round((Date.now() - started) / 1000)} s`;
  const say = () => process.stderr.write(isTerminal ? `\r${line()}` : `${line()}\n`);
  say();
  const timer = setInterval(say, isTerminal ? 1000 : 10_000);
  const result = await work();
  clearInterval(timer);
  process.stderr.write(isTerminal ? `\r${line()}\n` : `${line()}, done\n`);
  return result;
}

/** The machine's own Node if it is new enough, otherwise the one from node_modules. */
function chooseNode() {
  if (isNewEnough()) return process.execPath;
  const own = join(root, "node_modules", "node", "bin", "node");
  return existsSync(own) ? own : join(root, "node_modules", ".bin", "node");
}

/** Builds the package if its sources have changed since the last build. It takes about a second. */
async function buildPackage() {
  const build = [join(root, "scripts", "build.mjs"), "--if-needed"];
  const { status, stdout, stderr } = await run(node, build, {
    env: { ...process.env, PATH: path },
  });
  if (status === 0) return;
  console.error(`${stdout}${stderr}\nplimsoll: the package could not be built.`);
  process.exit(1);
}

/** Builds the dashboard if its sources or its build tools have changed since the last build. */
async function buildDashboard() {
  const app = join(root, "apps", "dashboard");
  const built = join(root, "packages", "plimsoll", "dashboard");
  const stamp = join(built, ".built-from");
  const sources = hashOf([
    join(root, "package-lock.json"),
    ...filesBelow(app, ["node_modules"]),
    ...["message", "watch", "work"].flatMap((folder) =>
      filesBelow(join(root, "packages", "plimsoll", "src", folder), []),
    ),
  ]);
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === sources) return;
  const vite = join(root, "node_modules", "vite", "bin", "vite.js");
  const { status, stdout, stderr } = await watched("building the dashboard", () =>
    run(node, [vite, "build", "--logLevel", "warn"], {
      cwd: app,
      env: { ...process.env, PATH: path },
    }),
  );
  if (status === 0) {
    writeFileSync(stamp, sources);
    return;
  }
  // The proxy works without the dashboard.
  console.error(`${stdout}${stderr}\nplimsoll: the dashboard could not be built; \`/\` says so.`);
  if (profile === "test") process.exit(1);
}

function filesBelow(folder, except) {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => !except.includes(name))
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .flatMap((entry) =>
      entry.isDirectory()
        ? filesBelow(join(folder, entry.name), except)
        : [join(folder, entry.name)],
    );
}

function hashOf(files) {
  const hash = createHash("sha256");
  for (const file of files) hash.update(file.slice(root.length)).update(readFileSync(file));
  return hash.digest("hex");
}

await setUp();
const node = chooseNode();
const path = [dirname(node), join(root, "node_modules", ".bin"), process.env.PATH].join(delimiter);
await buildPackage();
await buildDashboard();
const child = spawn(node, [join(root, script), ...rest], {
  stdio: "inherit",
  env: { ...process.env, PATH: path },
});
// A terminal sends Ctrl-C to all its processes, including npm and the child, and npm passes it to this process a second time.
// So this process passes signals on as SIGTERM: the child then stops in order, however often the signal comes. Only a second
// Ctrl-C from the terminal stops it at once.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"])
  process.on(signal, () => child.kill("SIGTERM"));
// A signal to npm may end npm's shell, which does not pass the signal on. This process notices because its parent changes.
const parent = process.ppid;
if (process.env.npm_lifecycle_event !== undefined) {
  setInterval(() => process.ppid !== parent && child.kill("SIGTERM"), 500).unref();
}
child.on("exit", (code, signal) => process.exit(signal === null ? code : 1));
