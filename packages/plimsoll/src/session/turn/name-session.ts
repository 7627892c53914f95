/** Gives a session its title: the user's first words. */

import { titleOf } from "../../message/title.ts";
import type { Draft } from "../draft/draft.ts";
import { decodeMessage } from "../draft/encode.ts";

/** The user's first words are looked for in this many messages. */
const messagesMax = 16;

/** Does nothing if the session already has a title, or if its first messages have no words of the user's own. */
export function nameSession({ log, path, wire }: Draft): void {
  if (log.record.title !== undefined) return;
  for (let index = 0; index < Math.min(path.length, messagesMax); index++) {
    const bytes = path.bytesAt(index);
    // A message that the provider keeps may not be loaded.
    const isUser = log.nodes.get(path.seqAt(index) ?? -1)?.role === "user" && bytes.length > 0;
    const message = isUser ? wire.messages.asMessage(decodeMessage(bytes)) : undefined;
    if (message === undefined) continue;
    const title = titleOf([wire.messages.decode(message)]);
    if (title === undefined) continue;
    log.record = { ...log.record, title };
    return;
  }
}
