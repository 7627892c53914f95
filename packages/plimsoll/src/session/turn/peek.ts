/**
 * Composes the body that Plimsoll would send for a request, but records nothing. This is for clients that only ask for the size.
 */

import type { Store } from "../../store/store.ts";
import { type Draft, offeredTools, offerIn, renderingOf } from "../draft/draft.ts";
import { guardOf } from "../draft/projection.ts";
import { renderView } from "../draft/render.ts";
import { linksIn } from "../identify/named-links.ts";
import { placeInSession, shapeOf } from "../identify/place-request.ts";
import type { SessionLog } from "../log/log.ts";
import { indexOn, type Path } from "../log/path.ts";
import { foldView, wholeView } from "../log/view.ts";
import { askedTools, toolsOf } from "../tools/own-tools-offer.ts";
import { configured } from "./configured-request.ts";
import type { Incoming, TurnContext } from "./context.ts";
import {
  composeRequest,
  measureRequest,
  pathOfRequest,
  type SentRequest,
  whoAsks,
} from "./draft-from-request.ts";
import { type ReadRequest, readAlone } from "./read-request.ts";

type PeekContext = Pick<
  TurnContext,
  "config" | "facts" | "heads" | "offers" | "sessions" | "store" | "targets"
>;

/** The body that Plimsoll would send, with all active edits. Undefined if it would be the client's own body. */
export async function peekBody(
  context: PeekContext,
  incoming: Incoming,
): Promise<Uint8Array | undefined> {
  const asked = await readAlone(context, configured(context.config, incoming));
  const log = await sessionOf(context, asked);
  const draft = await draftOf(context, asked);
  const path = log && (await pathIn(context.store, log, asked));
  const view = log && path ? foldView(indexOn(path, log), log.edits) : wholeView;
  const { tools } = await toolsOf(offerIn(draft), view, draft.measured);
  const patches = path ? renderView(view, path, renderingOf(draft, { tools })) : [];
  const { body, isChangedBySettings = false } = asked.incoming;
  if (tools.elements.length === 0 && patches.length === 0)
    return isChangedBySettings ? body : undefined;
  return composeRequest(
    asked,
    { path: ownMessages(asked), serverSideCount: 0 },
    { patches, tools },
  );
}

/** The session that the request continues. Undefined if the request would start a session, or if its session has no edits. */
async function sessionOf(
  { sessions }: Pick<PeekContext, "sessions">,
  { incoming, messages, links }: ReadRequest,
): Promise<SessionLog | undefined> {
  const { tenant, wire, hints, isRefreshable = false } = incoming;
  const log = await sessions.lookup({
    tenant,
    wire: wire.name,
    request: shapeOf(messages, links),
    hints,
    isRefreshable,
  });
  return log === undefined || log.edits.length === 0 ? undefined : log;
}

/** The parts of a draft that the tools and the view need. No branch or turn is recorded. */
async function draftOf(
  context: Pick<PeekContext, "config" | "offers">,
  { incoming, request, slices, targets, messages, head }: ReadRequest,
): Promise<Pick<Draft, "wire" | "targets" | "measured" | "tools">> {
  const { wire, body } = incoming;
  const asked = askedTools(body, request, { slices, head, target: targets[0] });
  const offer = request.forbidsOwnTools === true ? undefined : await context.offers.read(asked);
  const { limit } = guardOf(context, { targets, who: whoAsks(incoming, request) });
  return {
    wire,
    targets,
    measured: measureRequest(head, messages, request.toolsInMessage),
    tools: offeredTools(offer, limit),
  };
}

/** The path that the request would have in its session. */
async function pathIn(
  store: Pick<Store, "bodies">,
  log: SessionLog,
  asked: ReadRequest,
): Promise<Path> {
  const { messages, incoming } = asked;
  const links = linksIn(log, messages, asked.links);
  const place = placeInSession(log, shapeOf(messages, links), incoming.hints);
  const branch = place.branch ?? place.left;
  const path = pathOfRequest(store, asked, {
    log,
    branch: branch?.record.id ?? log.nodes.get(place.parent ?? -1)?.branch,
    links,
    whole: { messages, serverSideCount: 0, nodes: new Map() },
  });
  await path.load();
  return path;
}

function ownMessages({ bytes }: SentRequest): Pick<Path, "length" | "bytesAt"> {
  return { length: bytes.length, bytesAt: (index) => bytes[index] ?? new Uint8Array() };
}
