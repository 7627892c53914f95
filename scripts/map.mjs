// Prints every source file with the first sentence of its first comment, room by room: npm run map [-- room…]
// --write updates the table of rooms in ARCHITECTURE.md. --check fails if the table is out of date.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { rooms, source } from "./rooms.mjs";

const page = "ARCHITECTURE.md";
const between = /(?<=<!-- rooms: [^>]*-->\n)[\s\S]*(?=<!-- \/rooms -->)/;

function table() {
  const rows = rooms.map(
    ({ name, front, purpose, isPure }) =>
      `| \`${name === "." ? "" : `${name}/`}${front}\` | ${purpose}${isPure ? " (pure)" : ""} |`,
  );
  return ["| room and the file to start at | purpose |", "|---|---|", ...rows, ""].join("\n");
}

function firstSentence(text) {
  const comment = /\/\*\*([\s\S]*?)\*\//.exec(text)?.[1] ?? "";
  const words = comment.replace(/\n?\s*\*\s?/g, " ").trim();
  return /^.*?\.(?=\s|$)/.exec(words)?.[0] ?? words;
}

const args = process.argv.slice(2);
const before = readFileSync(page, "utf8");
const after = before.replace(between, () => table());
if (args.includes("--write")) writeFileSync(page, after);
else if (args.includes("--check")) {
  if (before !== after) {
    console.error(
      `${page}: the table of rooms does not match scripts/rooms.mjs. Run: npm run map -- --write`,
    );
    process.exit(1);
  }
} else
  for (const { name, purpose } of rooms) {
    if (args.length > 0 && !args.includes(name)) continue;
    console.log(`\n${name}/  ${purpose}`);
    const files = readdirSync(join(source, name)).filter((file) => /(?<!\.test)\.ts$/.test(file));
    for (const file of files)
      console.log(
        `  ${file.padEnd(34)} ${firstSentence(readFileSync(join(source, name, file), "utf8"))}`,
      );
  }
