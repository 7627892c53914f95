/** What a conversation tells about the length of an answer: earlier answers of the kind, and files that it has shown. */

import { type Message, messageText } from "../../message/message.ts";
import type { KnownLengths } from "../../work/completion.ts";
import { type AnswerKind, partialOf } from "../../work/cut-answer.ts";
import { contentKeys, openMember, pathKeys } from "../../work/open-arguments.ts";

export interface SeenMessage {
  readonly message: Message;
  readonly tokens: number;
  /** True for an answer of the model that is whole. */
  readonly isWholeAnswer: boolean;
}

/** Only this many earlier answers of a kind count. Older ones belong to other work. */
const answersMost = 8;

/** `seen` is ordered from the oldest to the newest. */
export function knownLengths(
  seen: readonly SeenMessage[],
  estimate: number | undefined,
): KnownLengths {
  const files = new Map<string, number>();
  const paths = new Map<string, string>();
  const earlier: Record<AnswerKind, number[]> = { file: [], code: [], text: [] };
  for (const { message, tokens, isWholeAnswer } of seen) {
    noteFiles(message, files, paths);
    if (isWholeAnswer) earlier[kindOf(message)].unshift(tokens);
  }
  return {
    estimate,
    fileLength: (path) => files.get(path),
    earlier: {
      file: earlier.file.slice(0, answersMost),
      code: earlier.code.slice(0, answersMost),
      text: earlier.text.slice(0, answersMost),
    },
  };
}

/** `files` gets the length of each file as it was last written or read; `paths` the file of each call. */
function noteFiles(
  { parts }: Message,
  files: Map<string, number>,
  paths: Map<string, string>,
): void {
  for (const part of parts) {
    if (part.kind === "tool-call") {
      const path = openMember(part.input, pathKeys)?.value;
      const content = openMember(part.input, contentKeys)?.value;
      if (path === undefined) continue;
      if (content === undefined) paths.set(part.id, path);
      else files.set(path, content.length);
    }
    const read = part.kind === "tool-result" ? paths.get(part.callId) : undefined;
    if (part.kind === "tool-result" && read !== undefined && !part.isError)
      files.set(read, messageText({ role: "tool", parts: part.content }).length);
  }
}

function kindOf(message: Message): AnswerKind {
  const call = message.parts.findLast((part) => part.kind === "tool-call");
  const text = messageText({
    role: "assistant",
    parts: message.parts.filter(({ kind }) => kind === "text"),
  });
  const written = partialOf({ text: "", ...(call === undefined ? {} : { call }) });
  if (written?.kind === "file") return "file";
  return /^(?:```|~~~)/m.test(text) ? "code" : "text";
}
