/**
 * The parser. Every language except JavaScript and TypeScript needs a package. Code in a language without a parser is cut by
 * lines.
 */

import type { SgNode } from "@ast-grep/napi";
import { loadOptional } from "../../../message/optional-packages.ts";

export type SyntaxNode = SgNode;

interface Parser {
  readonly parse: (language: string, text: string) => SyntaxNode;
}

const added = ["c", "cpp", "go", "java", "python", "rust"] as const;

async function loadParser(): Promise<Parser> {
  const { parse, registerDynamicLanguage } = await import("@ast-grep/napi");
  const modules = await Promise.all([
    import("@ast-grep/lang-c"),
    import("@ast-grep/lang-cpp"),
    import("@ast-grep/lang-go"),
    import("@ast-grep/lang-java"),
    import("@ast-grep/lang-python"),
    import("@ast-grep/lang-rust"),
  ]);
  const languages = added.map((name, index) => [name, modules[index]?.default]);
  registerAll(() => registerDynamicLanguage(Object.fromEntries(languages) as never));
  return { parse: (language, text) => parse(language, text).root() };
}

/** ast-grep accepts one registration per process. If other code registers first, only JavaScript and TypeScript can be parsed. */
function registerAll(register: () => void): "registered" | "taken" {
  try {
    register();
    return "registered";
  } catch {
    return "taken";
  }
}

const loaded = await loadOptional("code", loadParser);
const parser = loaded.kind === "loaded" ? loaded.module : undefined;

/** A sentence for people that says why there is no parser. Undefined if there is no problem to report. */
export const parserProblem: string | undefined =
  loaded.kind === "unusable" ? loaded.sentence : undefined;

/** Undefined if there is no parser for the language. */
export function parseCode(language: string, text: string): SyntaxNode | undefined {
  try {
    return parser?.parse(language, text);
  } catch {
    return undefined;
  }
}

const errors = { rule: { kind: "ERROR" } };
/** Matches the empty leaves that the parser inserted. This form of the rule takes linear time at any depth. */
const missing = { rule: { all: [{ not: { has: { not: { kind: "ERROR" } } } }, { regex: "^$" }] } };

export type Cleanness = "clean" | "broken";

/** Clean means that the parser found no ERROR and no MISSING node. */
export function cleannessOf(root: SyntaxNode): Cleanness {
  const hasText = root.range().end.index > 0;
  if (!hasText) return "clean";
  return root.find(errors) === null && root.find(missing) === null ? "clean" : "broken";
}
