import { expect, test } from "vitest";
import type { Receipt } from "../message/receipt.ts";
import { receiptRows } from "./receipt-rows.ts";

test("a receipt shows the classes that had facts, what left before what stayed, and no more examples than asked for", () => {
  const nothing = {
    facts: 0,
    verbatim: 0,
    behindHandle: 0,
    verbatimExamples: [],
    behindHandleExamples: [],
  };
  const receipt = {
    classes: {
      constraint: nothing,
      error: nothing,
      decision: nothing,
      task: nothing,
      command: nothing,
      id: nothing,
      number: { ...nothing, facts: 1, verbatim: 1 },
      path: {
        facts: 2,
        verbatim: 1,
        behindHandle: 1,
        verbatimExamples: [{ text: "a.ts", number: 1 }],
        behindHandleExamples: [{ text: "b.ts", number: 2 }],
      },
    },
  } as unknown as Receipt;
  const rows = receiptRows(receipt, 6);
  expect(rows.map(({ name }) => name)).toEqual(["path", "number"]);
  expect(rows[0]?.examples.map(({ text, where }) => [text, where])).toEqual([
    ["b.ts", "behind handle"],
    ["a.ts", "verbatim"],
  ]);
  expect(receiptRows(receipt, 1)[0]?.examples).toHaveLength(1);
});
