/** Programming languages as data. Node names are those of the tree-sitter grammars. */

export interface Language {
  /** The parser's name for the language. */
  readonly name: string;
  /** File extensions of the language, and its names after a Markdown fence. */
  readonly endings: readonly string[];
  readonly lineComment: string;
  readonly hasBlockComment: boolean;
  /** Nodes whose body is a list of statements. */
  readonly functions: readonly string[];
  /**
   * Nodes whose body is a list of declarations. Needed only for grammars that use the same kind of node for lists of statements.
   */
  readonly classes?: readonly string[];
  /** Lists of declarations: the bodies of classes, interfaces and enumerations. */
  readonly members: readonly string[];
  /** Lists of statements, in any construct. */
  readonly blocks: readonly string[];
  /** Lists of values. */
  readonly literals: readonly string[];
  readonly comments: readonly string[];
  /** Strings that may span several lines. */
  readonly strings: readonly string[];
  /** Parts of strings that contain code. */
  readonly interpolations: readonly string[];
  readonly imports: readonly string[];
  /** Attributes and decorators, which belong to the item after them. */
  readonly attributes: readonly string[];
  /** Placeholder for a removed body, in languages that do not allow an empty body. */
  readonly emptyBody?: string;
  /** Matches lines that are typical of this language and unlikely in others. */
  readonly sign: RegExp;
}

const script = {
  lineComment: "//",
  hasBlockComment: true,
  functions: [
    "function_declaration",
    "function_expression",
    "generator_function",
    "generator_function_declaration",
    "method_definition",
    "arrow_function",
  ],
  blocks: ["statement_block", "switch_body"],
  literals: ["object", "array"],
  comments: ["comment"],
  strings: ["template_string"],
  interpolations: ["template_substitution"],
  imports: ["import_statement"],
  attributes: ["decorator"],
} as const;

const typed = {
  ...script,
  members: ["class_body", "interface_body", "object_type", "enum_body"],
  sign: /^(?:export )?(?:declare )?(?:interface|type|enum|abstract class|namespace) \w+|: (?:string|number|boolean|void|unknown)\b|^import type |\bas const\b/,
} as const;

const plainScript = {
  ...script,
  members: ["class_body"],
  sign: /^(?:import .* from ["']|export |const |let |var |function |async function |module\.exports|"use strict")|=>|\brequire\(["']/,
} as const;

const c = {
  lineComment: "//",
  hasBlockComment: true,
  functions: ["function_definition"],
  members: ["field_declaration_list", "enumerator_list"],
  blocks: ["compound_statement"],
  literals: ["initializer_list"],
  comments: ["comment"],
  strings: [],
  interpolations: [],
  imports: ["preproc_include"],
  attributes: [],
  sign: /^#\s*(?:include|define|ifdef|ifndef|pragma)\b|^(?:static |extern |const )*(?:int|void|char|struct \w+|size_t|bool) \*?\w+\(/,
} as const;

export const languages: readonly Language[] = [
  { ...typed, name: "TypeScript", endings: ["ts", "mts", "cts", "typescript"] },
  { ...typed, name: "Tsx", endings: ["tsx"] },
  { ...plainScript, name: "JavaScript", endings: ["js", "mjs", "cjs", "jsx", "javascript"] },
  {
    name: "python",
    endings: ["py", "pyi", "python"],
    lineComment: "#",
    hasBlockComment: false,
    functions: ["function_definition"],
    classes: ["class_definition"],
    members: [],
    blocks: ["block"],
    literals: ["list", "dictionary", "tuple", "set"],
    comments: ["comment"],
    strings: ["string"],
    interpolations: ["interpolation"],
    imports: ["import_statement", "import_from_statement", "future_import_statement"],
    attributes: [],
    emptyBody: "...",
    sign: /^(?:\s*(?:async )?def \w+\(.*|\s*class \w+.*:|from [\w.]+ import .*|import [\w., ]+|\s*@\w[\w.]*.*|if __name__ == .*)$|^\s*(?:elif .*|except\b.*|with .*|try|else|finally):$|\bself\./,
  },
  {
    name: "go",
    endings: ["go", "golang"],
    lineComment: "//",
    hasBlockComment: true,
    functions: ["function_declaration", "method_declaration", "func_literal"],
    members: ["field_declaration_list", "interface_type"],
    blocks: ["block"],
    literals: ["literal_value"],
    comments: ["comment"],
    strings: ["raw_string_literal"],
    interpolations: [],
    imports: ["package_clause", "import_declaration"],
    attributes: [],
    sign: /^package \w+$|^func (?:\(\w+ \*?\w+\) )?\w+\(|:= |^type \w+ (?:struct|interface) \{|\bif err != nil \{/,
  },
  {
    name: "rust",
    endings: ["rs", "rust"],
    lineComment: "//",
    hasBlockComment: true,
    functions: ["function_item", "closure_expression"],
    members: ["declaration_list", "field_declaration_list", "enum_variant_list"],
    blocks: ["block", "match_block"],
    literals: ["array_expression"],
    comments: ["line_comment", "block_comment"],
    strings: ["raw_string_literal"],
    interpolations: [],
    imports: ["use_declaration", "extern_crate_declaration"],
    attributes: ["attribute_item"],
    sign: /^\s*(?:pub(?:\(\w+\))? )?(?:fn \w+|struct \w+|enum \w+|trait \w+|mod \w+|impl\b)|^use [\w:]+|\blet mut \b|^#!?\[\w+/,
  },
  {
    name: "java",
    endings: ["java"],
    lineComment: "//",
    hasBlockComment: true,
    functions: [
      "method_declaration",
      "constructor_declaration",
      "compact_constructor_declaration",
      "lambda_expression",
    ],
    members: ["class_body", "interface_body", "enum_body", "annotation_type_body"],
    blocks: ["block", "constructor_body", "switch_block"],
    literals: ["array_initializer"],
    comments: ["line_comment", "block_comment"],
    strings: [],
    interpolations: [],
    imports: ["package_declaration", "import_declaration"],
    attributes: [],
    sign: /^package [\w.]+;|^import (?:static )?[\w.*]+;|^\s*(?:public|private|protected) (?:static |final |abstract )*(?:class|interface|enum|void|[A-Z]\w*(?:<.*>)?) \w+|^\s*@Override/,
  },
  { ...c, name: "c", endings: ["c", "h"] },
  {
    ...c,
    name: "cpp",
    endings: ["cc", "cpp", "cxx", "hh", "hpp", "hxx", "cu", "c++"],
    functions: ["function_definition", "lambda_expression"],
    members: ["field_declaration_list", "enumerator_list", "declaration_list"],
    strings: ["raw_string_literal"],
    sign: /^#\s*include <\w+>$|^(?:namespace|template\s*<|using namespace|class \w+)|\bstd::|^\s*(?:public|private|protected):$/,
  },
];

export function languageOfEnding(ending: string): Language | undefined {
  return languages.find(({ endings }) => endings.includes(ending));
}

/** Returns the likeliest languages first, or an empty list if the text does not look like code. */
export function guessLanguages(lines: readonly string[]): readonly Language[] {
  const looked = lines.slice(0, 400);
  return languages
    .map((language) => ({
      language,
      signs: looked.filter((line) => language.sign.test(line)).length,
    }))
    .filter(({ signs }) => signs >= 2 && signs >= looked.length * 0.04)
    .toSorted((one, other) => other.signs - one.signs)
    .map(({ language }) => language)
    .slice(0, 3);
}
