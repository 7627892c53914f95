// The public API of the package, as a user's compiler sees it: every export of every entry in package.json, and the types
// that these exports use. `npm run api` prints it, `-- --write` writes packages/plimsoll/api.md, and `-- --check` fails if that
// file is out of date. Comments are left out, so the page changes only when the API does.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { parse, walk } from "./parse.mjs";

const home = resolve("packages/plimsoll");
const page = "packages/plimsoll/api.md";

/** The path that programs import, and its source file. */
function entries() {
  const { exports } = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
  return Object.entries(exports)
    .filter(([, files]) => files.types !== undefined)
    .map(([path, { types }]) => [
      join("plimsoll", path),
      types.replace("dist/types/", "src/").replace(".d.ts", ".ts"),
    ]);
}

/** Writes the declarations of the entries and of everything they import into a folder with the same layout as the package. */
function emitDeclarations(files) {
  const folder = mkdtempSync(join(tmpdir(), "plimsoll-api-"));
  const config = join(folder, "tsconfig.json");
  const settings = {
    extends: resolve("tsconfig.json"),
    compilerOptions: {
      noEmit: false,
      emitDeclarationOnly: true,
      removeComments: true,
      rootDir: home,
      outDir: folder,
      typeRoots: [resolve("node_modules/@types")],
    },
    files: files.map((file) => resolve(home, file)),
    include: [],
  };
  writeFileSync(config, JSON.stringify(settings));
  const { status, stdout } = spawnSync("tsc", ["-p", config], {
    encoding: "utf8",
    shell: process.platform === "win32",
  });
  if (status !== 0) throw new Error(`The declarations could not be made:\n${stdout}`);
  return folder;
}

/** Resolves an import in `file` to a declaration file or to another package. */
function meant(file, source) {
  if (!source.startsWith(".")) return { package: source };
  return join(dirname(file), source.replace(/\.tsx?$/, ".d.ts"));
}

/** The contents of a declaration file: its own declarations by name, its imports, and its exports. */
function readDeclarations(file) {
  const text = readFileSync(file, "utf8");
  const found = { text, own: new Map(), imported: new Map(), exported: new Map() };
  for (const statement of parse(file, text).statements) {
    if (statement.type === "ExportAllDeclaration") throw new Error(`${file}: export * is not read`);
    if (statement.type === "ImportDeclaration") readImport(file, statement, found);
    else if (statement.type === "ExportNamedDeclaration") readExport(file, statement, found);
    else readOwn(statement, found);
  }
  return found;
}

function readImport(file, { source, specifiers }, { imported }) {
  for (const { local, imported: name } of specifiers)
    imported.set(local.name, { file: meant(file, source.value), name: name?.name ?? "*" });
}

function readExport(file, { declaration, source, specifiers }, found) {
  if (declaration !== null)
    for (const name of readOwn(declaration, found)) found.exported.set(name, { file, name });
  for (const { local, exported: name } of specifiers) {
    const here = found.imported.get(local.name) ?? { file, name: local.name };
    found.exported.set(
      name.name,
      source === null ? here : { file: meant(file, source.value), name: local.name },
    );
  }
}

/** A name may have several declarations: overloads, or an interface that is declared in two places. */
function readOwn(node, { own }) {
  const ids = node.type === "VariableDeclaration" ? node.declarations : [node];
  const names = ids.map(({ id }) => id.name);
  for (const name of names) own.set(name, [...(own.get(name) ?? []), node]);
  return names;
}

/** The type names that a declaration mentions, and its inline imports. */
function mentionedBy(node) {
  const names = new Set();
  const inPlace = [];
  const leftmost = (name) => (name.type === "TSQualifiedName" ? leftmost(name.left) : name);
  walk(node, (child) => {
    const named =
      child.typeName ??
      child.exprName ??
      child.superClass ??
      (child.type === "TSInterfaceHeritage" || child.type === "TSClassImplements"
        ? child.expression
        : undefined);
    if (named?.type) names.add(leftmost(named).name);
    if (child.type === "TSImportType") inPlace.push([child.source.value, child.qualifier?.name]);
  });
  return { names, inPlace };
}

class Reader {
  #folder;
  #files = new Map();

  constructor(folder) {
    this.#folder = folder;
  }

  fileOf(source) {
    return join(this.#folder, source.replace(/\.tsx?$/, ".d.ts"));
  }

  open(file) {
    if (!this.#files.has(file)) this.#files.set(file, readDeclarations(file));
    return this.#files.get(file);
  }

  /** The place where a name is declared, after following all re-exports; undefined if it is in another package. */
  find({ file, name }) {
    if (typeof file !== "string") return undefined;
    const { own, exported } = this.open(file);
    if (own.has(name)) return { file, name };
    const next = exported.get(name);
    if (next === undefined) throw new Error(`${file} has no ${name}`);
    return this.find(next);
  }

  /** The declarations of this package that a declaration mentions. */
  reachedFrom({ file, name }) {
    const { own, imported } = this.open(file);
    return own.get(name).flatMap((node) => {
      const { names, inPlace } = mentionedBy(node);
      const places = [...names].flatMap((mentioned) => {
        if (own.has(mentioned)) return [{ file, name: mentioned }];
        return imported.has(mentioned) ? [imported.get(mentioned)] : [];
      });
      const others = inPlace
        .filter(([source]) => source.startsWith("."))
        .map(([source, mentioned]) => ({ file: meant(file, source), name: mentioned }));
      return [...places, ...others].flatMap((place) => this.find(place) ?? []);
    });
  }

  textOf({ file, name }) {
    const { own, text } = this.open(file);
    return own
      .get(name)
      .map(({ start, end }) => text.slice(start, end).replace(/^declare /, ""))
      .join("\n");
  }
}

const byText = (left, right) => (left < right ? -1 : Number(left > right));
const keyOf = ({ file, name }) => `${name}\0${file}`;
const block = (texts) => ["```ts", ...texts, "```", ""].join("\n");

/** Everything that these places reach, without the places themselves. */
function reachedFrom(reader, starts) {
  const seen = new Map(starts.map((place) => [keyOf(place), place]));
  const waiting = [...starts];
  for (let place = waiting.pop(); place !== undefined; place = waiting.pop())
    for (const next of reader.reachedFrom(place)) {
      if (seen.has(keyOf(next))) continue;
      seen.set(keyOf(next), next);
      waiting.push(next);
    }
  for (const place of starts) seen.delete(keyOf(place));
  return [...seen.values()];
}

function describe(reader, entryFiles) {
  const starts = new Map();
  const sections = entryFiles.map(([path, source]) => {
    const names = [...reader.open(reader.fileOf(source)).exported].toSorted(([left], [right]) =>
      byText(left, right),
    );
    const texts = names.map(([name, target]) => {
      const place = reader.find(target);
      if (place === undefined) return `${name} // of ${target.file.package}`;
      if (starts.has(keyOf(place))) return `${name} // as in ${starts.get(keyOf(place)).path}`;
      starts.set(keyOf(place), { ...place, path });
      return reader.textOf(place);
    });
    return `## \`${path}\`\n${block(texts)}`;
  });
  const reached = reachedFrom(reader, [...starts.values()])
    .map((place) => ({ ...place, text: reader.textOf(place) }))
    .toSorted((left, right) => byText(left.name, right.name) || byText(left.text, right.text))
    .map(({ text }) => text);
  return [
    "# The public API",
    "Every entry of the package, what it exports, and below the types that these reach. Made by `npm run api -- --write`; `npm test` fails where the code says otherwise.",
    "",
    ...sections,
    "## Types that these reach",
    "No entry exports them by name.",
    "",
    block(reached),
  ].join("\n");
}

function main(flags) {
  const entryFiles = entries();
  const folder = emitDeclarations(entryFiles.map(([, file]) => file));
  let after;
  try {
    after = describe(new Reader(folder), entryFiles);
  } finally {
    rmSync(folder, { recursive: true });
  }
  if (flags.includes("--write")) writeFileSync(page, after);
  else if (!flags.includes("--check")) process.stdout.write(after);
  else if (readFileSync(page, "utf8") !== after) {
    console.error(
      `The public API is no longer what ${page} says. Where that is meant, \`npm run api -- --write\` accepts it: commit the page, and tell of the change in CHANGELOG.md.`,
    );
    process.exit(1);
  }
}

main(process.argv.slice(2));
