/** The compactions of a report: the facts that each removed and kept, by class of evidence. */

import type { CompactionEndEvent } from "../../message/event.ts";
import { type EvidenceClass, evidenceClasses, type Receipt } from "../../message/receipt.ts";
import { grouped } from "../../text/digits.ts";
import { type ReceiptRow, receiptRows } from "../../watch/receipt-rows.ts";
import type { Report } from "./data.ts";
import { longList } from "./lists.ts";
import { arrow, html, type Markup, nothing, shortened } from "./markup.ts";
import { counted, percent, timeOf, whyCompacted } from "./words.ts";

/** Maximum number of receipts in the report. The newest are shown; `plimsoll receipts` lists all. */
const mostReceipts = 200;
const mostExamples = 3;
const exampleChars = 160;
const mostHandles = 5;

export function compactionList({ receipts, turns }: Report): Markup {
  if (receipts.length === 0)
    return html`<p class="panel empty">Nothing was compacted. The model saw every message as it came.</p>`;
  const numbers = new Map(turns.map(({ id }, index) => [id, index + 1]));
  const shown = receipts.slice(-mostReceipts).toReversed();
  const left = receipts.length - shown.length;
  return html`<div class="panel">${sumTable(receipts)}</div>
${longList(shown.map((event) => compaction(event, numbers.get(event.turn))))}
${left > 0 ? html`<p class="note">${counted(left, "older compaction")} not shown. <code>plimsoll receipts</code> lists them.</p>` : nothing}`;
}

interface ClassSum {
  readonly facts: number;
  readonly verbatim: number;
  readonly behindHandle: number;
}

function sumTable(receipts: readonly CompactionEndEvent[]): Markup {
  const rows = evidenceClasses.flatMap((name) => {
    const sum = sumOf(receipts, name);
    return sum.facts === 0 ? [] : [classRow(name, sum, nothing)];
  });
  if (rows.length === 0)
    return html`<p class="empty">No facts were found in the removed content.</p>`;
  return html`<table class="cards"><caption class="note">Facts by class, summed over ${counted(receipts.length, "compaction")}</caption>${classHead(false)}<tbody>${rows}</tbody></table>`;
}

function sumOf(receipts: readonly CompactionEndEvent[], name: EvidenceClass): ClassSum {
  const lines = receipts.flatMap(({ receipt }) => receipt.classes[name] ?? []);
  const sum = (of: (line: ClassSum) => number): number =>
    lines.reduce((all, line) => all + of(line), 0);
  return {
    facts: sum(({ facts }) => facts),
    verbatim: sum(({ verbatim }) => verbatim),
    behindHandle: sum(({ behindHandle }) => behindHandle),
  };
}

function classHead(hasExamples: boolean): Markup {
  return html`<thead><tr><th scope="col">Class</th><th scope="col" class="number">Facts</th><th scope="col" class="number">Still said</th><th scope="col" class="number">Behind a handle</th><th scope="col" class="wide">${hasExamples ? "For example" : "Still said, word for word"}</th></tr></thead>`;
}

function classRow(name: EvidenceClass, sum: ClassSum, examples: Markup): Markup {
  const { facts, verbatim, behindHandle } = sum;
  const share = facts === 0 ? 0 : verbatim / facts;
  const last = examples === nothing ? shareBar(share) : examples;
  return html`<tr><th scope="row">${name}</th><td class="number" data-label="Facts">${grouped(facts)}</td><td class="number" data-label="Still said">${grouped(verbatim)}</td><td class="number" data-label="Behind a handle">${grouped(behindHandle)}</td><td class="wide">${last}</td></tr>`;
}

function shareBar(share: number): Markup {
  return html`<span class="share"><svg width="100%" height="8" aria-hidden="true"><rect class="share-room" width="100%" height="8" rx="2"/><rect class="share-fill" width="${percent(share).replace(" ", "").replace("<", "")}" height="8" rx="2"/></svg><span class="note">${percent(share)}</span></span>`;
}

function compaction(event: CompactionEndEvent, turn: number | undefined): Markup {
  const { at, reason, receipt, messagesTakenOut, strategies } = event;
  const { tokensBefore, tokensAfter, milliseconds, coherence, handles } = receipt;
  const where = turn === undefined ? html`by hand` : html`turn ${grouped(turn)}`;
  return html`<details><summary><strong>${where}</strong><span>${grouped(tokensBefore)} ${arrow} ${grouped(tokensAfter)} tokens</span><span class="muted foreign">${strategies.length === 0 ? "nothing was removed" : strategies.join(", ")}</span><span class="muted spread">${timeOf(at)}</span></summary>
<div class="inside"><dl class="facts"><div><dt>Why</dt><dd class="foreign">${whyCompacted(reason)}</dd></div><div><dt>Saved</dt><dd>${percent(savedShare(receipt))}</dd></div><div><dt>Messages removed entirely</dt><dd>${grouped(messagesTakenOut)}</dd></div><div><dt>Coherence</dt><dd>${coherence.toFixed(2)}</dd></div><div><dt>Took</dt><dd>${grouped(milliseconds)} ms</dd></div>${handlesOf(handles)}</dl>
${receiptTable(receipt)}</div></details>`;
}

function savedShare({ tokensBefore, tokensAfter }: Receipt): number {
  return tokensBefore <= 0 ? 0 : Math.max(0, 1 - tokensAfter / tokensBefore);
}

function handlesOf(handles: readonly string[]): Markup {
  if (handles.length === 0) return nothing;
  const more = handles.length - mostHandles;
  const shown = handles.slice(0, mostHandles).map((handle) => html`<code>${handle}</code> `);
  return html`<div><dt>Kept under</dt><dd>${shown}${more > 0 ? `and ${grouped(more)} more` : ""}</dd></div>`;
}

function receiptTable(receipt: Receipt): Markup {
  const rows = receiptRows(receipt, mostExamples).map((row) =>
    classRow(row.name, row, html`${row.examples.map(example)}`),
  );
  if (rows.length === 0)
    return html`<p class="empty">No facts were found in the removed content.</p>`;
  return html`<table class="cards">${classHead(true)}<tbody>${rows}</tbody></table><p class="note"><span class="dot said"></span> is still in the window word for word, <span class="dot"></span> is behind a handle; # is the number of the message.</p>`;
}

function example({ text, number, where: place }: ReceiptRow["examples"][number]): Markup {
  const [where, dot] =
    place === "verbatim" ? ["still said", "dot said"] : ["behind a handle", "dot"];
  return html`<span class="example"><span class="${dot}" role="img" aria-label="${where}" title="${where}"></span> <span class="muted">#${grouped(number)}</span> <code>${shortened(text, exampleChars)}</code></span>`;
}
