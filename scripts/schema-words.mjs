// Says in a few words what a JSON schema allows, for the tables of pages that are made from schemas.

/** The values that a schema allows, in a few words. */
export function kindOf(schema) {
  // A schema may bring its own words, for example for a number that is sent as text.
  if (schema.words) return withMost(schema);
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

function withMost({ words, most }) {
  return most === undefined || most === Number.MAX_SAFE_INTEGER
    ? words
    : `${words}, at most ${most}`;
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
export function rowsOf(schema, path) {
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
