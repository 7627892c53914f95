/** A draft from the store, as if the conversation were sent now. For looking at a conversation, and for steering it. */

import { measurement as measure } from "../../budget/measure.ts";
import type { Count } from "../../budget/tokenizer.ts";
import { PlimsollError } from "../../message/error.ts";
import type { JsonObject, JsonValue } from "../../message/json.ts";
import type { NodeRecord, TurnRecord } from "../../store/store.ts";
import type { Wire } from "../../wire/format/wire.ts";
import { wires } from "../../wire/wires.ts";
import { type Draft, sizeView } from "../draft/draft.ts";
import { decodeMessage, encodeMessage } from "../draft/encode.ts";
import { patchList } from "../draft/render.ts";
import type { Pictures } from "../inspect/window.ts";
import { newId } from "../log/ids.ts";
import { loadInner } from "../log/inner-messages.ts";
import { type BranchState, type LogMessage, pathTo, type SessionLog } from "../log/log.ts";
import { addMessage, nothing, type Path, pathOfNodes } from "../log/path.ts";
import type { View } from "../log/view.ts";
import { type Preamble, storedLeadingMessages } from "../measure/preamble.ts";
import { scaleOf } from "../measure/provider-tokens.ts";
import type { TurnContext } from "../turn/context.ts";

/** The services that steering needs. */
export interface SteerContext extends TurnContext {
  /** The picture of a window that people see, and its size as they see it. */
  readonly picture: Pictures;
}

export interface StoredPlace {
  readonly log: SessionLog;
  readonly branch: BranchState;
  readonly view: View;
  readonly lastTurn: TurnRecord | undefined;
}

export interface ReadableView {
  readonly branch: string;
  readonly messages: readonly JsonValue[];
  readonly tokens: number;
  readonly limit: number | null;
}

/** The services for reading a conversation from the store. */
export type DraftWorld = Pick<TurnContext, "store" | "saver" | "targets" | "facts" | "now">;

/** The stored conversation as a draft, as if it were sent now. */
export async function storedDraft(context: DraftWorld, place: StoredPlace): Promise<Draft> {
  const { log, branch, lastTurn } = place;
  const wire = wireOf(log);
  const nodes = pathTo(log, branch.record.tipSeq);
  await context.saver.save(log);
  const bodies = await storedBodies(context, place, nodes);
  await loadInner(context.store, log);
  const { provider = wire.name, model = "" } = lastTurn ?? {};
  const target = context.targets.resolve(provider, wire, { model });
  const learned = await context.facts.learn(
    wire,
    nodes.map(({ seq }) => bodies.get(seq) ?? new Uint8Array()),
    target.ruler,
  );
  // A stored message has the cache mark that it was first sent with. The client has moved the mark on with every turn since.
  const path: Path = {
    ...pathOfNodes(log, nodes, bodies, learned),
    branch: branch.record.id,
    mayCarryMark: () => false,
  };
  const sum = learned.reduce(addMessage, nothing);
  const head = headOf(place, learned);
  return {
    turn: { id: newId("step"), at: context.now() },
    log,
    branch,
    wire,
    path,
    head,
    targets: [target],
    who: { provider, model },
    measured: measure({
      system: head.system,
      skills: estimate(0),
      tools: head.tools,
      conversation: estimate(sum.tokens),
    }),
    sum,
    origin: "store",
    tools: { kind: "unseen" },
    request: {
      compose: ({ patches }) =>
        encodeMessage(
          wire.body.compose({
            model,
            tools: [],
            maxOutputTokens: target.limit.maxOutput,
            messages: patchList(messagesOf(path), patches, decodeMessage),
          }),
        ),
    },
  };
}

/** By number. A system prompt among the messages is the one that the client sent last. */
async function storedBodies(
  { store }: Pick<DraftWorld, "store">,
  { log, lastTurn }: StoredPlace,
  nodes: readonly NodeRecord[],
): Promise<ReadonlyMap<number, Uint8Array>> {
  const { id: session } = log.record;
  const seqs = nodes.map(({ seq }) => seq);
  const bodies = new Map(await store.bodies(session, seqs));
  const head = lastTurn?.head && (await store.head(session, lastTurn.head));
  for (const [index, message] of storedLeadingMessages(head || undefined).entries())
    bodies.set(nodes[index]?.seq ?? -1, encodeMessage(message));
  return bodies;
}

/** System prompt and tools of the last turn, converted from the provider's tokens to Plimsoll's. */
function headOf({ branch, lastTurn }: StoredPlace, messages: readonly LogMessage[]): Preamble {
  const scale = scaleOf(branch.record);
  const { system = 0, tools = 0 } = lastTurn?.measurement ?? {};
  // Tools that a message brings are counted with that message.
  const brought = messages.filter(({ isTools }) => isTools === true).reduce(addMessage, nothing);
  return {
    bytes: new Uint8Array(),
    system: estimate(Math.round(system / scale)),
    tools: estimate(Math.max(0, Math.round(tools / scale) - brought.tokens)),
  };
}

function estimate(tokens: number): Count {
  return { tokens, certainty: "estimate" };
}

function wireOf(log: SessionLog): Wire {
  const wire = Object.values(wires).find(({ name }) => name === log.record.wire);
  if (wire !== undefined) return wire;
  throw new PlimsollError("NOTHING_TO_DO", "There is nothing in this session yet.", {
    status: 409,
  });
}

function messagesOf(path: Path): readonly JsonObject[] {
  return Array.from({ length: path.length }, (_, index) => decodeMessage(path.bytesAt(index)));
}

export async function readableView(context: DraftWorld, place: StoredPlace): Promise<ReadableView> {
  const draft = await storedDraft(context, place);
  const { view, lastTurn, branch } = place;
  const { patches, measured } = await sizeView(context.facts, draft, view);
  return {
    branch: branch.record.id,
    messages: patchList(messagesOf(draft.path), patches, decodeMessage),
    tokens: measured.conversation,
    limit: lastTurn?.limit ?? null,
  };
}
