/** What would be sent of a request, without recording it: for clients that only want to know how much it is. */

import { effectiveLimit } from "../../budget/guard.ts";
import { ownLimitsOf } from "../../config/limits.ts";
import { readSlices } from "../../wire/format/slices.ts";
import { asGuarded } from "../draft/projection.ts";
import { type Patch, patchBody, renderView, withToolsInMessage } from "../draft/render.ts";
import { linksIn } from "../identify/named-links.ts";
import { placeInSession, shapeOf } from "../identify/place-request.ts";
import { loadInner } from "../log/inner-messages.ts";
import { extendLinks } from "../log/log.ts";
import { indexOn, pathOf } from "../log/path.ts";
import { foldView, type View, wholeView } from "../log/view.ts";
import { askedTools, toolsOf, worthItsRoom } from "../tools/own-tools-offer.ts";
import type { Incoming, TurnContext } from "./context.ts";
import { measureRequest } from "./draft-from-request.ts";

/** The body with the edits that hold, or undefined when none does. */
export async function peekBody(
  context: TurnContext,
  { tenant, provider, wire, body, hints, isRefreshable = false }: Incoming,
): Promise<Uint8Array | undefined> {
  const slices = readSlices(body);
  const request = wire.body.read(body, slices);
  const target = context.targets.resolve(provider, wire, request);
  const bytes = request.messages.map((slice) => body.subarray(slice.start, slice.end));
  const messages = await context.facts.learn(wire, bytes, target.ruler);
  const links = extendLinks(wire.name, [], messages);
  const asking = { ...(request.clientSession && { clientKey: request.clientSession }), ...hints };
  const log = await context.sessions.lookup({
    tenant,
    wire: wire.name,
    request: shapeOf(messages, links),
    hints: asking,
    isRefreshable,
  });
  const head = await context.heads.read(body, request, target);
  const asked = askedTools(body, request, { slices, head, target });
  const who = { provider, model: request.model, ...(hints.agent && { agent: hints.agent }) };
  const limit = effectiveLimit(asGuarded(target), ownLimitsOf(context.config, who));
  const hasOtherPlans = request.hasOtherPlans === true;
  const offer = hasOtherPlans ? undefined : worthItsRoom(await context.offers.read(asked), limit);
  const within = request.toolsInMessage;
  const measured = measureRequest(head, messages, within);
  const withTools = async (view: View, patches: readonly Patch[] = []) => {
    const { tools } = await toolsOf(offer, view, measured);
    const isSame = tools.elements.length === 0 && patches.length === 0;
    if (isSame) return undefined;
    const holder = bytes[within?.message ?? -1];
    const changes = { patches, tools };
    const inside = within && holder && withToolsInMessage(changes, within, holder);
    return patchBody(body, slices, wire.fields, inside ?? changes);
  };
  if (log === undefined || log.edits.length === 0) return withTools(wholeView);
  await loadInner(context.store, log);
  const named = linksIn(log, messages, links);
  const place = placeInSession(log, shapeOf(messages, named), asking);
  const branch = place.branch ?? place.left;
  const path = pathOf({
    log,
    branch: branch?.record.id ?? log.nodes.get(place.parent ?? -1)?.branch,
    links: named,
    messages,
    bytesAt: (index) => bytes[index] ?? new Uint8Array(),
    mayHoldMark: () => true,
  });
  const view = foldView(indexOn(path, log), log.edits);
  const catalogue = offer?.catalogue;
  const patches = renderView(view, path, {
    wire,
    ownTextStands: wire.edit.ownTextStands,
    isPlain: offer === undefined,
    isNative: catalogue?.isNative === true,
    ...(catalogue === undefined ? {} : { isListed: (name: string) => catalogue.has(name) }),
  });
  return withTools(view, patches);
}
