/** Tags a message that is already in the log: its priority, type or relevance for later compactions. */

import { PlimsollError } from "../../message/error.ts";
import { checkTag, type MessageTag } from "../../message/tag.ts";
import { unknownPoint } from "../log/checkpoints.ts";
import { rememberInSession } from "../log/log.ts";
import type { TurnContext } from "../turn/context.ts";

export interface TagWish {
  /** Number of the message in the log. */
  readonly message: number;
  readonly tag: MessageTag;
}

/** The tag is part of the session's memory, so the log and the view stay as they are. Later tags replace earlier ones. */
export async function tagMessage(
  { sessions, saver }: Pick<TurnContext, "sessions" | "saver">,
  session: string,
  { message, tag }: TagWish,
): Promise<void> {
  const checked = checkTag(tag);
  if (checked === undefined)
    throw new PlimsollError("USAGE", "Say at least one of `priority`, `type` and `relevance`.", {
      status: 400,
    });
  const log = await sessions.byId(session);
  if (log?.nodes.has(message) !== true)
    throw unknownPoint(
      `There is no message ${message} in this session. \`plimsoll log\` shows the numbers.`,
    );
  rememberInSession(log, { kind: "tagged", run: { first: message, last: message, ...checked } });
  if ((await saver.save(log)) === "stored") return;
  throw new PlimsollError(
    "STORE_FAILED",
    "The store failed. Plimsoll tries to store the tag again with the next turn.",
    { status: 503 },
  );
}
