// Writes docs/configuration.md from the schema of the configuration, so that the two cannot differ. With --check, it only
// checks whether the page is up to date. Run from the repository root.
import { readFileSync, writeFileSync } from "node:fs";
import { configJsonSchema } from "../packages/plimsoll/src/config/schema.ts";
import { kindOf, rowsOf } from "./schema-words.mjs";

const page = "docs/configuration.md";

const schema = configJsonSchema();
const sections = Object.entries(schema.properties).map(([key, value]) => {
  const rows = rowsOf(value, key);
  const table = rows.map(
    ([name, kind, text]) => `| \`${name}\` | ${kind.replaceAll("|", "\\|")} | ${text} |`,
  );
  const head =
    rows.length === 0
      ? [`Value: ${kindOf(value)}.`]
      : ["| key | value | meaning |", "|---|---|---|"];
  return [`## ${key}`, value.description ?? "", "", ...head, ...table, ""].join("\n");
});

const text = `# Configuration
You do not need to configure anything. Plimsoll reads \`~/.plimsoll/config.yaml\` (or \`config.toml\`, or \`--config FILE\`, or \`PLIMSOLL_CONFIG\`) when the service starts. You can also change limits and progress
on the dashboard's settings page, which writes to the same file and keeps its comments. Unknown keys are errors; the message names the nearest known key.
Flags win over the environment, the environment wins over the file, and the file wins over defaults.

\`node scripts/config-reference.mjs\` generates this page from the schema. \`npm test\` fails if the two differ.

${sections.join("\n")}`;

if (process.argv.includes("--check")) {
  if (readFileSync(page, "utf8") === text) process.exit(0);
  console.error(`${page} does not match the schema. Run \`node scripts/config-reference.mjs\`.`);
  process.exit(1);
}
writeFileSync(page, text);
