// Prints every source file with the first sentence of its first comment, room by room, then the dashboard: npm run map [-- room…]
// --write updates the table of rooms in ARCHITECTURE.md. --check fails if the table is out of date.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { rooms, source } from "./rooms.mjs";

const page = "ARCHITECTURE.md";
const dashboard = "apps/dashboard/src";
const isSource = /(?<!\.test|\.d)\.ts$|\.svelte$/;
const between = /(?<=<!-- rooms: [^>]*-->\n)[\s\S]*(?=<!-- \/rooms -->)/;

function table() {
  const rows = rooms.map(
    ({ name, front, purpose, isPure }) =>
      `| \`${name === "." ? "" : `${name}/`}${front}\` | ${purpose}${isPure ? " (pure)" : ""} |`,
  );
  return ["| room and the file to start at | purpose |", "|---|---|", ...rows, ""].join("\n");
}

/** The first comment is a `/** … *\/`, or `<!-- @component … -->` in a component. */
function firstSentence(text) {
  const [, component, comment = ""] =
    /<!-- @component([\s\S]*?)-->|\/\*\*([\s\S]*?)\*\//.exec(text) ?? [];
  const words = (component ?? comment.replace(/^\s*\*\s?/gm, " ")).replace(/\s+/g, " ").trim();
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
} else {
  const screens = ["", "overview", "session", "settings", "errors", "token", "ui"].map((name) => ({
    name: join(dashboard, name),
    folder: join(dashboard, name),
    purpose: "Files of the dashboard.",
  }));
  for (const { name, folder = join(source, name), purpose } of [...rooms, ...screens]) {
    if (args.length > 0 && !args.includes(name)) continue;
    console.log(`\n${name}/  ${purpose}`);
    for (const file of readdirSync(folder).filter((one) => isSource.test(one)))
      console.log(
        `  ${file.padEnd(34)} ${firstSentence(readFileSync(join(folder, file), "utf8"))}`,
      );
  }
}
