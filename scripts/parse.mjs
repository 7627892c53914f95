// Parses TypeScript into a syntax tree, for the scripts that check sources. Uses knip's parser, because `npm test`
// needs knip anyway.
import { createRequire } from "node:module";

const { parseSync } = createRequire(import.meta.resolve("knip"))("oxc-parser");

/** The statements and comments of a file. Contract: throws if the file is not TypeScript. */
export function parse(file, text) {
  const { program, comments, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0].message}`);
  return { statements: program.body, comments };
}

/** The direct children of a node. */
export function childrenOf(node) {
  return Object.values(node)
    .flat()
    .filter((value) => typeof value?.type === "string");
}

/** A node and all its descendants. `enter` decides for each node whether to visit its children. */
export function walk(node, enter) {
  if (enter(node) === false) return;
  for (const child of childrenOf(node)) walk(child, enter);
}
