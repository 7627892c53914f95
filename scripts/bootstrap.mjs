// Makes a fresh clone ready, then runs a script of the project with a Node that can: plain JavaScript without
// dependencies, for any Node from 18 on. Usage: node scripts/bootstrap.mjs PROFILE SCRIPT [argument…]
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const stampFile = join(root, "node_modules", ".plimsoll-set-up.json");

/** What each profile installs. Heavy packages sit in workspaces that only their own profile names. */
const profiles = {
  run: { workspaces: ["packages/plimsoll", "apps/dashboard"], dev: false },
  test: { workspaces: ["packages/plimsoll", "apps/dashboard", "examples"], dev: true },
  bench: { workspaces: ["packages/plimsoll", "apps/dashboard", "bench"], dev: false },
};
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

/** What was installed last, by this lockfile or by an earlier one. */
function readStamp() {
  try {
    return JSON.parse(readFileSync(stampFile, "utf8"));
  } catch {
    return undefined;
  }
}

function setUp() {
  const wanted = profiles[profile];
  const stamp = readStamp();
  const has =
    stamp?.lockHash === lockHash &&
    wanted.workspaces.every((name) => stamp.workspaces.includes(name)) &&
    (stamp.dev || !wanted.dev);
  if (has) return;
  // What an earlier command installed stays, also when the lockfile has changed.
  const workspaces = [...new Set([...wanted.workspaces, ...(stamp?.workspaces ?? [])])];
  const dev = wanted.dev || stamp?.dev === true;
  console.error(`plimsoll: installing what ${profile} needs, from the lockfile …`);
  install(workspaces, dev);
  writeFileSync(stampFile, JSON.stringify({ lockHash, workspaces, dev }));
}

/**
 * Registries answer 429 at times: npm itself retries each request, and here is one more try for the whole.
 * `npm install` takes versions and hashes from the lockfile too, and unlike `npm ci` it forgives a registry that
 * does not have the optional packages of other platforms.
 */
function install(workspaces, dev) {
  const options = [
    "install",
    "--no-save",
    "--include-workspace-root",
    "--no-audit",
    "--no-fund",
    "--loglevel=error",
  ];
  for (const name of workspaces) options.push("--workspace", name);
  if (!dev) options.push("--omit=dev");
  const environment = {
    ...process.env,
    npm_config_fetch_retries: "12",
    npm_config_fetch_retry_mintimeout: "800",
  };
  const attempts = 3;
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const { status, stderr } = spawnSync("npm", options, {
      cwd: root,
      stdio: ["ignore", "ignore", "pipe"],
      encoding: "utf8",
      env: environment,
      shell: process.platform === "win32",
    });
    if (status === 0) return;
    const reason = stderr
      .split("\n")
      .filter((line) => line.startsWith("npm error"))
      .slice(0, 4)
      .join("\n");
    console.error(`${reason}\nplimsoll: npm failed (try ${attempt} of ${attempts}).`);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, attempt * 5000);
  }
  console.error(
    "plimsoll: the packages could not be installed: check the network and the npm registry, then try again.",
  );
  process.exit(1);
}

/** The machine's own Node where it is new enough, else the one from node_modules. */
function chooseNode() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major > 22 || (major === 22 && minor >= 18)) return process.execPath;
  const own = join(root, "node_modules", "node", "bin", "node");
  return existsSync(own) ? own : join(root, "node_modules", ".bin", "node");
}

/** The dashboard is built when its sources, or what they are built with, have changed since the last time. */
function buildDashboard() {
  const app = join(root, "apps", "dashboard");
  const built = join(root, "packages", "plimsoll", "dashboard");
  const stamp = join(built, ".built-from");
  const sources = hashOf([
    join(root, "package-lock.json"),
    ...filesBelow(app, ["node_modules"]),
    ...["message", "watch"].flatMap((folder) =>
      filesBelow(join(root, "packages", "plimsoll", "src", folder), []),
    ),
  ]);
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === sources) return;
  console.error("plimsoll: building the dashboard …");
  const vite = join(root, "node_modules", "vite", "bin", "vite.js");
  const { status, stdout, stderr } = spawnSync(node, [vite, "build", "--logLevel", "warn"], {
    cwd: app,
    encoding: "utf8",
    env: { ...process.env, PATH: path },
  });
  if (status === 0) {
    writeFileSync(stamp, sources);
    return;
  }
  // The proxy does its work without it.
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

setUp();
const node = chooseNode();
const path = [dirname(node), join(root, "node_modules", ".bin"), process.env.PATH].join(delimiter);
buildDashboard();
const child = spawn(node, [join(root, script), ...rest], {
  stdio: "inherit",
  env: { ...process.env, PATH: path },
});
// A terminal sends Ctrl-C to everybody in it, npm and the child included, and npm hands it on to this process once more. So
// what arrives here is handed on as SIGTERM: a child ends in order by that, however often it comes, and only a second Ctrl-C
// of the terminal itself ends it at once.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"])
  process.on(signal, () => child.kill("SIGTERM"));
// A signal to npm may end its shell, which does not hand it on: then this process has another parent than before.
const parent = process.ppid;
if (process.env.npm_lifecycle_event !== undefined) {
  setInterval(() => process.ppid !== parent && child.kill("SIGTERM"), 500).unref();
}
child.on("exit", (code, signal) => process.exit(signal === null ? code : 1));
