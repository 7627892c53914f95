/** Makes a receipt from the evidence of a conversation and its current view. */

import {
  type EvidenceClass,
  evidenceClasses,
  type Receipt,
  type ReceiptFact,
  type ReceiptLine,
} from "../../message/receipt.ts";
import { mentionsIn } from "../../search/mentions.ts";
import type { Evidence, Fact } from "./evidence.ts";
import { plain } from "./safe-text.ts";

export interface ReceiptTask extends Omit<Receipt, "classes"> {
  /** The evidence of the whole conversation, also of what earlier compactions took out. */
  readonly before: Evidence;
  /** All texts of the current view: messages, calls and summaries. */
  readonly after: readonly string[];
}

const maxExamples = 5;

export function makeReceipt({ before, after, ...rest }: ReceiptTask): Receipt {
  const text = after.map(plain).join("\n");
  const atoms = new Set(after.flatMap((one) => [...mentionsIn(one).keys()]));
  // Names are looked up in a set, because there are many. Other facts are also searched for in the text.
  const isVerbatim = (fact: Fact): boolean =>
    atoms.has(fact.text) ||
    (!isName(fact) && (fact.sentences ?? [fact.text]).every((said) => text.includes(plain(said))));
  const lines = evidenceClasses.map((of): readonly [EvidenceClass, ReceiptLine] => [
    of,
    lineOf(
      before.facts.filter((fact) => fact.class === of),
      isVerbatim,
    ),
  ]);
  return {
    ...rest,
    classes: Object.fromEntries(lines) as Record<EvidenceClass, ReceiptLine>,
  };
}

function isName(fact: Fact): boolean {
  return fact.class === "path" || fact.class === "id";
}

function lineOf(facts: readonly Fact[], isVerbatim: (fact: Fact) => boolean): ReceiptLine {
  const verbatim = facts.filter(isVerbatim);
  const verbatimFacts = new Set(verbatim);
  const behind = facts.filter((fact) => !verbatimFacts.has(fact));
  return {
    facts: facts.length,
    verbatim: verbatim.length,
    behindHandle: behind.length,
    verbatimExamples: examplesOf(verbatim),
    behindHandleExamples: examplesOf(behind),
  };
}

function examplesOf(facts: readonly Fact[]): readonly ReceiptFact[] {
  return facts
    .toSorted((one, other) => other.weight - one.weight)
    .slice(0, maxExamples)
    .map(({ text, number }) => ({ text, number }));
}
