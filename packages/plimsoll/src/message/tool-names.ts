/** Adds the names of tools to results that only state the id of their call. Some wires cannot write a result without a name. */

import type { Message, Part } from "./message.ts";

/** `earlier` contains messages before these, whose calls the results may answer. */
export function withToolNames(
  messages: readonly Message[],
  earlier: readonly Message[] = [],
): readonly Message[] {
  const names = new Map<string, string>();
  const note = ({ parts }: Message): void => {
    for (const part of parts) if (part.kind === "tool-call") names.set(part.id, part.name);
  };
  const named = (part: Part): Part => {
    if (part.kind !== "tool-result" || part.name !== undefined) return part;
    const name = names.get(part.callId);
    return name === undefined ? part : { ...part, name };
  };
  for (const message of earlier) note(message);
  return messages.map((message) => {
    note(message);
    const parts = message.parts.map(named);
    return parts.every((part, index) => part === message.parts[index])
      ? message
      : { ...message, parts };
  });
}
