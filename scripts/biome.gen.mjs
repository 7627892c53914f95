// Writes biome.json from the list of rooms, so that one list says which room may import which.
// Run from the repository root: node scripts/biome.gen.mjs (`npm test` fails if biome.json is out of date).
import { writeFileSync } from "node:fs";
import { posix } from "node:path";
import { rooms, source } from "./rooms.mjs";

function rulesFor({ name, isPure }, index) {
  const later = rooms.slice(index + 1);
  const style = {
    noRestrictedImports: {
      level: "error",
      options: {
        patterns: [
          {
            group: patternsOf(name, later),
            message: `${name}/ imports only rooms before it: see scripts/rooms.mjs.`,
          },
        ],
      },
    },
  };
  const rules = later.length > 0 ? { style } : {};
  if (isPure) {
    rules.correctness = { noNodejsModules: "error" };
    style.noRestrictedGlobals = {
      level: "error",
      options: {
        deniedGlobals: {
          fetch: "Pure room: take the capability as a parameter.",
          Date: "Pure room: take `now` as a parameter.",
          process: "Pure room: configuration arrives as a parameter.",
          setTimeout: "Pure room: no timers.",
        },
      },
    };
  }
  return { includes: [`${posix.join(source, name)}/*.ts`, "!**/*.test.ts"], linter: { rules } };
}

/** If all rooms of a folder come later, the rule names the folder as a whole. */
function patternsOf(name, later) {
  const isLater = (room) => later.includes(room);
  const isBelow = (folder, room) => room.name === folder || room.name.startsWith(`${folder}/`);
  const wholes = later
    .flatMap(({ name: path }) =>
      path.split("/").map((_, at, all) => all.slice(0, at + 1).join("/")),
    )
    .filter((folder) => folder !== ".")
    .filter((folder) => rooms.every((room) => !isBelow(folder, room) || isLater(room)));
  const folders = [...new Set(wholes)].filter((folder) => !wholes.includes(posix.dirname(folder)));
  const single = later.filter((room) => !folders.some((folder) => isBelow(folder, room)));
  return [
    ...folders.map((folder) => `${pathBetween(name, folder)}/**`),
    ...single.map((room) => `${pathBetween(name, room.name)}/*.ts`),
  ];
}

/** The pattern as it appears in an import. */
function pathBetween(from, to) {
  const path = posix.relative(posix.join(source, from), posix.join(source, to));
  return path.startsWith(".") ? path : `./${path}`;
}

const config = {
  files: {
    includes: [
      "packages/*/src/**/*.ts",
      "packages/*/test/**/*.ts",
      "packages/*/demo/**/*.ts",
      "apps/*/src/**/*.ts",
      "apps/*/*.ts",
      "bench/**/*.ts",
      "examples/**/*.ts",
      "scripts/*.mjs",
    ],
  },
  formatter: { indentStyle: "space", indentWidth: 2, lineWidth: 100 },
  json: { formatter: { enabled: false } },
  linter: {
    rules: {
      preset: "recommended",
      complexity: {
        noExcessiveCognitiveComplexity: { level: "warn", options: { maxAllowedComplexity: 15 } },
        noExcessiveLinesPerFunction: {
          level: "warn",
          options: { maxLines: 70, skipBlankLines: true },
        },
        useMaxParams: { level: "warn", options: { max: 4 } },
        // The compiler requires brackets for index signatures (noPropertyAccessFromIndexSignature).
        useLiteralKeys: "off",
      },
      correctness: {
        noUndeclaredDependencies: "error",
        noUnusedImports: "error",
        noUnusedVariables: "error",
      },
      performance: { noBarrelFile: "error", noReExportAll: "error" },
      style: {
        noExcessiveLinesPerFile: {
          level: "warn",
          options: { maxLines: 400, skipBlankLines: true },
        },
        noEnum: "error",
        noNonNullAssertion: "error",
        noDefaultExport: "error",
        useFilenamingConvention: { level: "error", options: { filenameCases: ["kebab-case"] } },
        useImportType: "error",
        useNodejsImportProtocol: "error",
        noParameterAssign: "error",
      },
      suspicious: {
        noExplicitAny: "error",
        noConsole: "error",
        noEmptyBlockStatements: "error",
        noImportCycles: { level: "error", options: { ignoreTypes: false } },
      },
      nursery: { noFloatingPromises: "error", noMisusedPromises: "error" },
    },
  },
  overrides: [
    ...rooms.map(rulesFor),
    {
      includes: [`${source}/index.ts`],
      linter: { rules: { performance: { noBarrelFile: "off" } } },
    },
    {
      includes: [`${source}/cli/**`, "bench/**", "examples/**", "scripts/**"],
      linter: { rules: { suspicious: { noConsole: "off" } } },
    },
    {
      includes: ["**/*.test.ts", "packages/plimsoll/test/**"],
      linter: {
        rules: {
          complexity: { noExcessiveLinesPerFunction: "off" },
          style: { noExcessiveLinesPerFile: "off" },
        },
      },
    },
  ],
};
writeFileSync("biome.json", `${JSON.stringify(config, null, 2)}\n`);
