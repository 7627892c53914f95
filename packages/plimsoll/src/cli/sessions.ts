/** `plimsoll sessions` and `plimsoll log`: what was recorded. */

import { isObject, type JsonObject } from "../message/json.ts";
import { messageText } from "../message/message.ts";
import type { Flags } from "../session/config.ts";
import type { MessageRecord } from "../store/store.ts";
import { wires } from "../wire/wires.ts";
import { chooseSession, withStore } from "./open-store.ts";
import { withProgress } from "./progress.ts";
import { harmless, harmlessJson, oneLine, table } from "./terminal.ts";

export async function runSessions(
  flags: Flags & { readonly limit: number; readonly json?: boolean },
): Promise<void> {
  await withStore(flags, async (store) => {
    const sessions = await store.sessions({ limit: flags.limit });
    if (flags.json === true) {
      console.log(harmlessJson({ items: sessions }));
      return;
    }
    const rows = sessions.map((session) => [
      session.id,
      session.wire,
      session.agent ?? "",
      session.branches,
      session.messages,
      session.turns,
      new Date(session.updatedAt).toISOString().slice(0, 19).replace("T", " "),
    ]);
    console.log(
      table([
        ["session", "wire", "agent", "branches", "messages", "turns", "last turn (UTC)"],
        ...rows,
      ]),
    );
  });
}

const page = 500;

export async function runLog(
  id: string | undefined,
  flags: Flags & { readonly full?: boolean; readonly json?: boolean },
): Promise<void> {
  await withStore(flags, async (store) => {
    const session = await chooseSession(store, id);
    const record = await store.session(session);
    await withProgress("Printing messages", { isStreaming: true }, async (progress) => {
      let printed = 0;
      for (let after = 0; ; ) {
        const messages = await store.messages(session, { after, limit: page });
        for (const message of messages)
          console.log(renderMessage(message, record?.wire ?? "", flags));
        printed += messages.length;
        progress.step(printed);
        if (messages.length < page) return;
        after = messages.at(-1)?.seq ?? after;
      }
    });
  });
}

function renderMessage(
  { body, ...node }: MessageRecord,
  wireName: string,
  flags: { readonly full?: boolean; readonly json?: boolean },
): string {
  const message: unknown = JSON.parse(new TextDecoder().decode(body));
  if (flags.json === true) return harmlessJson({ ...node, message });
  const inner = node.source === "inner" ? " (lookup)" : "";
  const mark = node.isComplete ? inner : " (incomplete)";
  const head = `${String(node.seq).padStart(5)}  ${node.role.padEnd(9)} ${String(node.tokens).padStart(7)} tokens${mark}`;
  const text = isObject(message) ? readable(message, wireName) : "";
  return flags.full === true ? `${head}\n${harmless(text)}\n` : `${head}  ${oneLine(text, 80)}`;
}

function readable(message: JsonObject, wireName: string): string {
  const wire = Object.values(wires).find(({ name }) => name === wireName);
  return (wire && messageText(wire.decode(message))) || JSON.stringify(message);
}
