// Prints sentences to read: 100 comments, 60 errors, every text for models and five pages, chosen by a seed. A reader who has
// not seen the code marks each sentence that had to be read twice. docs/decisions/0013-plain-words.md has the results.
// Usage: node scripts/reading-sample.mjs [SEED] [ROOT]
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { diceOf } from "../packages/plimsoll/src/simulate/dice.ts";

const [seed = "18", root = "."] = process.argv.slice(2);
const counts = { comments: 100, errors: 60, pages: 5 };
const modelTexts = "docs/what-the-model-reads.md";
const random = diceOf(Number(seed));
const files = execFileSync("git", ["ls-files"], { cwd: root, encoding: "utf8" }).split("\n");
const read = (file) => readFileSync(join(root, file), "utf8");

/** A random choice of `count` items, by the seed, in their original order. */
function chosen(items, count) {
  const drawn = items
    .map((item) => ({ item, at: random() }))
    .sort((one, other) => one.at - other.at);
  const taken = new Set(drawn.slice(0, count).map(({ item }) => item));
  return items.filter((item) => taken.has(item));
}

const segmenter = new Intl.Segmenter("en", { granularity: "sentence" });
function sentences(text) {
  return [...segmenter.segment(text.replace(/\s+/g, " "))]
    .map(({ segment }) => segment.trim())
    .filter((sentence) => /[a-z]{2}/i.test(sentence));
}

const sources = files.filter(
  (file) =>
    /^(?:packages\/plimsoll\/src|apps\/dashboard\/src)\/.*\.ts$/.test(file) &&
    !file.endsWith(".test.ts"),
);

function commentsOf(file) {
  const blocks = read(file).matchAll(/\/\*\*([\s\S]*?)\*\/|(?:^[ \t]*\/\/ ?.*\n)+/gm);
  return [...blocks].map(([block]) => {
    const text = block.replace(/^\s*(?:\/\*\*|\*\/|\*|\/\/)|\*\/\s*$/gm, "").replace(/\s+/g, " ");
    return { file, text: text.trim() };
  });
}

/** Sentences for people: string literals that begin with a capital letter and end with a full stop or a colon. */
function errorsOf(file) {
  const literals = read(file).matchAll(/"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g);
  return [...literals]
    .map(([, plain, template]) => ({ file, text: (plain ?? template).replace(/\s+/g, " ").trim() }))
    .filter(({ text }) => /^[A-Z][^<>]*\s[^<>]*\s[^<>]*[.:]$/.test(text));
}

const pages = files.filter(
  (file) =>
    /^(?:docs\/.*|README|ARCHITECTURE|CONTRIBUTING|CHANGELOG)\.md$/.test(file) &&
    file !== modelTexts,
);

let number = 0;
function print(heading, items) {
  console.log(`\n# ${heading}`);
  for (const { file, text } of items) {
    console.log(`\n${file}`);
    for (const sentence of sentences(text)) console.log(`${++number}. ${sentence}`);
  }
}

console.log(`Seed ${seed}.`);
print("Comments", chosen(sources.flatMap(commentsOf), counts.comments));
print(
  "Errors",
  chosen(
    sources.filter((file) => !file.endsWith("/for-models.ts")).flatMap(errorsOf),
    counts.errors,
  ),
);
if (files.includes(modelTexts))
  print("Texts for models", [{ file: modelTexts, text: read(modelTexts) }]);
for (const file of chosen(pages, counts.pages))
  print(`Page ${file}`, [{ file, text: read(file).replace(/```[\s\S]*?```/g, "") }]);
