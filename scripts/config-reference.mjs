// Writes docs/configuration.md from the schema that the configuration is checked against, so that the two cannot differ. With --check it
// only says whether the page is as it should be. Run from the repository root.
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
    rows.length === 0 ? [`Takes ${kindOf(value)}.`] : ["| key | takes | |", "|---|---|---|"];
  return [`## ${key}`, value.description ?? "", "", ...head, ...table, ""].join("\n");
});

const text = `# Configuration
Nothing needs to be configured. \`~/.plimsoll/config.yaml\` (or \`config.toml\`, or \`--config FILE\`, or \`PLIMSOLL_CONFIG\`) is read when the service starts; limits and progress
can be changed on the dashboard's settings page too, which writes into the same file and keeps its comments. Unknown keys are errors that name the nearest known one.
Flags win over environment, environment over file, file over default.

This page is made from the schema by \`node scripts/config-reference.mjs\`; \`npm test\` fails when the two differ.

${sections.join("\n")}`;

if (process.argv.includes("--check")) {
  if (readFileSync(page, "utf8") === text) process.exit(0);
  console.error(`${page} is not what the schema says: run \`node scripts/config-reference.mjs\`.`);
  process.exit(1);
}
writeFileSync(page, text);
