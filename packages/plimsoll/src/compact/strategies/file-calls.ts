/** Guesses which files a call reads or writes, and writes the path of each file in one way. The guess only affects compaction. */

import type { EditPlace } from "../../message/edit.ts";
import { type JsonObject, parseObject } from "../../message/json.ts";
import type { Message, Part, ToolCallPart } from "../../message/message.ts";
import type { Proposal, VisibleConversation } from "../../message/strategy.ts";

export interface FileCall {
  /** alter: the call changes the file, and the call or its result shows the new content. */
  readonly kind: "read" | "alter" | "other";
  /** Normalised paths. A file has the same path in all calls. */
  readonly files: readonly string[];
  /** True if the call reads or writes the whole file, and not only a part of it. */
  readonly isWhole: boolean;
  /** True if its result contains nothing but the files. */
  readonly isAlone: boolean;
}

const pathKeys = new Set(
  (
    "path paths file files file_path filepath filePath filename file_name target_file absolute_path " +
    "relative_path uri notebook_path"
  ).split(" "),
);
const commandKeys = ["command", "cmd", "script", "code", "input"];
const folderKeys = ["cwd", "workdir", "working_directory", "workingDirectory"];
const readWords = new Set("read cat view open show load fetch get".split(" "));
const alterWords = new Set(
  "write create edit replace insert patch apply update save str".split(" "),
);
/** With one of these arguments, a call reads only a part of the file. */
const rangeKeys = new Set(
  (
    "offset limit lines line range view_range start end start_line end_line startLine endLine line_start line_end " +
    "first_line last_line head tail line_range page pages grep pattern max_lines"
  ).split(" "),
);
/** A call with one of these verbs and one of these arguments writes the whole file. */
const writingWords = new Set("write create save".split(" "));
const wholeContentKeys = new Set("content contents file_text".split(" "));
const shellWords = new Set("bash shell sh exec run terminal command execute powershell".split(" "));
const readers = new Set("cat head tail nl sed less more bat type".split(" "));
const maxCommandChars = 2_000;
const maxFiles = 20;

/**
 * The file call of each tool call and each result. Ids can repeat, because some servers just number their calls. A result then
 * belongs to the nearest earlier call with the same id.
 */
export function readCalls(messages: readonly Message[]): ReadonlyMap<Part, FileCall> {
  const root = workingFolder(messages);
  const calls = new Map<Part, FileCall>();
  const last = new Map<string, FileCall>();
  for (const part of messages.flatMap(({ parts }) => parts)) {
    if (part.kind !== "tool-call" && part.kind !== "tool-result") continue;
    if (part.kind === "tool-call") last.set(part.id, fileCall(part, root));
    const call = last.get(part.kind === "tool-call" ? part.id : part.callId);
    if (call !== undefined) calls.set(part, call);
  }
  return calls;
}

/** What an edit of the result of this call touches. */
export function placeOfResult(call: FileCall | undefined): EditPlace {
  if (call?.kind === "read") return "read-tool";
  return call?.kind === "alter" ? "alter-tool" : "no-file-read";
}

/** Says of each edited result whether it is that of reading or changing a file. Strategies need not look at the calls for that. */
export function withPlaces(
  { messages }: VisibleConversation,
  proposals: readonly Proposal[],
): readonly Proposal[] {
  const isOfResult = (proposal: Proposal): boolean =>
    proposal.kind === "replace" && proposal.place === "no-file-read";
  if (!proposals.some(isOfResult)) return proposals;
  const calls = readCalls(messages.map(({ message }) => message));
  return proposals.map((proposal) => {
    if (proposal.kind !== "replace" || proposal.place !== "no-file-read") return proposal;
    const part = messages[proposal.message]?.message.parts[proposal.part];
    return { ...proposal, place: placeOfResult(part && calls.get(part)) };
  });
}

function fileCall({ name, input }: ToolCallPart, root: string | undefined): FileCall {
  const fields = parseObject(input) ?? {};
  const words = name.split(/[^A-Za-z]+|(?<=[a-z])(?=[A-Z])/).map((word) => word.toLowerCase());
  const command = commandOf(fields);
  if (command !== undefined && words.some((word) => shellWords.has(word)))
    return commandCall(command, folderOf(fields), root);
  const files = pathsIn(fields).map((path) => spelling(path, folderOf(fields), root));
  const isWhole = !Object.keys(fields).some((key) => rangeKeys.has(key));
  const about = { files, isWhole, isAlone: true };
  if (files.length === 0) return { ...about, kind: "other" };
  // Tools with several commands name the command in their arguments.
  const named = typeof fields["command"] === "string" ? [fields["command"]] : words;
  const verbs = named.flatMap((word) => word.split("_"));
  if (verbs.some((word) => alterWords.has(word))) {
    const hasContent = Object.keys(fields).some((key) => wholeContentKeys.has(key));
    const isWriting = verbs.some((word) => writingWords.has(word));
    return { ...about, kind: "alter", isWhole: isWriting && hasContent };
  }
  return { ...about, kind: verbs.some((word) => readWords.has(word)) ? "read" : "other" };
}

function commandOf(fields: JsonObject): string | undefined {
  for (const key of commandKeys) {
    const value = fields[key];
    if (typeof value === "string") return value.slice(0, maxCommandChars);
    if (Array.isArray(value)) return value.map(String).join(" ").slice(0, maxCommandChars);
  }
  return undefined;
}

function folderOf(fields: JsonObject): string | undefined {
  return folderKeys.map((key) => fields[key]).find((value) => typeof value === "string");
}

function pathsIn(fields: JsonObject): readonly string[] {
  const found = Object.entries(fields).flatMap(([key, value]) =>
    pathKeys.has(key) ? (Array.isArray(value) ? value : [value]) : [],
  );
  return found.slice(0, maxFiles).flatMap((value): readonly string[] => {
    if (typeof value === "string") return value.includes("\n") ? [] : [value];
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? pathsIn(value)
      : [];
  });
}

const separators = /&&|\|\||[;|\n]/;
/** One command, after `cd` at most. */
const aloneCommand = /^(?:\s*cd\s+[^&;|]+&&)?(.+)$/s;
const shellWord = /"([^"]*)"|'([^']*)'|[^\s"']+/g;

/** The files that commands such as `cat` read, for example in `cd a && sed -n '1,40p' b.ts | head`. */
function commandCall(
  command: string,
  folder: string | undefined,
  root: string | undefined,
): FileCall {
  let here = folder;
  const files = new Set<string>();
  for (const simple of command.split(separators)) {
    const [verb = "", ...rest] = wordsOf(simple);
    if (verb === "cd" && rest[0] !== undefined) here = joined(here, rest[0]);
    if (!readers.has(verb) || /[<>]/.test(simple)) continue;
    for (const word of fileWords(verb, rest)) files.add(spelling(word, here, root));
  }
  const found = [...files].slice(0, maxFiles);
  const [, alone] = aloneCommand.exec(command) ?? [];
  const isAlone = alone !== undefined && !separators.test(alone) && !/[<>`$(]/.test(alone);
  const isWhole = isAlone && /^\s*cat\s+[^-]/.test(alone);
  return { kind: found.length === 0 ? "other" : "read", files: found, isWhole, isAlone };
}

function wordsOf(command: string): readonly string[] {
  return [...command.matchAll(shellWord)].map(([word, double, single]) => double ?? single ?? word);
}

function fileWords(verb: string, words: readonly string[]): readonly string[] {
  const plain = words.filter((word) => !word.startsWith("-") && !/^\+?\d+$/.test(word));
  return verb === "sed" ? plain.slice(1) : plain;
}

const folderInText =
  /(?:<cwd>\s*|\bcwd["']?\s*[:=]\s*["'`]?|\bworking directory(?: is)?:?\s+["'`]?)(\/[^\s"'`<>,;]*)/i;
const cdFolder = /(?:^|&&|[;\n])\s*cd\s+["']?(\/[^\s"';&|]+)/;
/** Number of messages that are searched for the working folder. Its name usually appears early. */
const readMessages = 40;
const readChars = 20_000;

/** The folder that relative paths start from, if the conversation names it. */
function workingFolder(messages: readonly Message[]): string | undefined {
  for (const { parts } of messages.slice(0, readMessages))
    for (const part of parts) {
      const found = part.kind === "tool-call" ? calledFolder(part) : undefined;
      const named =
        part.kind === "text" ? folderInText.exec(part.text.slice(0, readChars))?.[1] : undefined;
      if (found !== undefined || named !== undefined) return tidy(found ?? named ?? "");
    }
  return undefined;
}

function calledFolder({ input }: ToolCallPart): string | undefined {
  const fields = parseObject(input) ?? {};
  const folder = folderOf(fields);
  if (folder?.startsWith("/") === true) return folder;
  return cdFolder.exec(commandOf(fields) ?? "")?.[1];
}

/** ./a, a and /root/a are the same file if /root is the working folder. */
function spelling(path: string, folder: string | undefined, root: string | undefined): string {
  const whole = tidy(joined(folder ?? root, path.replace(/^file:\/\//, "")));
  const inRoot = root !== undefined && root !== "" && whole.startsWith(`${root}/`);
  return inRoot ? whole.slice(root.length + 1) : whole;
}

function joined(folder: string | undefined, path: string): string {
  const isAbsolute = /^(?:[/~]|[A-Za-z]:[\\/])/.test(path);
  return isAbsolute || folder === undefined ? path : `${folder}/${path}`;
}

function tidy(path: string): string {
  const kept: string[] = [];
  for (const step of path.split("/")) {
    if (step === "" || step === ".") continue;
    if (step === ".." && kept.length > 0 && kept.at(-1) !== "..") kept.pop();
    else kept.push(step);
  }
  return `${path.startsWith("/") ? "/" : ""}${kept.join("/")}`;
}

const mention = /<(?:final_)?file(?:_content)? path="([^"\n]{1,400})"[^>\n]*>/g;

/** Files whose content a text shows between tags such as `<file_content path="a.ts">`. */
export function mentionedFiles(text: string, messages: readonly Message[]): readonly string[] {
  const found = [...text.matchAll(mention)].map(([, path = ""]) => path);
  if (found.length === 0) return [];
  const root = workingFolder(messages);
  return [...new Set(found.map((path) => spelling(path, undefined, root)))];
}

const block =
  /<((?:final_)?file(?:_content)?) path="([^"\n]{1,400})"[^>\n]*>\n?([\s\S]*?)\n?<\/\1>/g;

/** The content between each pair of such tags, without the tags. */
export function mentionedBlocks(
  text: string,
  messages: readonly Message[],
): readonly { readonly file: string; readonly from: number; readonly to: number }[] {
  if (text.search(mention) < 0) return [];
  const root = workingFolder(messages);
  return [...text.matchAll(block)].flatMap(({ index, 0: whole, 2: path = "", 3: content = "" }) => {
    const end = whole.lastIndexOf("</");
    const to = index + (whole[end - 1] === "\n" ? end - 1 : end);
    if (content.trim() === "") return [];
    return [{ file: spelling(path, undefined, root), from: to - content.length, to }];
  });
}

/** For each line, whether it is between tags such as `<file_content path="a.ts">`. */
export function mentionedLines(lines: readonly string[]): readonly boolean[] {
  let isInside = false;
  return lines.map((line) => {
    if (isInside && /<\/(?:final_)?file(?:_content)?>/.test(line)) isInside = false;
    const isOpened = line.search(mention) >= 0 && !/<\/(?:final_)?file(?:_content)?>/.test(line);
    const was = isInside;
    if (isOpened) isInside = true;
    return was;
  });
}
