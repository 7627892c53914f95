// Writes docs/configuration.md from the schema of the configuration, so that the two cannot differ. With --check, it only
// checks whether the page is up to date. Run from the repository root.
import { readFileSync, writeFileSync } from "node:fs";
import { configJsonSchema } from "../packages/plimsoll/src/config/schema.ts";

const page = "docs/configuration.md";

/** The type of a value, in a few words. */
function kindOf(schema) {
  if (schema.enum) return schema.enum.map((value) => `\`${value}\``).join(", ");
  if (schema.anyOf) {
    const kinds = schema.anyOf.map(kindOf);
    return [...new Set(kinds)].join(" or ");
  }
  if (schema.const !== undefined) return `\`${schema.const}\``;
  if (schema.type === "array") return `list of ${plural(kindOf(schema.items ?? {}))}`;
  if (schema.type === "object") return schema.properties ? "keys below" : "names below";
  if (schema.format === "uri") return "address";
  if (schema.type === "integer" || schema.type === "number") return numberKind(schema);
  return { string: "text", boolean: "`true`, `false`" }[schema.type] ?? "anything";
}

const plural = (kind) => ({ text: "texts", "keys below": "entries" })[kind] ?? kind;

function numberKind({ type, minimum, maximum, exclusiveMinimum }) {
  const word = type === "integer" ? "whole number" : "number";
  if (exclusiveMinimum !== undefined) return `${word} above ${exclusiveMinimum}`;
  const least = minimum;
  const hasMost = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER;
  if (hasMost) return `${word}, ${least ?? "up"} to ${maximum}`;
  return least === undefined || least === 0 ? word : `${word}, ${least} or more`;
}

/** One row for each key, in the order of the schema. The keys inside a key follow it. */
function rowsOf(schema, path) {
  const inside = [];
  for (const [key, value] of Object.entries(schema.properties ?? {})) {
    const name = path === "" ? key : `${path}.${key}`;
    inside.push([name, kindOf(value), value.description ?? ""], ...rowsOf(value, name));
  }
  const named = schema.additionalProperties;
  if (named && typeof named === "object") inside.push(...namedRows(named, path));
  if (schema.type === "array") inside.push(...rowsOf(schema.items ?? {}, `${path}[]`));
  for (const one of schema.anyOf ?? []) inside.push(...rowsOf(one, path));
  return inside;
}

function namedRows(schema, path) {
  const name = `${path}.NAME`;
  return schema.type === "object" ? rowsOf(schema, name) : [[name, kindOf(schema), ""]];
}

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
