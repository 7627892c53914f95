/**
 * The package as a user gets it: packed, and installed from the tarball into an empty folder with an empty home. Needs the npm
 * registry, or npm's cache, for the dependencies.
 */
import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));
const PACKAGE = join(ROOT, "packages", "plimsoll");
const LIMIT_MS = 120_000;

export interface Installed {
  /** The user's project, with the package in its node_modules. */
  readonly project: string;
  /** Runs a program of the project, as `npx` would. */
  run(program: string, ...options: readonly string[]): Promise<string>;
  readonly environment: Readonly<Record<string, string>>;
}

export interface InstallOptions {
  /** An empty folder. */
  readonly folder: string;
  /** More packages for the project. */
  readonly packages?: readonly string[];
  /** The Node to use: the folder of its program. */
  readonly node?: string;
}

export async function installPackage({
  folder,
  packages = [],
  node = dirname(process.execPath),
}: InstallOptions): Promise<Installed> {
  const home = join(folder, "home");
  const project = join(folder, "project");
  await mkdir(home, { recursive: true });
  await mkdir(project);
  const environment = { PATH: [node, process.env["PATH"]].join(":"), HOME: home };
  const forNpm = {
    // npm may need the proxies and certificates of this machine. Its variables of the run that goes on now would lead it astray.
    ...Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !name.toLowerCase().startsWith("npm_")),
    ),
    ...environment,
    // The registry and the cache that npm uses here, so that nothing is loaded twice.
    npm_config_registry: await npmSetting("registry"),
    npm_config_cache: await npmSetting("cache"),
    npm_config_prefer_offline: "true",
    npm_config_fetch_retries: "12",
    npm_config_fetch_retry_mintimeout: "800",
  };
  const run = async (file: string, options: readonly string[], cwd: string): Promise<string> => {
    const env = file === "npm" ? forNpm : environment;
    const { stdout } = await promisify(execFile)(file, options, { cwd, env, timeout: LIMIT_MS });
    return stdout;
  };
  await run(process.execPath, [join(ROOT, "scripts", "build.mjs"), "--if-needed", "--types"], ROOT);
  const packed = await run(
    "npm",
    ["pack", "--json", "--ignore-scripts", "--pack-destination", folder],
    PACKAGE,
  );
  const [{ filename }] = Object.values(
    JSON.parse(packed) as Record<string, { filename: string }>,
  ) as [{ readonly filename: string }];
  await writeFile(join(project, "package.json"), '{ "private": true, "type": "module" }');
  const wanted = [join(folder, filename), ...packages];
  await run("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error", ...wanted], project);
  return {
    project,
    environment,
    run: (program, ...options) =>
      run(join(project, "node_modules", ".bin", program), options, project),
  };
}

async function npmSetting(name: string): Promise<string> {
  const { stdout } = await promisify(execFile)("npm", ["config", "get", name], { cwd: ROOT });
  return stdout.trim();
}

/** The TypeScript of the README's chapter about the library. */
export async function readmeExample(): Promise<string> {
  const readme = await readFile(join(ROOT, "README.md"), "utf8");
  const [, example] = /## As a library\n[\s\S]*?```ts\n([\s\S]*?)```/.exec(readme) ?? [];
  if (example === undefined) throw new Error("README.md has no example of the library.");
  return example;
}
