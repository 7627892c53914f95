// Checks the tarball that users install: its files, its size, its entries (publint) and its types (are-the-types-wrong).
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = join(root, "packages", "plimsoll");
/** Without the word vectors (`data/words.bin`, 6.7 MB) and the vocabularies (3.1 MB) the package has about 1.6 MB. */
const bytesMax = 15_000_000;
const filesMax = 400;

/** Plimsoll has only ES modules, so how CommonJS and old resolvers find it does not matter. */
const checkedResolutions = ["node16-esm", "bundler"];

async function findProblems(tarball, files) {
  const found = files
    .filter(({ path }) => /\.test\.|\.built-from$|^src\/|^test\//.test(path))
    .map(({ path }) => `${path} does not belong into the package`);
  for (const [, target] of readFileSync(join(folder, "README.md"), "utf8").matchAll(
    /\]\(([^)]+)\)/g,
  ))
    if (!/^https?:/.test(target) && !files.some(({ path }) => path === target))
      found.push(`README.md links ${target}, which is not in the package`);
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  if (bytes > bytesMax) found.push(`${bytes} bytes, more than ${bytesMax}`);
  if (files.length > filesMax) found.push(`${files.length} files, more than ${filesMax}`);
  const { messages, pkg } = await publint({ pkgDir: folder, strict: true });
  for (const message of messages) found.push(`publint: ${formatMessage(message, pkg)}`);
  const { problems = [] } = await checkPackage(createPackageFromTarballData(tarball));
  for (const problem of problems)
    if (problem.resolutionKind === undefined || checkedResolutions.includes(problem.resolutionKind))
      found.push(`are-the-types-wrong: ${JSON.stringify(problem)}`);
  return found;
}

const place = mkdtempSync(join(tmpdir(), "plimsoll-pack-"));
try {
  execFileSync(process.execPath, [join(root, "scripts", "build.mjs"), "--if-needed", "--types"]);
  const pack = ["pack", "--json", "--ignore-scripts", "--pack-destination", place];
  const answer = execFileSync("npm", pack, {
    cwd: folder,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [{ filename, files }] = Object.values(JSON.parse(answer));
  const problems = await findProblems(new Uint8Array(readFileSync(join(place, filename))), files);
  if (problems.length > 0) {
    console.error(problems.join("\n"));
    process.exitCode = 1;
  }
} finally {
  rmSync(place, { recursive: true, force: true });
}
