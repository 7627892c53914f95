/**
 * Rebuilds the newest request of a session as the model sees it: the preamble, and the view up to the last message of that
 * request.
 */

import type { JsonObject } from "../../message/json.ts";
import type { Store } from "../../store/store.ts";
import { decodeMessage } from "../draft/encode.ts";
import { patchList, renderView } from "../draft/render.ts";
import { storedBodies, storedPath } from "../draft/stored-path.ts";
import { messagesOf } from "../draft/unsent-draft.ts";
import { loadInner } from "../log/inner-messages.ts";
import { bodyWithHead } from "../measure/preamble.ts";
import type { Place } from "./window-at.ts";

export async function requestAsSeen(
  store: Pick<Store, "bodies" | "head">,
  { session, log, branch, wire, nodes, view, lastTurn }: Place,
): Promise<JsonObject> {
  const bodies = await storedBodies(store, session, nodes, lastTurn);
  await loadInner(store, log);
  const path = storedPath({ log, branch, nodes, bodies });
  const patches = renderView(view, path, { wire, ownTextPlacement: wire.edit.ownTextPlacement });
  const name = lastTurn?.head;
  const head = name === undefined ? undefined : await store.head(session, name);
  return bodyWithHead(wire, head, {
    model: lastTurn?.model ?? "",
    messages: patchList(messagesOf(path), patches, decodeMessage),
  });
}
