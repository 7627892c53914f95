/** Reports a finished compaction in an event with a receipt. The receipt is made after the request has been sent. */

import { setImmediate as nextTick } from "node:timers/promises";
import type { VisibleText } from "../../compact/evidence/coherence.ts";
import { type ReceiptWork, receiptFrom } from "../../compact/evidence/receipt-work.ts";
import { messageText } from "../../message/message.ts";
import type { Receipt } from "../../message/receipt.ts";
import type { VisibleConversation } from "../../message/strategy.ts";
import type { Worth } from "../../prompt/compaction-payoff.ts";
import { decoded, readVisible } from "../draft/conversation-for-strategies.ts";
import type { Draft, Sized } from "../draft/draft.ts";
import { announce } from "../log/append.ts";
import type { LogSaver } from "../log/save.ts";
import type { Background } from "./background.ts";
import type { Compaction, CompactionWorld } from "./compaction.ts";

export interface ReportWorld extends CompactionWorld {
  readonly saver: LogSaver;
  readonly background: Background;
}

export interface CompactionReport {
  readonly reason: string;
  /** The view before the compaction. */
  readonly start: Sized;
  readonly milliseconds: number;
  readonly worth?: Worth;
  /** Converts Plimsoll's tokens to the provider's tokens, which are the tokens that people see. */
  readonly shown: (ownTokens: number) => number;
}

export function reportCompaction(
  world: ReportWorld,
  draft: Draft,
  compaction: Compaction,
  report: CompactionReport,
): void {
  world.background.run(async () => {
    const { log, branch, turn } = draft;
    const { edits, archive, strategies, sized } = compaction;
    announce(log, {
      type: "compaction-end",
      session: log.record.id,
      at: turn.at,
      turn: turn.id,
      branch: branch.record.id,
      reason: report.reason,
      strategies,
      edits: edits.map(({ seq }) => seq),
      handles: archive.map(({ handle }) => handle),
      tokensBefore: report.shown(report.start.measured.total),
      tokensAfter: report.shown(sized.measured.total),
      messagesTakenOut: sized.view.gaps.reduce((sum, { first, last }) => sum + last - first + 1, 0),
      ...(report.worth === undefined ? {} : { worth: report.worth }),
      receipt: await receiptOf(world, draft, compaction, report),
    });
    await world.saver.save(log);
  });
}

export async function receiptOf(
  world: CompactionWorld,
  draft: Draft,
  { archive, strategies, sized }: Compaction,
  { start, milliseconds, shown }: CompactionReport,
): Promise<Receipt> {
  const { conversation: before } = await readVisible(world, draft, start);
  const { conversation: after } = await readVisible(world, draft, sized);
  const make = world.makeReceipt ?? (async (work: ReceiptWork) => receiptFrom(work));
  return make({
    before: await loggedMessages(draft),
    visibleBefore: visibleTexts(before),
    visibleAfter: [...visibleTexts(after), ...ownTexts(draft, sized)],
    figures: {
      tokensBefore: shown(start.measured.total),
      tokensAfter: shown(sized.measured.total),
      milliseconds,
      strategies,
      handles: archive.map(({ handle }) => handle),
    },
  });
}

/** How many characters of each text are read for the receipt. This is about as much as a person would look at. */
const longestText = 65_536;

/** Characters that are read of the whole conversation, newest messages first. Older facts are no longer counted beyond that. */
const longestLog = 8_000_000;
/** After this many messages, Plimsoll lets other work run. */
const messagesPerTick = 500;

type NumberedMessage = ReceiptWork["before"][number];

/** The conversation as it came, in order. */
async function loggedMessages({ path, wire }: Draft): Promise<readonly NumberedMessage[]> {
  await path.load();
  const messages: NumberedMessage[] = [];
  let left = longestLog;
  for (let index = path.length - 1; index >= 0 && left > 0; index--) {
    const message = decoded(wire, path.contentAt(index));
    if (index > 0 && index % messagesPerTick === 0) await nextTick();
    if (message === undefined) continue;
    messages.push(readable({ message, number: path.seqAt(index) ?? index }));
    left -= messageText(message).length;
  }
  return messages.toReversed();
}

function readable({ message, number }: NumberedMessage): NumberedMessage {
  const parts = message.parts.map((part) => {
    if (part.kind === "text") return { ...part, text: part.text.slice(0, longestText) };
    if (part.kind !== "tool-result") return part;
    const content = part.content.map((inner) =>
      inner.kind === "text" ? { ...inner, text: inner.text.slice(0, longestText) } : inner,
    );
    return { ...part, content };
  });
  return { message: { ...message, parts }, number };
}

function visibleTexts({ messages }: VisibleConversation): readonly VisibleText[] {
  return messages.map(({ message, number }) => ({
    number,
    text: messageText(message).slice(0, longestText),
    kind: "kept",
  }));
}

/** Plimsoll's own texts in the view, with their positions. Each is a summary, or a text with a handle and no content. */
function ownTexts({ path }: Draft, { view }: Sized): readonly VisibleText[] {
  const at = (index: number): number => path.seqAt(Math.max(0, index)) ?? 0;
  return [
    ...view.gaps.map(
      ({ first, text, edit }): VisibleText => ({
        number: at(first),
        text,
        kind: edit.action.kind === "fold" ? "summary" : "handle",
      }),
    ),
    ...[...view.notes].flatMap(([index, texts]) =>
      texts.map((text): VisibleText => ({ number: at(index) + 0.5, text, kind: "summary" })),
    ),
  ];
}
