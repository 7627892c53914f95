/**
 * Turns a receipt into rows for people. There is one row for each class that has facts. In a row, removed facts come before kept
 * facts. Pure.
 */

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

/** The classes that have facts, ordered by importance: constraints first, mere numbers last. */
export function receiptRows({ classes }: Receipt, examplesMost: number): readonly ReceiptRow[] {
  return evidenceClasses.flatMap((name) => {
    // May be undefined, because a service of another version may have other classes.
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
