// Builds the package: plain JavaScript in packages/plimsoll/dist. `--types` adds the type declarations, and
// `--if-needed` does nothing if the sources have not changed since the last build.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = join(root, "packages", "plimsoll");
const out = join(folder, "dist");
const stampFile = join(out, ".built-from");

const sources = globSync("src/**/*.ts", { cwd: folder }).filter(
  (file) => !file.endsWith(".test.ts"),
);
/** A thread starts from a file of its own. */
const workers = sources.filter((file) => file.endsWith("-worker.ts"));
/** What users import: the files that `exports` of package.json names, and their sources. */
const published = {
  index: "src/index.ts",
  events: "src/message/event.ts",
  mcp: "src/server/mcp/mcp.ts",
};
const entries = {
  ...published,
  main: "src/cli/main.ts",
  ...Object.fromEntries(workers.map((file) => [basename(file, ".ts"), file])),
};

/**
 * The build puts all modules into one folder. So a path from a source file to a worker, or to a file of the package, must become
 * the path from that folder.
 */
const pathsFromDist = {
  name: "paths-from-dist",
  transform(code, file) {
    return code.replace(/new URL\("(\.[^"]+)", import\.meta\.url\)/g, (_, path) => {
      const target = resolve(dirname(file), path);
      const place = target.endsWith("-worker.ts")
        ? `./${basename(target, ".ts")}.js`
        : `${relative(out, target)}${path.endsWith("/") ? "/" : ""}`;
      return `new URL(${JSON.stringify(place)}, import.meta.url)`;
    });
  },
};

/** The package contains the folder `data` as it is. */
function isData(id) {
  return /(^|[\\/])data[\\/]\w+\.js$/.test(id);
}

function packageNames() {
  const { dependencies, peerDependencies } = readPackage();
  return Object.keys({ ...dependencies, ...peerDependencies });
}

function readPackage() {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
}

function hashOfSources() {
  const hash = createHash("sha256");
  for (const file of [...sources.sort(), "package.json", "../../scripts/build.mjs"])
    hash.update(file).update(readFileSync(join(folder, file)));
  return hash.digest("hex");
}

async function buildScripts() {
  rmSync(out, { recursive: true, force: true });
  const names = packageNames();
  const bundle = await rolldown({
    cwd: folder,
    input: entries,
    platform: "node",
    external: (id) => isData(id) || names.some((name) => id === name || id.startsWith(`${name}/`)),
    plugins: [pathsFromDist],
  });
  await bundle.write({
    dir: out,
    format: "esm",
    entryFileNames: "[name].js",
    chunkFileNames: "[name]-[hash].js",
  });
  await bundle.close();
}

const flags = process.argv.slice(2);
const hash = hashOfSources();
const isBuilt = existsSync(stampFile) && readFileSync(stampFile, "utf8") === hash;
if (!(flags.includes("--if-needed") && isBuilt)) {
  await buildScripts();
  writeFileSync(stampFile, hash);
}
if (flags.includes("--types")) {
  buildTypes();
  // npm packs only files of the package's own folder.
  copyFileSync(join(root, "LICENSE"), join(folder, "LICENSE"));
  writeFileSync(join(folder, "README.md"), packedReadme());
}

/**
 * The README without its picture, and with the paths of other pages as text: the tarball contains neither, so links to them
 * would lead nowhere.
 */
function packedReadme() {
  const text = readFileSync(join(root, "README.md"), "utf8")
    .replace(/^!\[.*\]\((?!https?:).*\)\n\n?/gm, "")
    .replace(/\[([^\]]+)\]\((?!https?:)([^)]+)\)/g, (_, words, path) =>
      words === path ? `\`${path}\`` : `${words} (\`${path}\`)`,
    );
  return text.replace("## Read on\n", "## Read on\nThese pages are in Plimsoll's repository.\n\n");
}

/**
 * Writes the declarations of everything that a user can reach. The compiler keeps the extension .ts in
 * declarations, but there the name of the JavaScript file is right.
 */
function buildTypes() {
  const types = join(out, "types");
  rmSync(types, { recursive: true, force: true });
  const { status } = spawnSync("tsc", ["-p", join(folder, "tsconfig.build.json")], {
    stdio: "inherit",
  });
  if (status !== 0) process.exit(1);
  const reached = new Set(
    Object.values(published).map((file) =>
      join(types, `${relative("src", file).slice(0, -3)}.d.ts`),
    ),
  );
  for (const file of reached) {
    const text = readFileSync(file, "utf8").replace(
      /((?:from |import\()")(\.[^"]+)\.ts"/g,
      (_, before, path) => {
        reached.add(`${resolve(dirname(file), path)}.d.ts`);
        return `${before}${path}.js"`;
      },
    );
    writeFileSync(file, text);
  }
  for (const name of globSync("**/*.d.ts", { cwd: types }))
    if (!reached.has(join(types, name))) rmSync(join(types, name));
}
