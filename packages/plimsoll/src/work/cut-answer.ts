/** An answer that stopped before it was complete, and the part of it that is worth keeping. */

import { baseName, contentKeys, openMember, pathKeys } from "./open-arguments.ts";

/** Why an answer stopped. */
export type AnswerEnd =
  /** The answer reached its maximum length. */
  | "full_length"
  | "window_full"
  /** No token arrived for too long. */
  | "silent"
  /** The stream ended before the provider said that the answer is complete. */
  | "broken";

export interface CutAnswer {
  readonly end: AnswerEnd;
  /** Tokens of the part that arrived. */
  readonly tokens: number;
  readonly text: string;
  /** The last call, with its arguments as JSON text as far as they arrived. */
  readonly call?: { readonly name: string; readonly input: string };
}

/** What an answer mainly is. Answers of one kind have comparable lengths. */
export type AnswerKind = "file" | "code" | "text";

export interface PartialAnswer {
  readonly kind: AnswerKind;
  /** The file that the answer writes. Absent if it names none. */
  readonly target?: string;
  /** `LoginForm.incomplete.tsx` */
  readonly name: string;
  /** Exactly what arrived. */
  readonly content: string;
}

/** Extensions of the languages that code blocks name. Other languages are their own extension. */
const extensions: Readonly<Record<string, string>> = {
  typescript: "ts",
  javascript: "js",
  python: "py",
  markdown: "md",
  shell: "sh",
  bash: "sh",
  zsh: "sh",
  rust: "rs",
  ruby: "rb",
  csharp: "cs",
  "c++": "cpp",
  kotlin: "kt",
  golang: "go",
  yaml: "yaml",
};

/** The part of a cut answer to save. Undefined if nothing arrived that could be continued. */
export function partialOf(cut: Pick<CutAnswer, "text" | "call">): PartialAnswer | undefined {
  const written = cut.call === undefined ? undefined : writtenFile(cut.call.input);
  if (written !== undefined)
    return { kind: "file", ...written, name: incompleteName(baseName(written.target)) };
  const code = openCodeBlock(cut.text);
  if (code !== undefined)
    return {
      kind: "code",
      name: incompleteName(`answer.${code.extension}`),
      content: code.content,
    };
  if (cut.text.trim() === "") return undefined;
  return { kind: "text", name: incompleteName("answer.md"), content: cut.text };
}

/** `LoginForm.tsx` becomes `LoginForm.incomplete.tsx`, and `Makefile` becomes `Makefile.incomplete`. */
export function incompleteName(name: string): string {
  const dot = name.lastIndexOf(".");
  return dot <= 0 ? `${name}.incomplete` : `${name.slice(0, dot)}.incomplete${name.slice(dot)}`;
}

function writtenFile(
  input: string,
): { readonly target: string; readonly content: string } | undefined {
  const target = openMember(input, pathKeys)?.value;
  const content = openMember(input, contentKeys)?.value;
  return target === undefined || target === "" || content === undefined
    ? undefined
    : { target, content };
}

/** The code block that is still open at the end of the text. If none is open, the whole text is the answer. */
function openCodeBlock(
  text: string,
): { readonly extension: string; readonly content: string } | undefined {
  const fences = [...text.matchAll(/^(`{3,}|~{3,})[ \t]*([\w+#.-]*)[^\n`]*(?:\n|$)/gm)];
  let open: RegExpMatchArray | undefined;
  for (const fence of fences) {
    const isEnd = open !== undefined && fence[2] === "" && fence[1]?.startsWith(open[1] ?? "");
    if (isEnd === true) open = undefined;
    else open ??= fence;
  }
  if (open === undefined) return undefined;
  const language = (open[2] ?? "").toLowerCase();
  const extension = language === "" ? "txt" : (extensions[language] ?? language);
  const isPlain = /^[a-z0-9]{1,12}$/.test(extension);
  return {
    extension: isPlain ? extension : "txt",
    content: text.slice((open.index ?? 0) + open[0].length),
  };
}
