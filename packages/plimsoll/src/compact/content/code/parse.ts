/** The parser: built in for scripts, added for other languages. Where it cannot be loaded, code is cut by lines. */

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

/** It listens to the first call of a process only: whoever was first may have taken other languages; scripts are built in. */
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

/** Why there is no parser, for people; undefined where there is one. */
export const parserProblem: string | undefined =
  loaded.kind === "unusable" ? loaded.sentence : undefined;

/** Undefined when there is no parser for it. */
export function parseCode(language: string, text: string): SyntaxNode | undefined {
  try {
    return parser?.parse(language, text);
  } catch {
    return undefined;
  }
}

const errors = { rule: { kind: "ERROR" } };
/** A leaf without text is one that the parser had to add. Asked in this way it takes linear time at any depth. */
const missing = { rule: { all: [{ not: { has: { not: { kind: "ERROR" } } } }, { regex: "^$" }] } };

export type Cleanness = "clean" | "broken";

/** Whether the parser found nothing wrong: no ERROR and no MISSING node. */
export function cleannessOf(root: SyntaxNode): Cleanness {
  const hasText = root.range().end.index > 0;
  if (!hasText) return "clean";
  return root.find(errors) === null && root.find(missing) === null ? "clean" : "broken";
}
