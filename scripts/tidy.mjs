// Checks that a linter cannot make: every file is in a room, and no room has too many files; pages name only files that
// exist; each file has a comment about its purpose; names are not vague; comments contain no filler; no error is
// swallowed; no function and no type is too wide; only wire/ uses provider words. Run from the repository root.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { providerWords } from "./provider-words.mjs";
import { mostFiles, rooms, source } from "./rooms.mjs";
import { exportedShapes, mostMembers, mostNames, readSources, topFunctions } from "./sizes.mjs";

/** ARCHITECTURE.md must be short enough to be read in one sitting. */
const mostPageBytes = 16 * 1024;
const vagueName =
  /(^|[-/])(utils?|helpers?|common|misc|shared|manager|service|core|base|impl|types|constants)([-.]|$)/;
const filler =
  /\b(FIXME|XXX|robust|comprehensive|seamless(ly)?|leverag(e|ing)|ensure that|for now|in production, (we|you))\b|[\u{1F300}-\u{1FAFF}]/iu;
const swallowed = /catch\s*(\(\w+\))?\s*\{\s*(\/\/[^\n]*)?\s*\}/;
const ownSentence = /["`][^"`\n]*\[Plimsoll: \w/;
const header = /^(#!.*\n)?\/\*\*/;

const filesBelow = (folder) =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? filesBelow(join(folder, entry.name)) : [join(folder, entry.name)],
  );

const files = filesBelow(source).filter((file) => file.endsWith(".ts"));
const map = existsSync("ARCHITECTURE.md") ? readFileSync("ARCHITECTURE.md", "utf8") : "";
const problems = [];

for (const file of files) {
  const name = relative(source, file);
  const text = readFileSync(file, "utf8");
  if (vagueName.test(basename(name))) problems.push(`${name}: vague file name`);
  if (!name.endsWith(".test.ts") && !header.test(text))
    problems.push(`${name}: no header comment that says what the file is for`);
  if (ownSentence.test(text) && !name.endsWith(".test.ts") && name !== "text/for-models.ts")
    problems.push(`${name}: a sentence for models: write it in text/for-models.ts`);
  if (swallowed.test(text)) problems.push(`${name}: swallowed error`);
  // Tests may contain emoji, as input.
  const isTest = name.endsWith(".test.ts");
  text.split("\n").forEach((line, index) => {
    const found = filler.exec(isTest ? line.replace(/[\u{1F300}-\u{1FAFF}]/gu, "") : line);
    if (found) problems.push(`${name}:${index + 1}: filler "${found[0]}"`);
  });
}
/** Black-box tests know the product by HTTP, its commands and the name `plimsoll`. Tests of the inside are in test/engine. */
const blackBox = ["packages/plimsoll/test", "packages/plimsoll/test/harness"];
for (const folder of blackBox)
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".ts")))
    if (/from "[./]+\/src\//.test(readFileSync(join(folder, file), "utf8")))
      problems.push(
        `${join(folder, file)}: a black-box test imports from src: move it to test/engine`,
      );
for (const workspace of ["bench", "examples"]) {
  const { dependencies } = JSON.parse(readFileSync(join(workspace, "package.json"), "utf8"));
  if (dependencies !== undefined)
    problems.push(
      `${workspace}/package.json: has dependencies, which npm start would install. Make them devDependencies.`,
    );
}
problems.push(
  ...providerWords(files.map((file) => [relative(source, file), readFileSync(file, "utf8")])),
);
const sources = files
  .map((file) => relative(source, file))
  .filter((name) => !name.endsWith(".test.ts"));
for (const name of sources)
  if (!rooms.some((room) => room.name === dirname(name)))
    problems.push(`${name}: in no room of scripts/rooms.mjs`);
for (const { name, front } of rooms) {
  const inside = sources.filter((file) => dirname(file) === name);
  if (!inside.includes(join(name, front)))
    problems.push(`${name}: has no file ${front} to start reading at`);
  if (inside.length > mostFiles)
    problems.push(`${name}: ${inside.length} files, more than ${mostFiles}`);
}
/** Pages that name files of the repository. `my-…` is a file of the reader. Other pages also quote files of users. */
const pages = [
  "ARCHITECTURE.md",
  "CONTRIBUTING.md",
  "docs/how-it-decides.md",
  ...readdirSync("docs/decisions").map((name) => join("docs/decisions", name)),
];
const folders = ["bin", "src", "test", "demo"].map((name) => join("packages/plimsoll", name));
const known = [...folders, "apps/dashboard/src", "scripts", "bench", "examples"].flatMap((folder) =>
  filesBelow(folder).map((file) => `/${file}`),
);
for (const page of pages)
  for (const [, named] of readFileSync(page, "utf8").matchAll(
    /`((?:[\w-]+\/)*(?!my-)[\w-]+(?:\.test)?\.(?:ts|mjs|svelte))`/g,
  ))
    if (!existsSync(named) && !known.some((file) => file.endsWith(`/${named}`)))
      problems.push(`${page} names ${named}, which does not exist`);
if (Buffer.byteLength(map) > mostPageBytes)
  problems.push(`ARCHITECTURE.md has ${Buffer.byteLength(map)} bytes, more than ${mostPageBytes}`);

/** Functions and types that may be wider. This list only shrinks, so an entry that is no longer too wide is also a problem. */
const exceptions = JSON.parse(readFileSync("scripts/too-wide.json", "utf8"));
function checkWidth(kind, found) {
  const excepted = new Set(exceptions[kind]);
  for (const [place, problem] of found)
    if (!excepted.delete(place)) problems.push(`${place}: ${problem}. Split it.`);
  for (const place of excepted)
    problems.push(`${place}: no longer too wide, or gone. Remove it from scripts/too-wide.json.`);
}
const read = readSources(source);
checkWidth(
  "functions",
  read
    .flatMap(topFunctions)
    .filter(({ names }) => names > mostNames)
    .map(({ file, name, names }) => [
      `${file} ${name}`,
      `${names} parameters and locals, more than ${mostNames}`,
    ]),
);
checkWidth(
  "types",
  read
    .flatMap(exportedShapes)
    .filter(({ members }) => members > mostMembers)
    .map(({ file, name, members }) => [
      `${file} ${name}`,
      `${members} members, more than ${mostMembers}`,
    ]),
);
for (const problem of problems) console.log(problem);
console.log(`${problems.length} problems in ${files.length} files`);
process.exit(problems.length > 0 ? 1 : 0);
