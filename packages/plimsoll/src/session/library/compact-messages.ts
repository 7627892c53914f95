/** A list of messages compacted once, outside of any session: nothing is recorded, and nothing has a handle. */

import { measurement as measure } from "../../budget/measure.ts";
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
import type { Compaction, CompactionWorld } from "../fit/compaction.ts";
import { receiptOf } from "../fit/report-compaction.ts";
import { compact } from "../fit/run-strategies.ts";
import { appendMessages } from "../log/append.ts";
import { newId } from "../log/ids.ts";
import { emptyLog, moveTip, pathTo, rootLink, startBranch } from "../log/log.ts";
import { addMessage, nothing, pathOfNodes } from "../log/path.ts";
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
  /** For the messages; a system prompt outside of them and tools are not counted. */
  readonly budget: number;
  readonly model?: string;
  /** Another way to count than that of the model. */
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
  /** What was tried in vain. */
  readonly failures: readonly string[];
  /** Made when it is asked for: it takes as long as the compaction. */
  readonly receipt: () => Promise<Receipt>;
}

/** What misses its budget by a little is tried again, a little deeper. */
const depths = [1, 0.8, 0.6, 0.4, 0.2];

/** Contract: what does not fit after all that could be done is refused with BREAKER_FAILED. */
export async function compactOnce(world: OneOffWorld, task: OneOffTask): Promise<OneOff> {
  const draft = await draftOf(world, task);
  const start = await sizeView(world.facts, draft, wholeView);
  const { budget } = task;
  const { strategies } = world;
  const without = { ...world, hasArchive: false, watch: undefined };
  const startedAt = world.now();
  let compaction: Compaction | undefined;
  for (const depth of depths) {
    const tokens = Math.floor(budget * depth);
    const goal = { limitTokens: budget, tokens, floorTokens: Math.floor(tokens * 0.86) };
    const made = await compact(without, { draft, start, strategies, goal });
    const isSmaller = made.sized.measured.total < (compaction?.sized.measured.total ?? Infinity);
    if (isSmaller) compaction = made;
    if (made.sized.measured.total <= budget) break;
  }
  if (compaction === undefined) throw new TypeError("No depth was tried.");
  const milliseconds = world.now() - startedAt;
  const tokensAfter = compaction.sized.measured.total;
  if (tokensAfter > budget)
    throw new PlimsollError(
      "BREAKER_FAILED",
      `The conversation cannot be brought to ${budget} tokens: ${tokensAfter} must stay. Give a larger budget.`,
      { fields: { tokens: tokensAfter, budget, failures: compaction.failures.join("; ") } },
    );
  const list = patchList(task.messages, compaction.sized.patches, decodeMessage);
  return {
    messages: list,
    tokensBefore: start.measured.total,
    tokensAfter,
    strategies: compaction.strategies,
    failures: compaction.failures,
    receipt: async () => {
      const report = { reason: "by hand", start, milliseconds, scale: 1 };
      return { ...(await receiptOf(without, draft, compaction, report)), handles: [] };
    },
  };
}

async function draftOf(world: OneOffWorld, task: OneOffTask): Promise<Draft> {
  const { wire, messages, model = "" } = task;
  const at = world.now();
  const turn = { id: newId("turn"), at };
  const log = emptyLog({
    id: newId("ses"),
    tenant: "one-off",
    wire: wire.name,
    createdAt: at,
    updatedAt: at,
  });
  const branch = startBranch(log, { id: newId("br"), relation: "new", forkSeq: null, at });
  const target = withCount(world.targets.resolve(wire.name, wire, { model }), task.count);
  const bodies = messages.map(encodeMessage);
  const learned = await world.facts.learn(wire, bodies, target.ruler);
  const entries = learned.map((message, index) => ({
    message,
    bytes: bodies[index] ?? new Uint8Array(),
  }));
  const from = { seq: null, link: rootLink(wire.name) };
  const said = {
    turn: turn.id,
    branch: branch.record.id,
    source: "request",
    isComplete: true,
    at,
  } as const;
  const tip = appendMessages(log, from, entries, said);
  moveTip(branch, tip.seq);
  const nodes = pathTo(log, tip.seq);
  const bySeq = new Map(nodes.map(({ seq }, index) => [seq, bodies[index] ?? new Uint8Array()]));
  const sum = learned.reduce(addMessage, nothing);
  const none: Count = { tokens: 0, certainty: "exact" };
  return {
    turn,
    log,
    branch,
    wire,
    path: pathOfNodes(log, nodes, bySeq, learned),
    head: { bytes: new Uint8Array(), system: none, tools: none },
    targets: [target],
    who: { provider: wire.name, model },
    measured: measure({
      system: none,
      skills: none,
      tools: none,
      conversation: { tokens: sum.tokens, certainty: "exact" },
    }),
    sum,
    origin: "one-off",
    tools: { kind: "unseen" },
    request: {
      compose: ({ patches }) =>
        encodeMessage(
          wire.body.compose({
            model,
            tools: [],
            maxOutputTokens: target.limit.maxOutput,
            messages: patchList(messages, patches, decodeMessage),
          }),
        ),
    },
  };
}

function withCount(target: Target, count: OneOffTask["count"]): Target {
  if (count === undefined) return target;
  return { ...target, ruler: { ...target.ruler, ...count, key: `own\0${count.tokenizer}` } };
}
