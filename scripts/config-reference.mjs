// Writes docs/configuration.md from the schema that the configuration is checked against, so that the two cannot differ. With --check it
// only says whether the page is as it should be. Run from the repository root.
import { readFileSync, writeFileSync } from "node:fs";
import { configJsonSchema } from "../packages/plimsoll/src/config/schema.ts";

const page = "docs/configuration.md";

/** What a value may be, in a few words. */
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

/** One row for each key, in the order of the schema; what stands inside of it follows. */
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
