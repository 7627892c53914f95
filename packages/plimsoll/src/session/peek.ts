/** What would be sent of a request, without recording it: for clients that only want to know how much it is. */

import { readSlices } from "../wire/slices.ts";
import { extendLinks } from "./log.ts";
import { indexOn, pathOf } from "./path.ts";
import { patchBody, renderView } from "./render.ts";
import type { Incoming, TurnContext } from "./turn.ts";
import { foldView, wholeView } from "./view.ts";

/** The body with the edits that hold, or undefined when none does. */
export async function peekBody(
  context: TurnContext,
  { tenant, provider, wire, body, hints }: Incoming,
): Promise<Uint8Array | undefined> {
  const slices = readSlices(body);
  const request = wire.readRequest(body, slices);
  const target = context.targets.resolve(provider, wire, request);
  const bytes = request.messages.map((slice) => body.subarray(slice.start, slice.end));
  const messages = await context.facts.learn(wire, bytes, target.ruler);
  const links = extendLinks(wire.name, [], messages);
  const log = await context.sessions.lookup({
    tenant,
    wire: wire.name,
    request: {
      links,
      roles: messages.map(({ role }) => role),
      identities: messages.map(({ identity }) => identity),
      compactedFrom: -1,
    },
    hints: { ...(request.clientSession && { clientKey: request.clientSession }), ...hints },
  });
  if (log === undefined || log.edits.length === 0) return undefined;
  const path = pathOf({
    log,
    links,
    messages,
    bytesAt: (index) => bytes[index] ?? new Uint8Array(),
    mayHoldMark: () => true,
  });
  const view = foldView(indexOn(path, log), log.edits);
  if (view === wholeView) return undefined;
  const patches = renderView(view, path, { wire, ownTextStands: wire.ownTextStands });
  return patchBody(body, slices, wire.messagesField, { patches });
}
