/** A draft from the store, as if the conversation were sent now. It is used to show a conversation and to steer it. */

import { inOwnTokens } from "../../budget/token-scale.ts";
import type { Count } from "../../budget/tokenizer.ts";
import { PlimsollError } from "../../message/error.ts";
import type { JsonValue } from "../../message/json.ts";
import type { TurnRecord } from "../../store/store.ts";
import type { Wire } from "../../wire/format/wire.ts";
import { wires } from "../../wire/wires.ts";
import { type Draft, sizeView } from "../draft/draft.ts";
import { decodeMessage } from "../draft/encode.ts";
import { patchList } from "../draft/render.ts";
import { storedBodies, storedPath } from "../draft/stored-path.ts";
import { messagesOf, unsentDraft } from "../draft/unsent-draft.ts";
import type { Pictures } from "../inspect/window.ts";
import { newId } from "../log/ids.ts";
import { loadInner } from "../log/inner-messages.ts";
import { type BranchState, type LogMessage, pathTo, type SessionLog } from "../log/log.ts";
import { addMessage, nothing } from "../log/path.ts";
import type { View } from "../log/view.ts";
import { scaleOf } from "../measure/branch-counters.ts";
import type { Preamble } from "../measure/preamble.ts";
import type { TurnContext } from "../turn/context.ts";

/** The services that steering needs. */
export interface SteerContext extends TurnContext {
  /** Makes the picture of a window, which contains the sizes that people see. */
  readonly picture: Pictures;
}

export interface StoredPlace {
  readonly log: SessionLog;
  readonly branch: BranchState;
  readonly view: View;
  readonly lastTurn: TurnRecord | undefined;
}

export interface ReadableView {
  readonly messages: readonly JsonValue[];
}

/** The services for reading a conversation from the store. */
export type DraftWorld = Pick<TurnContext, "store" | "saver" | "targets" | "facts" | "now">;

/** The stored conversation as a draft, as if it were sent now. */
export async function storedDraft(context: DraftWorld, place: StoredPlace): Promise<Draft> {
  const { log, branch, lastTurn } = place;
  const wire = wireOf(log);
  const nodes = pathTo(log, branch.record.tipSeq);
  await context.saver.save(log);
  const bodies = await storedBodies(context.store, log.record.id, nodes, lastTurn);
  await loadInner(context.store, log);
  const { provider = wire.name, model = "" } = lastTurn ?? {};
  const target = context.targets.resolve(provider, wire, { model });
  const learned = await context.facts.learn(
    wire,
    nodes.map(({ seq }) => bodies.get(seq) ?? new Uint8Array()),
    target.ruler,
  );
  return unsentDraft({
    turn: { id: newId("step"), at: context.now() },
    log,
    branch,
    wire,
    path: storedPath({ log, branch: branch.record.id, nodes, bodies }, learned),
    head: headOf(place, learned),
    origin: "store",
    target,
    provider,
    model,
    learned,
    certainty: "estimate",
  });
}

/** System prompt and tools of the last turn, converted from the provider's tokens to Plimsoll's. */
function headOf({ branch, lastTurn }: StoredPlace, messages: readonly LogMessage[]): Preamble {
  const scale = scaleOf(branch.record);
  const { system = 0, tools = 0 } = lastTurn?.measurement ?? {};
  // If a message contains a tool list, these tools are counted with that message.
  const brought = messages.filter(({ isTools }) => isTools === true).reduce(addMessage, nothing);
  return {
    bytes: new Uint8Array(),
    system: estimate(Math.round(inOwnTokens(system, scale))),
    tools: estimate(Math.max(0, Math.round(inOwnTokens(tools, scale)) - brought.tokens)),
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

export async function readableView(context: DraftWorld, place: StoredPlace): Promise<ReadableView> {
  const draft = await storedDraft(context, place);
  const { patches } = await sizeView(context.facts, draft, place.view);
  return { messages: patchList(messagesOf(draft.path), patches, decodeMessage) };
}
