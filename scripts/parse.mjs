// TypeScript as a syntax tree, for the scripts that look at sources. The parser is the one of knip, which `npm test` needs anyway.
import { createRequire } from "node:module";

const { parseSync } = createRequire(import.meta.resolve("knip"))("oxc-parser");

/** The statements of a file, and its comments. Contract: throws at a file that is no TypeScript. */
export function parse(file, text) {
  const { program, comments, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0].message}`);
  return { statements: program.body, comments };
}

/** The nodes directly below a node. */
export function childrenOf(node) {
  return Object.values(node)
    .flat()
    .filter((value) => typeof value?.type === "string");
}

/** A node and all below it; `enter` says of each whether to look below that one. */
export function walk(node, enter) {
  if (enter(node) === false) return;
  for (const child of childrenOf(node)) walk(child, enter);
}
