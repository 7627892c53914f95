/**
 * Splits a message into segments, each with one speaker. A message may have several: some wires put tool results and the user's
 * words into one message, and a search must not show one as the other.
 */

import type { Message, Part, Role } from "../../message/message.ts";
import { searchableText } from "../../search/message-text.ts";
import type { TextKind } from "../../search/pieces.ts";
import { speakerOf, type ToolNames, titleOf } from "./readable-message.ts";

export interface Segment {
  readonly role: Role;
  /** Who said it, for example `user` or `tool result of read_file`. */
  readonly title: string;
  readonly kind: TextKind;
  readonly text: string;
}

/** Contract: together, the segments have the whole searchable text of the message, in order. Empty segments are left out. */
export function segmentsOf(message: Message, tools: ToolNames = new Map()): readonly Segment[] {
  return groupsOf(message.parts)
    .map((parts): Segment => {
      const own = { role: message.role, parts };
      const role = speakerOf(own);
      const isOutput = role === "tool" || parts[0]?.kind === "tool-call";
      return {
        role,
        title: titleOf(own, tools),
        kind: isOutput ? "output" : "prose",
        text: searchableText(own),
      };
    })
    .filter(({ text }) => text !== "");
}

/** Each result is alone. Calls are together, and so are the other parts. */
function groupsOf(parts: readonly Part[]): readonly (readonly Part[])[] {
  const groups: Part[][] = [];
  for (const part of parts) {
    const before = groups.at(-1)?.[0]?.kind;
    const isSame = before !== undefined && voiceOf(before) === voiceOf(part.kind);
    if (isSame && part.kind !== "tool-result") groups.at(-1)?.push(part);
    else groups.push([part]);
  }
  return groups;
}

function voiceOf(kind: Part["kind"]): "result" | "call" | "words" {
  if (kind === "tool-result") return "result";
  return kind === "tool-call" ? "call" : "words";
}
