/** Compacts a list of messages once, outside any session. Plimsoll records nothing and creates no handles. */

import type { Count } from "../../budget/tokenizer.ts";
import { PlimsollError } from "../../message/error.ts";
import type { JsonObject } from "../../message/json.ts";
import type { Message } from "../../message/message.ts";
import type { Receipt } from "../../message/receipt.ts";
import type { Strategy } from "../../message/strategy.ts";
import type { Wire } from "../../wire/format/wire.ts";
import { type Draft, sizeView } from "../draft/draft.ts";
import { decodeMessage, encodeMessage } from "../draft/encode.ts";
import { patchList } from "../draft/render.ts";
import { unsentDraft } from "../draft/unsent-draft.ts";
import type { Compaction, CompactionTask, CompactionWorld } from "../fit/compaction.ts";
import { receiptOf } from "../fit/report-compaction.ts";
import { compact } from "../fit/run-strategies.ts";
import { appendMessages } from "../log/append.ts";
import { newId } from "../log/ids.ts";
import { emptyLog, type LogMessage, moveTip, pathTo, rootLink, startBranch } from "../log/log.ts";
import { pathOfNodes } from "../log/path.ts";
import { wholeView } from "../log/view.ts";
import type { Target, Targets } from "../measure/target.ts";

export interface OneOffWorld extends CompactionWorld {
  readonly targets: Targets;
  readonly strategies: readonly Strategy[];
  readonly now: () => number;
}

export interface OneOffTask {
  readonly wire: Wire;
  readonly messages: readonly JsonObject[];
  /** Maximum number of tokens of all messages together. Tools are not counted, nor is a system prompt outside the messages. */
  readonly budget: number;
  readonly model?: string;
  /** The tokenizer to count with instead of the model's, and the texts of a message to count. */
  readonly count?: {
    readonly tokenizer: string;
    readonly textsOf: (message: Message) => readonly string[];
  };
}

export interface OneOff {
  readonly messages: readonly JsonObject[];
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly strategies: readonly string[];
  /** Reasons why strategies failed. */
  readonly failures: readonly string[];
  /** Makes the receipt. It is made only on request, because it takes as long as the compaction. */
  readonly receipt: () => Promise<Receipt>;
}

/** Contract: throws BREAKER_FAILED if the messages still do not fit after everything was tried. */
export async function compactOnce(world: OneOffWorld, task: OneOffTask): Promise<OneOff> {
  const { budget } = task;
  const draft = await draftOf(world, task);
  const start = await sizeView(world.facts, draft, wholeView);
  const without = { ...world, hasArchive: false, watch: undefined };
  const startedAt = world.now();
  const compaction = await compactTo(budget, without, { draft, start });
  const milliseconds = world.now() - startedAt;
  const tokensAfter = compaction.sized.measured.total;
  if (tokensAfter > budget)
    throw new PlimsollError(
      "BREAKER_FAILED",
      `The conversation cannot be reduced to ${budget} tokens, because ${tokensAfter} must stay. Set a larger budget.`,
      { fields: { tokens: tokensAfter, budget, failures: compaction.failures.join("; ") } },
    );
  return {
    messages: patchList(task.messages, compaction.sized.patches, decodeMessage),
    tokensBefore: start.measured.total,
    tokensAfter,
    strategies: compaction.strategies,
    failures: compaction.failures,
    receipt: async () => {
      const report = { reason: "by hand", start, milliseconds, shown: (tokens: number) => tokens };
      return { ...(await receiptOf(without, draft, compaction, report)), handles: [] };
    },
  };
}

/** Goals as shares of the budget. They are tried one after the other, because a compaction may miss its goal by a little. */
const depths = [1, 0.8, 0.6, 0.4, 0.2];

/** The first compaction that meets the budget. If none does, the compaction with the fewest tokens. */
async function compactTo(
  budget: number,
  world: CompactionWorld & Pick<OneOffWorld, "strategies">,
  { draft, start }: Pick<CompactionTask, "draft" | "start">,
): Promise<Compaction> {
  const { strategies } = world;
  let smallest: Compaction | undefined;
  for (const depth of depths) {
    const tokens = Math.floor(budget * depth);
    const goal = { limitTokens: budget, tokens, floorTokens: Math.floor(tokens * 0.86) };
    const made = await compact(world, { draft, start, strategies, goal });
    const { total } = made.sized.measured;
    if (total < (smallest?.sized.measured.total ?? Infinity)) smallest = made;
    if (total <= budget) break;
  }
  if (smallest === undefined) throw new TypeError("No compaction was attempted.");
  return smallest;
}

const noTokens: Count = { tokens: 0, certainty: "exact" };

async function draftOf(
  world: Pick<OneOffWorld, "facts" | "targets" | "now">,
  task: OneOffTask,
): Promise<Draft> {
  const { wire, messages, model = "" } = task;
  const turn = { id: newId("turn"), at: world.now() };
  const target = withCount(world.targets.resolve(wire.name, wire, { model }), task.count);
  const bodies = messages.map(encodeMessage);
  const learned = await world.facts.learn(wire, bodies, target.ruler);
  return unsentDraft({
    turn,
    ...recordApart(wire, turn, learned, bodies),
    wire,
    head: { bytes: new Uint8Array(), system: noTokens, tools: noTokens },
    origin: "one-off",
    target,
    provider: wire.name,
    model,
    learned,
    certainty: "exact",
  });
}

/** Puts the messages into a separate log that is never stored. */
function recordApart(
  wire: Wire,
  turn: Draft["turn"],
  messages: readonly LogMessage[],
  bodies: readonly Uint8Array[],
): Pick<Draft, "log" | "branch" | "path"> {
  const { at } = turn;
  const bodyAt = (index: number): Uint8Array => bodies[index] ?? new Uint8Array();
  const log = emptyLog({
    id: newId("ses"),
    tenant: "one-off",
    wire: wire.name,
    createdAt: at,
    updatedAt: at,
  });
  const branch = startBranch(log, { id: newId("br"), relation: "new", forkSeq: null, at });
  const tip = appendMessages(
    log,
    { seq: null, link: rootLink(wire.name) },
    messages.map((message, index) => ({ message, bytes: bodyAt(index) })),
    { turn: turn.id, branch: branch.record.id, source: "request", isComplete: true, at },
  );
  moveTip(branch, tip.seq);
  const nodes = pathTo(log, tip.seq);
  const bySeq = new Map(nodes.map(({ seq }, index) => [seq, bodyAt(index)]));
  return { log, branch, path: pathOfNodes(log, nodes, bySeq, messages) };
}

function withCount(target: Target, count: OneOffTask["count"]): Target {
  if (count === undefined) return target;
  return { ...target, ruler: { ...target.ruler, ...count, key: `own\0${count.tokenizer}` } };
}
