/**
 * What a call did: whether it changed something outside the conversation, and to what. The names of tools and the words of
 * commands tell. A view names every change until the end, because an agent that has forgotten a change makes it again.
 */

import { isObject, type JsonValue, parseObject } from "../../message/json.ts";
import type { ToolCallPart } from "../../message/message.ts";
import type { OwnEffects } from "../../message/strategy.ts";
import { commandOf } from "../evidence/commands.ts";
import { clean, quoted, shortened } from "../evidence/safe-text.ts";

export interface Deed {
  /** A verb in the past tense, such as "edited". */
  readonly verb: string;
  /** What it was done to. */
  readonly object: string;
  /** Whether it changed something outside the conversation. */
  readonly isEffect: boolean;
  /** Calls with the same key try the same thing. */
  readonly key: string;
}

/** The past tense of the words with which tools name a change. */
const changing: ReadonlyMap<string, string> = new Map(
  Object.entries({
    write: "wrote",
    save: "saved",
    create: "created",
    add: "added",
    edit: "edited",
    multiedit: "edited",
    replace: "edited",
    patch: "edited",
    modify: "edited",
    insert: "edited",
    apply: "applied",
    update: "updated",
    set: "set",
    put: "put",
    post: "posted",
    delete: "deleted",
    remove: "removed",
    move: "moved",
    rename: "renamed",
    copy: "copied",
    upload: "uploaded",
    publish: "published",
    deploy: "deployed",
    send: "sent",
    submit: "submitted",
    book: "booked",
    cancel: "cancelled",
    exchange: "exchanged",
    return: "returned",
    transfer: "transferred",
    pay: "paid",
    commit: "committed",
    push: "pushed",
    merge: "merged",
    install: "installed",
  }),
);
const reading: ReadonlyMap<string, string> = new Map(
  Object.entries({
    read: "read",
    view: "read",
    open: "read",
    cat: "read",
    fetch: "fetched",
    get: "called",
    list: "listed",
    ls: "listed",
    glob: "searched for",
    grep: "searched for",
    search: "searched for",
    find: "searched for",
  }),
);
/** Tools that only change the agent's own list of things to do. */
const ownNotes = /todo(?!ist)|^think$|thinking$|plan_?mode|^update_plan$/i;
const pathKeys =
  /^(?:path|paths|file|files|file_?path|filename|file_?name|target_file|absolute_path|relative_path|notebook_path|uri|args)$/i;
/** The end of a path that a client has cut off in its own record. */
const cutOff = /(?<=^[^\s()]+)\)…$/;
const longestObject = 80;
const longestCommand = 100;
const longestValues = 60;

/** Commands that only look at something. */
const showing =
  /^`(?:echo|printf|cat|nl|head|tail|less|ls|pwd|find|grep|rg|ag|tree|wc|which|sed -n|git (?:log|show|status|diff|blame)|gh \w+ (?:view|list|checks|diff))\b|; (?:grep|rg|head|tail|wc)\b[^;]*`$/;
export const readingVerbs: ReadonlySet<string> = new Set([
  "read",
  "listed",
  "searched for",
  "fetched",
]);

/** Whether the call only looked at something. If it failed, nothing is left to do. */
export function isLooking({ verb, object }: Deed): boolean {
  return readingVerbs.has(verb) || (verb === "ran" && showing.test(object));
}

/** What the call did. Undefined for calls that only change the agent's own notes. */
export function deedOf(call: ToolCallPart, own: OwnEffects = {}): Deed | undefined {
  const deed = readDeed(innerCall(call), own);
  if (deed === undefined) return undefined;
  const object = clean(deed.object);
  return { ...deed, object, key: deed.key ?? `${deed.verb} ${object}` };
}

type UnkeyedDeed = Omit<Deed, "key"> & { readonly key?: string };

/** Some tools only call another tool, whose name is an argument. */
function innerCall(call: ToolCallPart): ToolCallPart {
  const { tool_name: name, ...rest } = parseObject(call.input) ?? {};
  if (typeof name !== "string" || name.trim() === "") return call;
  const input = ["params", "arguments", "args", "input"].map((key) => rest[key]).find(isObject);
  return { ...call, name, input: JSON.stringify(input ?? rest) };
}

function readDeed(call: ToolCallPart, own: OwnEffects): UnkeyedDeed | undefined {
  if (ownNotes.test(call.name)) return undefined;
  const input = parseObject(call.input);
  const words = deedWords(call.name, input);
  const patched = patchedFiles(call);
  if (patched !== undefined) return { verb: "edited", object: patched, isEffect: true };
  const isShell = words.some((word) => shellWords.has(word));
  const script = isShell || !namesDeed(words) ? wholeCommand(call) : undefined;
  if (script !== undefined) return commandDeed(script, call, own);
  const isOwn = own.tools?.some((word) => words.includes(word.toLowerCase())) === true;
  const changes = words.map((word) => changing.get(word)).find((verb) => verb !== undefined);
  const reads = words.map((word) => reading.get(word)).find((verb) => verb !== undefined);
  const isEffect = isOwn || (changes !== undefined && !onlyAsks(words));
  const verb = isEffect ? changes : reads;
  // Only with files and searches does the verb alone say what was done. Everything else is named by the tool itself.
  const object = verb === "searched for" ? soughtIn(input) : pathIn(input);
  if (object !== undefined && verb !== undefined && verb !== "called")
    return { verb, object, isEffect };
  const [first = ""] = shortValues(input);
  const key = `${call.name} ${first}`;
  return { verb: "called", object: calledWith(call.name, input), isEffect, key };
}

type Input = Readonly<Record<string, JsonValue | undefined>> | undefined;

/** The words of the tool's name, or of its command if the tool has several, such as an editor that can also view a file. */
function deedWords(name: string, input: Input): readonly string[] {
  const command = input?.["command"];
  const named = typeof command === "string" && /^[a-z_]+$/.test(command) ? wordsIn(command) : [];
  const words = wordsIn(name);
  return namesDeed(named) && namesDeed(words) ? named : words;
}

function wordsIn(name: string): readonly string[] {
  return name.split(/[^A-Za-z]+|(?<=[a-z])(?=[A-Z])/).map((word) => word.toLowerCase());
}

/** `get_commit` and `list_merge_requests` change nothing, although their names contain "commit" and "merge". */
function onlyAsks(words: readonly string[]): boolean {
  const first = words.find((word) => namesDeed([word]));
  return (first === "get" || first === "list") && !words.includes("or");
}

const patchLine = /\*\*\* (?:Add|Update|Delete) File: ([^\n"\\]{1,200})/g;
const mostFiles = 4;

/** The files that a patch in the form of Codex changes. */
function patchedFiles({ name, input }: ToolCallPart): string | undefined {
  if (!/apply_?patch/i.test(name) && !input.includes("apply_patch")) return undefined;
  const files = [...new Set([...input.matchAll(patchLine)].map(([, file = ""]) => clean(file)))];
  const more = files.length > mostFiles ? ` and ${files.length - mostFiles} more` : "";
  return files.length === 0 ? undefined : `${files.slice(0, mostFiles).join(", ")}${more}`;
}

const shellWords = new Set(
  "bash sh shell terminal exec execute run cmd command powershell".split(" "),
);

function namesDeed(words: readonly string[]): boolean {
  return words.some((word) => changing.get(word) !== undefined || reading.get(word) !== undefined);
}

const fileInWords = /(?:[\w.@~+-]*\/)*[\w.@~+-]+\.\w{1,8}\b/;

/** Enough characters to find a path or a command in. Longer texts would make the patterns slow. */
const longestRead = 2_000;

function pathIn(input: Input): string | undefined {
  for (const [key, value] of Object.entries(input ?? {})) {
    const first = Array.isArray(value) ? value[0] : value;
    if (!pathKeys.test(key) || typeof first !== "string" || first.trim() === "") continue;
    if (/\n/.test(first)) continue;
    const words = first.slice(0, longestRead).replace(cutOff, "");
    const path = /\s/.test(words) ? (fileInWords.exec(words)?.[0] ?? words) : words;
    return shortened(clean(path), longestObject);
  }
  return undefined;
}

const soughtKeys = ["pattern", "query", "regex", "q"];

function soughtIn(input: Input): string | undefined {
  const sought = soughtKeys.map((key) => input?.[key]).find((value) => typeof value === "string");
  return sought === undefined ? pathIn(input) : quoted(shortened(clean(sought), longestObject));
}

/** The tool with its short arguments: `book_flight (HAT169, 2024-05-17)`. */
function calledWith(name: string, input: JsonValue | undefined): string {
  const values = shortValues(input).map(clean);
  const shown = shortened(values.join(", "), longestValues);
  return shown === "" ? clean(name) : `${clean(name)} (${shown})`;
}

function shortValues(value: JsonValue | undefined): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((item: JsonValue) => shortValues(item));
  if (isObject(value)) return Object.values(value).flatMap((item) => shortValues(item));
  if (typeof value === "number") return [String(value)];
  return typeof value === "string" && value.length <= longestObject && value.trim() !== ""
    ? [value]
    : [];
}

const commandKeys = ["command", "cmd", "script", "bash", "shell", "args", "code_block"];

function wholeCommand(call: ToolCallPart): string | undefined {
  if (commandOf(call) === undefined) return undefined;
  const input = parseObject(call.input) ?? {};
  const values = [...commandKeys.map((key) => input[key]), ...Object.values(input)];
  const found = values.find((value) => typeof value === "string" || Array.isArray(value));
  if (typeof found === "string") return shellScript.exec(found)?.[2] ?? found;
  const words = Array.isArray(found) ? found.map(String) : [];
  // As in ["bash", "-lc", "npm test"].
  const isScript = words.length === 3 && /^-\w*c$/.test(words[1] ?? "");
  return isScript ? words[2] : words.join(" ");
}

const shellScript = /^(?:\/bin\/)?(?:ba|z)?sh\s+-\w*c\s+(["'])([\s\S]*)\1\s*$/;

/** The text between `<<EOF` and `EOF` is data, not a command. */
const hereDocument = /(<<-?\s*["']?(\w+)["']?[^\n]*)\n[\s\S]*?(?:\n\2\b|$)/g;
const redirect = /(?:^|[^2&>=-])>{1,2}\s*["']?([\w./~$-]*\w[\w./~$-]*)/;
const simpleCommands: readonly (readonly [verb: string, pattern: RegExp])[] = [
  ["edited", /^(?:sed|perl)\b.*\s-\w*i\b.*\s["']?([\w./~-]*\w)["']?\s*$/],
  ["removed", /^(?:rm|git rm)\s+(?:--?[\w-]+\s+)*(.+)$/],
  ["moved", /^(?:mv|git mv)\s+(?:-\w+\s+)*(.+)$/],
  ["copied", /^cp\s+(?:-\w+\s+)*(.+)$/],
  ["made", /^(?:mkdir|touch)\s+(?:-\w+\s+)*(.+)$/],
  ["wrote", /\btee\s+(?:-a\s+)?["']?([\w./~-]+)/],
  [
    "installed",
    /^(?:(?:python3? -m )?pip3?|npm|pnpm|yarn|apt(?:-get)?|cargo|brew)\s+(?:i|install|add)\s+(?:--?[\w-]+\s+)*(.+)$/,
  ],
];
const changingCommand =
  /^(?:git (?:commit|push|checkout|reset|apply|stash|merge|rebase|revert|restore)|patch|chmod|chown|ln|kill|docker (?:run|rm|build)|kubectl (?:apply|delete)|terraform apply|(?:npm|pnpm|yarn) (?:install|i|ci|publish)|(?:sed|perl)\s(?:.*\s)?-\w*i|find\s.*\s-delete|curl\s.*-X\s?(?:POST|PUT|PATCH|DELETE)|(?:insert into|update|delete from|drop|create|alter|truncate)(?=\s))\b/i;
const scriptWrites =
  /\.write_text\(|\bopen\(\s*["']([^"'\n]{1,80})["']\s*,\s*["'][wa]|\bwriteFile(?:Sync)?\(\s*["']([^"'\n]{1,80})["']/;

/** Signs in quotes do not separate or redirect commands, and neither do those in a condition. */
const inQuotes = /'[^']*'|"[^"\\]*(?:\\[\s\S][^"\\]*)*"|\[\[[^\n]*?\]\]/g;
/** The signs in quotes become characters that no command has, and afterwards signs again. */
const hidden = 0xe000;

function hideQuoted(script: string): string {
  return script.replaceAll(inQuotes, (words) =>
    words.replaceAll(/[<>|&;\n]/g, (sign) => String.fromCharCode(hidden + sign.charCodeAt(0))),
  );
}

function showQuoted(script: string): string {
  return script.replaceAll(/[\ue000-\ue07f]/g, (sign) =>
    String.fromCharCode(sign.charCodeAt(0) - hidden),
  );
}

const commitMessage = /\s(?:-a?m|--message)[= ](?:"[^"]*"?|'[^']*'?|\S+)/g;

/** Two commits with different messages try the same thing. */
function withoutCommitMessages(words: string): string {
  const commit = words.search(/\bgit commit\b/);
  if (commit === -1) return words;
  return words.slice(0, commit) + words.slice(commit).replaceAll(commitMessage, "");
}

/** Commands before the one that matters. */
const preparation = /^\s*(?:(?:cd|source|export|set)\b[^&;\n|]*(?:&&|;|\n)\s*)+/;

/** Words before a command that do not change what it does. */
const commandPrefix =
  /^(?:(?:sudo|time|nohup|env|do|then|else|xargs(?:\s+-\S+)*|[A-Za-z_]\w*=\S*|[({!])\s+)+/;

function commandDeed(script: string, call: ToolCallPart, own: OwnEffects): UnkeyedDeed {
  const parts = hideQuoted(script.replace(hereDocument, "$1"))
    .split(/&&|\|\||[;\n]|(?<!>)\|/)
    .map((part) => part.trim().slice(0, longestRead));
  const commands = parts.map((part) => part.replace(commandPrefix, ""));
  const changed = changeIn(commands);
  if (changed !== undefined) return changed;
  const isOwn = own.commands?.some((start) => commands.some((one) => one.startsWith(start)));
  const written = scriptWrites.exec(script);
  const file = written?.[1] ?? written?.[2];
  if (file !== undefined) return { verb: "wrote", object: file, isEffect: true };
  const isEffect =
    written !== null || isOwn === true || commands.some((one) => changingCommand.test(one));
  const words =
    clean(script.replace(hereDocument, "$1").replace(preparation, "")) || clean(call.name);
  const object = quoted(shortened(words, longestCommand));
  return { verb: "ran", object, isEffect, key: `ran ${withoutCommitMessages(words)}` };
}

/** The first change among these commands that has an object. */
function changeIn(commands: readonly string[]): UnkeyedDeed | undefined {
  for (const command of commands) {
    const target = redirect.exec(command)?.[1];
    const isFile = target !== undefined && !target.startsWith("/dev/");
    if (isFile) return { verb: "wrote", object: shortened(target, longestObject), isEffect: true };
    for (const [verb, pattern] of simpleCommands) {
      const object = pattern.exec(command)?.[1];
      if (object === undefined) continue;
      const words = clean(showQuoted(object).replaceAll(/["']/g, ""));
      return { verb, object: namesIn(words), isEffect: true };
    }
  }
  return undefined;
}

/** The names that a command changed. If there is no room for all of them, it says how many more there are. */
function namesIn(words: string): string {
  if (words.length <= longestObject) return words;
  const shown = shortened(words, longestObject);
  const names = words.split(" ");
  const left = names.length - shown.split(" ").length;
  return left > 0 ? `${shown} and ${left} more` : shown;
}
