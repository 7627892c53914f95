// Prints the sizes of files, functions and interfaces in the package's sources. Tests are not counted.
// Usage: npm run measure [-- folder]

import { source as usualFolder } from "./rooms.mjs";
import {
  allFunctions,
  circles,
  conditionalSpreads,
  exportedShapes,
  importsOf,
  mostMembers,
  mostNames,
  readSources,
  topFunctions,
  topNames,
} from "./sizes.mjs";

const [folder = usualFolder] = process.argv.slice(2);
const sources = readSources(folder);
const functions = sources.flatMap(topFunctions);
const all = sources.flatMap(allFunctions);
const imports = importsOf(sources);

const sum = (figures) => figures.reduce((total, figure) => total + figure, 0);
const largest = (items, by) => items.toSorted((left, right) => by(right) - by(left));

/** The median, the 90th percentile and the maximum. */
function spread(figures) {
  const sorted = figures.toSorted((left, right) => left - right);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  return `median ${at(0.5)}, p90 ${at(0.9)}, max ${sorted.at(-1)}`;
}

function print(label, text, items = []) {
  console.log(`${label.padEnd(44)} ${text}`);
  for (const item of items) console.log(`    ${item}`);
}

const lines = sources.map(({ text }) => text.trimEnd().split("\n").length);
print("files, lines", `${sources.length}, ${sum(lines)}`);
print("lines of a file", spread(lines));
print("top-level functions", String(functions.length));
print("lines of a top-level function", spread(functions.map((each) => each.lines)));
print("functions over 4 parameters", String(all.filter((each) => each.parameters > 4).length));
print("functions over 70 lines", String(all.filter((each) => each.lines > 70).length));

const wide = largest(
  functions.filter(({ names }) => names > mostNames),
  ({ names }) => names,
);
print("names in scope of a top-level function", spread(functions.map(({ names }) => names)));
print(
  `functions with more than ${mostNames} names`,
  String(wide.length),
  wide.map(({ file, name, names }) => `${names} ${file} ${name}`),
);

const shapes = sources.flatMap(exportedShapes);
const broad = largest(
  shapes.filter((shape) => shape.members > mostMembers),
  ({ members }) => members,
);
print(
  `exported interfaces over ${mostMembers} members`,
  String(broad.length),
  broad.map(({ file, name, members }) => `${members} ${file} ${name}`),
);

const importers = new Map(sources.map(({ name }) => [name, 0]));
for (const file of [...imports.values()].flat()) importers.set(file, importers.get(file) + 1);
const [mostImported] = largest([...importers], ([, count]) => count);
const [mostImporting] = largest([...imports], ([, files]) => files.length);
print("largest fan-in", `${mostImported[1]} ${mostImported[0]}`);
print("largest fan-out", `${mostImporting[1].length} ${mostImporting[0]}`);
const once = [...importers.values()].filter((count) => count === 1).length;
print("files with exactly one importer", String(once));
const rings = circles(imports);
print(
  "import circles, types counted",
  `${rings.length}, with ${sum(rings.map((ring) => ring.length))} files`,
);

const places = new Map();
for (const source of sources)
  for (const name of new Set(topNames(source))) places.set(name, (places.get(name) ?? 0) + 1);
const repeated = largest(
  [...places].filter(([, count]) => count > 1),
  ([, count]) => count,
);
print(
  "top-level names declared in several files",
  String(repeated.length),
  [
    repeated
      .slice(0, 10)
      .map(([name, count]) => `${name} ${count}`)
      .join(", "),
  ].filter(Boolean),
);
print("conditional spreads", String(sum(sources.map(conditionalSpreads))));
const commented = sum(
  sources.flatMap(({ comments }) => comments.map(({ start, end }) => end - start)),
);
const share = commented / sum(sources.map(({ text }) => text.length));
print("comments, as a share of all characters", `${(share * 100).toFixed(1)} %`);
