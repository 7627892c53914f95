/** Adds the messages of inner rounds to the log, with an edit that shows them in place of the answer. */

import { type NewEdit, ownTools } from "../../message/edit.ts";
import type { Draft } from "../draft/draft.ts";
import { encodeMessage } from "../draft/encode.ts";
import type { Fitted } from "../fit/last-resort.ts";
import { appendMessages, type Placed, type Tip } from "../log/append.ts";
import { appendEdit, newEdit, whileEditing } from "../log/edits.ts";
import { looseChainOf, pathTo } from "../log/log.ts";
import type { FactsReader } from "../measure/message-facts.ts";
import type { KeptRounds } from "./inner-rounds.ts";

/** The services that recording needs. */
export interface RecordingWorld {
  readonly facts: FactsReader;
  readonly now: () => number;
}

/** `answer` is the last message of the answer as the client knows it. */
export async function expandAnswer(
  { facts, now }: RecordingWorld,
  { draft, placed, fitted, rounds }: SentTurn,
  answer: Tip,
): Promise<void> {
  const { log } = placed;
  const innerMessages = rounds?.messages ?? [];
  if (innerMessages.length === 0) return;
  const bytes = innerMessages.map(encodeMessage);
  const learned = await facts.learn(draft.wire, bytes, fitted.target.ruler);
  await whileEditing(log, async () => {
    const inner: number[] = [];
    let tip = placed.tip;
    for (const [index, message] of learned.entries()) {
      const body = bytes[index] ?? new Uint8Array();
      tip = appendMessages(log, tip, [{ message, bytes: body }], {
        turn: draft.turn.id,
        branch: placed.branch.record.id,
        source: "inner",
        isComplete: true,
        at: now(),
        priority: draft.who.priority,
      });
      inner.push(tip.seq ?? 0);
      log.inner.set(tip.seq ?? 0, body);
    }
    const tokens = learned.reduce((sum, message) => sum + message.tokens, 0);
    const edit = editFor({ draft, placed, answer, inner, tokens, at: now() });
    if (edit !== undefined) appendEdit(log, edit);
  });
}

interface Expanding extends Pick<SentTurn, "draft" | "placed"> {
  readonly answer: Tip;
  readonly inner: readonly number[];
  readonly tokens: number;
  readonly at: number;
}

/**
 * The edit that shows the inner rounds in place of an answer. The answer consists of all messages after the request, up to and
 * including `answer`.
 */
function editFor({ draft, placed, answer, inner, tokens, at }: Expanding): NewEdit | undefined {
  const { log, branch } = placed;
  const path = pathTo(log, answer.seq);
  const from = path.findIndex(({ parent }) => parent === placed.tip.seq);
  const [first, last] = [path[from], path.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  // If the same request got the same answer before, no second edit is needed, because the client cannot tell the two answers
  // apart.
  const isKnown = log.edits.some(
    ({ action }) => action.kind === "expand" && action.last === looseChainOf(last),
  );
  if (isKnown) return undefined;
  const origin = { branch: branch.record.id, step: `${draft.turn.id}+${ownTools}`, at };
  return newEdit(origin, {
    anchor: looseChainOf(last),
    action: { kind: "expand", first: looseChainOf(first), last: looseChainOf(last), inner },
    strategy: ownTools,
    reason: "The model looked something up.",
    tokensBefore: path.slice(from).reduce((sum, node) => sum + node.tokens, 0),
    tokensAfter: tokens,
  });
}

/** A turn as it was last sent. */
export interface SentTurn {
  readonly draft: Draft;
  readonly placed: Placed;
  readonly fitted: Fitted;
  /** The inner rounds of the turn. The client does not know them. */
  readonly rounds?: KeptRounds | undefined;
  /** Whether the "too long" that ends the turn was already reported. */
  readonly isOverflowReported?: boolean;
}
