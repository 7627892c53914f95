/** What lists of sessions show about each of them, beside its record: title, client, and the size of its window. */

import { BoundedMap } from "../../bounds/bounded-map.ts";
import { clientName } from "../../message/client-name.ts";
import { titleOf } from "../../message/title.ts";
import type { MessageRecord, SessionRecord, Store } from "../../store/store.ts";
import { wires } from "../../wire/wires.ts";
import { decodeMessage } from "../draft/encode.ts";

export interface SessionNames {
  readonly title?: string;
  readonly client?: string;
}

export type NamesOf = (session: SessionRecord) => Promise<SessionNames>;

/** The user's first words are looked for in this many messages. */
const messagesMax = 8;
const titlesMax = 2000;

/** Sessions of earlier versions have neither title nor client, so both are found in what is stored. */
export function createNames(store: Pick<Store, "messages">): NamesOf {
  const titles = new BoundedMap<string, string>({ entries: titlesMax });
  return async (session) => {
    const { id, clientKey } = session;
    const title = session.title ?? titles.get(id) ?? (await titleInLog(store, session));
    if (title !== undefined && session.title === undefined) titles.set(id, title);
    const client = session.client ?? clientName({ clientKey });
    return {
      ...(title === undefined ? {} : { title }),
      ...(client === undefined ? {} : { client }),
    };
  };
}

async function titleInLog(
  store: Pick<Store, "messages">,
  { id, wire: name }: SessionRecord,
): Promise<string | undefined> {
  const wire = Object.values(wires).find((known) => known.name === name);
  if (wire === undefined) return undefined;
  // A damaged message has no title, but the list must still be shown.
  const read = store.messages(id, { limit: messagesMax });
  const messages = await read.catch((): readonly MessageRecord[] => []);
  return titleOf(
    messages.flatMap(({ body }) => {
      const message = wire.messages.asMessage(decodeMessage(body));
      return message === undefined ? [] : [wire.messages.decode(message)];
    }),
  );
}
