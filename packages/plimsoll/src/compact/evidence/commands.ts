/** The commands that the agent ran, and how they ended. */

import { parseObject } from "../../message/json.ts";
import type { ToolCallPart, ToolResultPart } from "../../message/message.ts";
import { searchableText } from "../../search/message-text.ts";
import { errorsIn } from "./errors.ts";
import { clean, shortened } from "./safe-text.ts";
import type { NumberedMessage } from "./speech.ts";

export type CommandOutcome = "ok" | "failed" | `exit ${number}`;

const commandKeys = ["command", "cmd", "script", "bash", "shell", "args", "code_block"];
const shellTool = /(?:^|[_.-])(?:bash|sh|shell|terminal|exec|run|execute|cmd)(?:$|[_.-])/i;
const wholeChars = 200;

/** The whole command if it is short, otherwise its first line. Undefined if the call runs no command. */
export function commandOf(call: ToolCallPart): string | undefined {
  const input = parseObject(call.input);
  const named = commandKeys.map((key) => wordsOf(input?.[key])).find((text) => text !== undefined);
  const strings = Object.values(input ?? {}).filter((value) => typeof value === "string");
  const isShell = shellTool.test(call.name);
  // If a call has other arguments, such as a path, a command of one word is a command of an editor tool and not of a shell.
  if (!isShell && named !== undefined && !/\s/.test(named) && strings.length > 1) return undefined;
  const command = named ?? (isShell && strings.length === 1 ? strings[0] : undefined);
  if (command === undefined) return undefined;
  const trimmed = command.trim();
  const firstLine = trimmed.length <= wholeChars ? trimmed : (trimmed.split("\n", 1)[0] ?? "");
  return shortened(clean(firstLine.slice(0, 4 * wholeChars)), wholeChars) || undefined;
}

function wordsOf(value: unknown): string | undefined {
  if (typeof value === "string" && value.trim() !== "") return value;
  const isWords = Array.isArray(value) && value.every((word) => typeof word === "string");
  return isWords && value.length > 0 ? value.join(" ") : undefined;
}

const exitCode =
  /(?:<returncode>|\bexit(?:ed)?(?:[ _-]?(?:code|status))?["']?(?: with)?(?: (?:code|status))?\s{0,3}[:=]?\s{0,3}|\breturn(?:ed)?[ _]?code["']?\s{0,3}[:=]?\s{0,3})(-?\d{1,5})\b/i;
const reach = { head: 600, tail: 2_000 };

/** Commands that only show content. An error in their output does not mean that the command failed. */
const showing =
  /^\s*(?:cat|nl|head|tail|less|more|bat|sed -n|grep|rg|ag|find|ls|tree|wc|diff|git (?:show|log|diff|blame|status))\b/;

/** A check of git's hooks by pre-commit that failed, so that nothing was committed. */
const hookFailed = /\.{4,}\s?Failed\s*$/m;

export function outcomeOf(result: ToolResultPart, command = ""): CommandOutcome {
  const text = searchableText({ role: "tool", parts: result.content });
  const { head, tail } = reach;
  const scanned =
    text.length <= head + tail ? text : `${text.slice(0, head)}\n${text.slice(-tail)}`;
  const code = exitCode.exec(scanned)?.[1];
  if (code !== undefined) return Number(code) === 0 ? "ok" : `exit ${Number(code)}`;
  if (hookFailed.test(scanned)) return "failed";
  const isOwnError = !showing.test(command) && errorsIn(scanned.split("\n"), false).length > 0;
  return result.isError || isOwnError ? "failed" : "ok";
}

/** The result of each call. If an id is used again, each call gets the result that follows it. */
export function resultsByCall(
  messages: readonly NumberedMessage[],
): ReadonlyMap<ToolCallPart, ToolResultPart> {
  const found = new Map<ToolCallPart, ToolResultPart>();
  const waiting = new Map<string, ToolResultPart>();
  for (const { message } of messages.toReversed()) {
    for (const part of message.parts.toReversed()) {
      if (part.kind === "tool-result") waiting.set(part.callId, part);
      if (part.kind !== "tool-call") continue;
      const result = waiting.get(part.id);
      if (result !== undefined) found.set(part, result);
      waiting.delete(part.id);
    }
  }
  return found;
}
