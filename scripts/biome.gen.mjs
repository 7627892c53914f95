// Writes biome.json from the table of layers, so that the rule "which folder may import which" stands in one place.
// Run from the repository root: node scripts/biome.gen.mjs (`npm test` fails when biome.json is not what this writes).
import { writeFileSync } from "node:fs";

const source = "packages/plimsoll/src";

const mayImport = {
  message: [],
  search: ["message"],
  budget: ["message"],
  offload: ["message", "search", "budget"],
  compact: ["message", "search", "budget"],
  prompt: ["message", "budget"],
  wire: ["message"],
  watch: ["message"],
  store: ["message", "search"],
  session: ["message", "search", "budget", "offload", "compact", "prompt", "wire", "store"],
  work: ["message", "store", "session"],
  loop: ["message", "session", "work"],
  server: ["message", "prompt", "wire", "session", "work", "offload", "store"],
  cli: [
    "message",
    "search",
    "budget",
    "offload",
    "compact",
    "prompt",
    "wire",
    "watch",
    "store",
    "session",
    "work",
    "loop",
    "server",
  ],
};
/** Single files that a folder may take types from, beside what its row says. */
const mayImportTypes = { offload: ["message/strategy.ts"] };
const pureFolders = [
  "message",
  "search",
  "budget",
  "offload",
  "compact",
  "prompt",
  "wire",
  "watch",
];

function rulesFor(folder) {
  const forbidden = Object.keys(mayImport).filter(
    (other) => other !== folder && !mayImport[folder].includes(other),
  );
  const types = mayImportTypes[folder] ?? [];
  const style = {
    noRestrictedImports: {
      level: "error",
      options: {
        patterns: [
          {
            group: [
              ...forbidden.flatMap((other) => [
                `../${other}/**`,
                `../../${other}/**`,
                `../../../${other}/**`,
              ]),
              ...types.map((file) => `!../${file}`),
            ],
            message: `${folder}/ may import only: ${[...mayImport[folder], ...types].join(", ") || "nothing of ours"}. See ARCHITECTURE.md.`,
          },
        ],
      },
    },
  };
  const rules = { style };
  if (pureFolders.includes(folder)) {
    rules.correctness = { noNodejsModules: "error" };
    style.noRestrictedGlobals = {
      level: "error",
      options: {
        deniedGlobals: {
          fetch: "Pure folder: take the capability as a parameter.",
          Date: "Pure folder: take `now` as a parameter.",
          process: "Pure folder: configuration arrives as a parameter.",
          setTimeout: "Pure folder: no timers.",
        },
      },
    };
  }
  return { includes: [`${source}/${folder}/**`, "!**/*.test.ts"], linter: { rules } };
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
    // React draws `plimsoll top` and nothing else: elsewhere `useOf` is no hook.
    domains: { react: "none" },
    rules: {
      preset: "recommended",
      complexity: {
        noExcessiveCognitiveComplexity: { level: "warn", options: { maxAllowedComplexity: 15 } },
        noExcessiveLinesPerFunction: {
          level: "warn",
          options: { maxLines: 70, skipBlankLines: true },
        },
        useMaxParams: { level: "warn", options: { max: 4 } },
        // The compiler asks for brackets on index signatures (noPropertyAccessFromIndexSignature).
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
        noImportCycles: "error",
      },
      nursery: { noFloatingPromises: "error", noMisusedPromises: "error" },
    },
  },
  overrides: [
    ...Object.keys(mayImport).map(rulesFor),
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
