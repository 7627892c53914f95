// Measures files, functions, interfaces and imports in the package's sources. Tests are not counted. measure.mjs prints the
// figures; tidy.mjs checks some of them against limits.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { childrenOf, parse, walk } from "./parse.mjs";

/**
 * The most names of one function, and the most members of one type, that a reader can keep in mind. too-wide.json lists
 * the exceptions.
 */
export const mostNames = 15;
export const mostMembers = 16;

/** Every source file, with its path below the folder, its text and its syntax tree. */
export function readSources(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /(?<!\.test)\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted()
    .map((file) => {
      const text = readFileSync(file, "utf8");
      return { name: relative(folder, file), text, ...parse(file, text) };
    });
}

const isFunction = ({ type }) =>
  type === "FunctionDeclaration" ||
  type === "FunctionExpression" ||
  type === "ArrowFunctionExpression";

/** Top-level declarations of a file, exported or not. */
function topDeclarations({ statements }) {
  return statements.flatMap((statement) => {
    if (statement.type === "ExportNamedDeclaration")
      return statement.declaration === null
        ? []
        : [{ node: statement.declaration, isExported: true }];
    return [{ node: statement, isExported: false }];
  });
}

/** Top-level functions of a file: function declarations, functions in constants, and methods of classes. */
export function topFunctions(source) {
  return topDeclarations(source).flatMap(({ node }) => {
    if (node.type === "FunctionDeclaration") return [sizeOf(source, node.id.name, node)];
    if (node.type === "VariableDeclaration")
      return node.declarations
        .filter(({ init }) => init && isFunction(init))
        .map(({ id, init }) => sizeOf(source, id.name, init));
    if (node.type === "ClassDeclaration")
      return node.body.body
        .filter(({ type, value }) => type === "MethodDefinition" && value.body)
        .map(({ key, value }) => sizeOf(source, `${node.id.name}.${key.name}`, value));
    return [];
  });
}

function sizeOf(source, name, node) {
  return { file: source.name, name, lines: linesOf(source.text, node), names: namesIn(node) };
}

/** Every function, including nested ones. */
export function allFunctions(source) {
  const found = [];
  for (const statement of source.statements)
    walk(statement, (node) => {
      if (isFunction(node) && node.body)
        found.push({
          file: source.name,
          name: node.id?.name ?? "",
          lines: linesOf(source.text, node),
          parameters: node.params.length,
        });
    });
  return found;
}

const linesOf = (text, { start, end }) => text.slice(start, end).split("\n").length;

/** The names that a pattern binds. */
function boundBy(pattern) {
  switch (pattern?.type) {
    case "Identifier":
      return pattern.name === "this" ? [] : [pattern.name];
    case "ObjectPattern":
      return pattern.properties.flatMap((property) => boundBy(property.value ?? property.argument));
    case "ArrayPattern":
      return pattern.elements.flatMap(boundBy);
    case "AssignmentPattern":
      return boundBy(pattern.left);
    case "RestElement":
      return boundBy(pattern.argument);
    case "TSParameterProperty":
      return boundBy(pattern.parameter);
    default:
      return [];
  }
}

/**
 * Number of distinct names in a function: its parameters and locals, without those of nested functions. Two loops over
 * `index` count once.
 */
function namesIn(node) {
  const names = node.params.flatMap(boundBy);
  const look = (child) => {
    if (child.type === "VariableDeclarator") names.push(...boundBy(child.id));
    if (child.type === "CatchClause") names.push(...boundBy(child.param));
    if (child.type === "FunctionDeclaration" || child.type === "ClassDeclaration")
      names.push(child.id.name);
    if (isFunction(child) || child.type === "ClassBody") return false;
  };
  for (const child of childrenOf(node.body)) walk(child, look);
  return new Set(names).size;
}

/**
 * Exported interfaces and object types, with the members that they declare themselves. Rows of the store are left out:
 * they match their tables.
 */
export function exportedShapes(source) {
  return topDeclarations(source).flatMap(({ node, isExported }) => {
    if (!isExported || isRow(source.name, node.id?.name)) return [];
    const members =
      node.type === "TSInterfaceDeclaration"
        ? node.body.body
        : node.type === "TSTypeAliasDeclaration" && node.typeAnnotation.members;
    if (!members) return [];
    return [{ file: source.name, name: node.id.name, members: members.length }];
  });
}

const isRow = (file, name = "") => file.startsWith("store/") && name.endsWith("Record");

/** The top-level names of a file. */
export function topNames(source) {
  return topDeclarations(source).flatMap(({ node }) =>
    node.type === "VariableDeclaration"
      ? node.declarations.flatMap(({ id }) => boundBy(id))
      : node.id
        ? [node.id.name]
        : [],
  );
}

/** Each file with the files that it imports, types included. */
export function importsOf(sources) {
  const known = new Set(sources.map(({ name }) => name));
  return new Map(
    sources.map(({ name, statements }) => {
      const imported = statements
        .flatMap(({ source }) => (source?.value?.startsWith(".") ? [source.value] : []))
        .map((path) => join(dirname(name), path))
        .filter((path) => known.has(path));
      return [name, [...new Set(imported)]];
    }),
  );
}

/** Import cycles: groups of two or more files that reach each other (Tarjan's algorithm). */
export function circles(imports) {
  const order = new Map();
  const lowest = new Map();
  const stack = [];
  const found = [];
  const visit = (file) => {
    order.set(file, order.size);
    lowest.set(file, order.get(file));
    stack.push(file);
    for (const next of imports.get(file)) {
      if (!order.has(next)) visit(next);
      if (stack.includes(next)) lowest.set(file, Math.min(lowest.get(file), lowest.get(next)));
    }
    if (lowest.get(file) !== order.get(file)) return;
    const group = stack.splice(stack.indexOf(file));
    if (group.length > 1) found.push(group);
  };
  for (const file of imports.keys()) if (!order.has(file)) visit(file);
  return found;
}

/** `...(condition ? … : …)` and `...(condition && …)`. */
export function conditionalSpreads({ statements }) {
  let count = 0;
  for (const statement of statements)
    walk(statement, ({ type, argument }) => {
      if (type !== "SpreadElement") return;
      const inner = argument.type === "ParenthesizedExpression" ? argument.expression : argument;
      if (inner.type === "ConditionalExpression" || inner.type === "LogicalExpression") count += 1;
    });
  return count;
}
