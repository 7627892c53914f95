import { describe, expect, test } from "vitest";
import type { Message } from "../../message/message.ts";
import type { Receipt } from "../../message/receipt.ts";
import { readEvidence } from "./evidence.ts";
import { makeReceipt } from "./receipt.ts";

const user = (text: string): Message => ({ role: "user", parts: [{ kind: "text", text }] });
const messages = [
  user("Never touch the tests. Always use src/app/main.py for that."),
  user("The order ZX81Q9 and the order QQ12345 are late. We decided to refund both."),
  user("```\nValueError: bad row 3\n```\nLook at src/app/other.py and at ./src/app/main.py"),
];
const before = readEvidence(messages.map((message, index) => ({ message, number: index + 1 })));

function receiptOf(...after: readonly string[]): Receipt {
  return makeReceipt({
    before,
    after,
    tokensBefore: 900,
    tokensAfter: 100,
    milliseconds: 12,
    strategies: ["excerpt"],
    coherence: 0.9,
    handles: ["pl_0123456789ABCDEFGHIJKL"],
  });
}

describe("a receipt", () => {
  test("counts what survives word for word, and what is only behind the handle", () => {
    const { classes } = receiptOf(
      "## Rules\n- #1 `never touch  the tests.`",
      "edit ./src/app/main.py for ZX81Q9",
    );
    expect(classes.constraint).toMatchObject({ facts: 2, verbatim: 1, behindHandle: 1 });
    expect(classes.path).toMatchObject({ facts: 2, verbatim: 1, behindHandle: 1 });
    expect(classes.id).toMatchObject({ facts: 2, verbatim: 1, behindHandle: 1 });
    expect(classes.error).toMatchObject({ facts: 1, verbatim: 0, behindHandle: 1 });
    expect(classes.path.behindHandleExamples).toEqual([{ text: "src/app/other.py", number: 3 }]);
    expect(classes.constraint.verbatimExamples).toEqual([
      { text: "Never touch the tests.", number: 1 },
    ]);
  });

  test("of a view that is the whole conversation has lost nothing", () => {
    const whole = messages.flatMap(({ parts }) =>
      parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])),
    );
    for (const line of Object.values(receiptOf(...whole).classes)) {
      expect(line.behindHandle).toBe(0);
      expect(line.verbatim).toBe(line.facts);
    }
  });

  test("counts a task as there if all of its sentences are there, whatever is between them", () => {
    const asked =
      "Make the import faster.\n\nNever touch the tests.\n\n- It reads src/app/main.py twice.\n- Find out why.";
    const evidence = readEvidence([{ message: user(asked), number: 1 }]);
    const [task] = evidence.facts.filter((fact) => fact.class === "task");
    expect(task?.isRequest).toBe(true);
    const lineOf = (...after: string[]) =>
      makeReceipt({ ...receiptOf(), before: evidence, after }).classes.task;
    expect(lineOf(asked)).toMatchObject({ verbatim: 1, behindHandle: 0 });
    expect(lineOf("Make the import faster. […]")).toMatchObject({ verbatim: 0, behindHandle: 1 });
  });

  test("counts a long task as there if its first 300 characters are there", () => {
    const asked = `${"Mend the loader now, please. ".repeat(30)}And then the writer.`;
    const evidence = readEvidence([{ message: user(asked), number: 1 }]);
    const { classes } = makeReceipt({ ...receiptOf(), before: evidence, after: [asked] });
    expect(classes.task).toMatchObject({ behindHandle: 0 });
  });

  test("of an empty view has everything behind the handle", () => {
    const lines = Object.values(receiptOf().classes);
    expect(lines.reduce((sum, line) => sum + line.verbatim, 0)).toBe(0);
    expect(lines.reduce((sum, line) => sum + line.behindHandle, 0)).toBe(before.facts.length);
  });

  test("does not take a longer name for the shorter one in it", () => {
    const { classes } = receiptOf("src/app/main.python and XZX81Q9");
    expect(classes.path.verbatim).toBe(0);
    expect(classes.id.verbatim).toBe(0);
  });

  test("shows at most five examples, the weightiest first, and goes through JSON unchanged", () => {
    const many = readEvidence(
      Array.from({ length: 12 }, (_, n) => ({ message: user(`Never use tool${n}.`), number: n })),
    );
    const receipt = makeReceipt({ ...receiptOf(), before: many, after: [] });
    expect(receipt.classes.constraint.behindHandle).toBe(12);
    expect(receipt.classes.constraint.behindHandleExamples.map(({ number }) => number)).toEqual([
      11, 10, 9, 8, 7,
    ]);
    expect(JSON.parse(JSON.stringify(receipt))).toEqual(receipt);
  });
});
