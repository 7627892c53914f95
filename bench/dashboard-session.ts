/**
 * Writes a session of many units into a folder, and says which: a conversation of an agent in a window that holds all of it.
 * Arguments: folder, units, tokens of the window.
 */

import { openPlimsoll } from "plimsoll";
import { answerOf, configOf, createConversation } from "./conversation.ts";
import { greet } from "./processes.ts";

export interface WrittenSession {
  readonly session: string;
  readonly messages: number;
  readonly tokens: number;
}

/** Exchanges are units, and so are questions and answers between them: 10 units have 19 messages, and a few more. */
const messagesPerUnit = 1.92;
const target = "bench/large";

async function write(): Promise<WrittenSession> {
  const [folder = "", units, limit] = process.argv.slice(2);
  const conversation = createConversation(Math.ceil(Number(units) * messagesPerUnit));
  const messages = [...conversation.messages, conversation.result(1_500)];
  const plimsoll = await openPlimsoll({
    data: folder,
    config: configOf({ large: Number(limit) }),
  });
  try {
    const session = await plimsoll.session();
    for (const message of messages) await session.append(message);
    const { measurement } = await session.prepare({ target });
    await session.commit(answerOf(conversation.call(), measurement.total));
    return { session: session.id, messages: messages.length, tokens: measurement.total };
  } finally {
    await plimsoll.close();
  }
}

greet(await write());
