/** A conversation as it stands in the store, as if it were to be sent now: for looking at it, and for steering it. */

import { measurement as measure } from "../../budget/measure.ts";
import type { Count } from "../../budget/tokenizer.ts";
import { PlimsollError } from "../../message/error.ts";
import type { JsonObject, JsonValue } from "../../message/json.ts";
import type { TurnRecord } from "../../store/store.ts";
import type { Wire } from "../../wire/format/wire.ts";
import { wires } from "../../wire/wires.ts";
import { type Draft, sizeView } from "../draft/draft.ts";
import { decodeMessage, encodeMessage } from "../draft/encode.ts";
import { patchList } from "../draft/render.ts";
import type { Pictures } from "../inspect/window.ts";
import { newId } from "../log/ids.ts";
import { loadInner } from "../log/inner-messages.ts";
import { type BranchState, pathTo, type SessionLog } from "../log/log.ts";
import { addMessage, nothing, type Path, pathOfNodes } from "../log/path.ts";
import { storedLead } from "../measure/preamble.ts";
import { scaleOf } from "../measure/provider-tokens.ts";
import type { TurnContext } from "../turn/context.ts";

/** What steering needs of the world. */
export interface SteerContext extends TurnContext {
  /** What people are shown of a window, and its size as they are told it. */
  readonly picture: Pictures;
}

import type { View } from "../log/view.ts";

export interface StoredPlace {
  readonly log: SessionLog;
  readonly branch: BranchState;
  readonly view: View;
  readonly lastTurn: TurnRecord | undefined;
}

export interface SeenView {
  readonly branch: string;
  readonly messages: readonly JsonValue[];
  readonly tokens: number;
  readonly limit: number | null;
}

/** The conversation as it stands in the store, as if it were to be sent now. */
export async function storedDraft(
  context: TurnContext,
  { log, branch, lastTurn }: StoredPlace,
): Promise<Draft> {
  const wire = wireOf(log);
  const nodes = pathTo(log, branch.record.tipSeq);
  await context.saver.save(log);
  const bodies = new Map(
    await context.store.bodies(
      log.record.id,
      nodes.map(({ seq }) => seq),
    ),
  );
  // The system prompt as it was sent last, where it stands among the messages.
  const head = lastTurn?.head && (await context.store.head(log.record.id, lastTurn.head));
  for (const [index, message] of storedLead(head || undefined).entries())
    bodies.set(nodes[index]?.seq ?? -1, encodeMessage(message));
  await loadInner(context.store, log);
  const { provider = wire.name, model = "" } = lastTurn ?? {};
  const target = context.targets.resolve(provider, wire, { model });
  const learned = await context.facts.learn(
    wire,
    nodes.map(({ seq }) => bodies.get(seq) ?? new Uint8Array()),
    target.ruler,
  );
  // Each message has the mark that it was first sent with; the client has moved it on since, with every turn.
  const path: Path = {
    ...pathOfNodes(log, nodes, bodies, learned),
    branch: branch.record.id,
    mayHoldMark: () => false,
  };
  const sum = learned.reduce(addMessage, nothing);
  const count = (tokens: number): Count => ({ tokens, certainty: "estimate" });
  // What was measured then was told as the provider counts; here everything is in our own tokens.
  const scale = scaleOf(branch.record);
  const system = Math.round((lastTurn?.measurement.system ?? 0) / scale);
  const brought = learned.filter(({ isTools }) => isTools === true).reduce(addMessage, nothing);
  const tools = Math.max(
    0,
    Math.round((lastTurn?.measurement.tools ?? 0) / scale) - brought.tokens,
  );
  return {
    turn: { id: newId("step"), at: context.now() },
    log,
    branch,
    wire,
    path,
    head: { bytes: new Uint8Array(), system: count(system), tools: count(tools) },
    targets: [target],
    who: { provider, model },
    measured: measure({
      system: count(system),
      skills: count(0),
      tools: count(tools),
      conversation: count(sum.tokens),
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

export async function seenView(context: TurnContext, place: StoredPlace): Promise<SeenView> {
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
