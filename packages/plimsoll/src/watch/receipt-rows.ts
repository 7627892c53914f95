/** A receipt as rows for people: the classes that had facts, what left before what stayed. Pure. */

import {
  type EvidenceClass,
  evidenceClasses,
  type Receipt,
  type ReceiptFact,
  type ReceiptLine,
} from "../message/receipt.ts";

export interface ReceiptRow extends Pick<ReceiptLine, "facts" | "verbatim" | "behindHandle"> {
  readonly name: EvidenceClass;
  readonly examples: readonly (ReceiptFact & {
    readonly where: "verbatim" | "behind handle";
  })[];
}

/** Those that the conversation had facts of, as they matter to people: what must hold first, mere numbers last. */
export function receiptRows({ classes }: Receipt, examplesMost: number): readonly ReceiptRow[] {
  return evidenceClasses.flatMap((name) => {
    // Of a service that is older, or newer.
    const line: ReceiptLine | undefined = classes[name];
    if (line === undefined || line.facts === 0) return [];
    const { facts, verbatim, behindHandle } = line;
    const examples = [
      ...line.behindHandleExamples.map((fact) => ({ ...fact, where: "behind handle" as const })),
      ...line.verbatimExamples.map((fact) => ({ ...fact, where: "verbatim" as const })),
    ];
    return [{ name, facts, verbatim, behindHandle, examples: examples.slice(0, examplesMost) }];
  });
}
