/** Receipts count the whole conversation: what earlier compactions took out too, and nothing that Plimsoll wrote. */

import { afterAll, beforeAll, expect, test } from "vitest";
import { openPlimsoll, type Plimsoll, type Session } from "../../src/index.ts";
import type { CompactionEndEvent } from "../../src/message/event.ts";
import { evidenceClasses, type Receipt } from "../../src/message/receipt.ts";

let plimsoll: Plimsoll;
beforeAll(async () => {
  plimsoll = await openPlimsoll({
    store: "memory",
    config: {
      providers: {
        anthropic: {
          models: {
            small: {
              contextWindow: 9_000,
              maxOutputTokens: 500,
              contextWindowBufferTokens: 500,
              tokenizer: "tiktoken:o200k_base",
            },
          },
        },
      },
    },
  });
});
afterAll(() => plimsoll.close());

const task =
  "Make the import in src/shop/importer.py faster.\n\nNever touch the tests.\n\nStart now.";

const said = (content: readonly object[], stop_reason: string) => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  content,
  stop_reason,
});

/** The agent runs a command, whose output names a file, an order and an error of its own. */
async function work(session: Session, step: number): Promise<void> {
  const id = `toolu_${step}`;
  await session.append({ role: "user", content: step === 0 ? task : `Go on with step ${step}.` });
  await session.prepare({ target: "anthropic/small", cacheMarks: false });
  const input = { command: `pytest -x src/shop/part_${step}.py` };
  await session.commit(said([{ type: "tool_use", id, name: "bash", input }], "tool_use"));
  const lines = Array.from({ length: 30 }, (_, at) => `${at} rows of ORD${step}X${at} were read`);
  const error = `ValueError: order ZX${step}81Q is late in part_${step}.py`;
  await session.append({
    role: "user",
    content: [{ type: "tool_result", tool_use_id: id, content: [...lines, error].join("\n") }],
  });
  await session.prepare({ target: "anthropic/small", cacheMarks: false });
  const words = `We decided to skip order ZX${step}81Q. Step ${step} is done.`;
  await session.commit(said([{ type: "text", text: words }], "end_turn"));
}

function totalOf({ classes }: Receipt, of: "facts" | "behindHandle" | "verbatim"): number {
  return evidenceClasses.reduce((sum, name) => sum + classes[name][of], 0);
}

test("each receipt counts what earlier compactions took out, the task that is there, and no mark of Plimsoll", async () => {
  const session = await plimsoll.session();
  const ends: CompactionEndEvent[] = [];
  session.on("compaction-end", (event) => ends.push(event));
  for (let step = 0; ends.length < 3 && step < 60; step++) await work(session, step);
  expect(ends.length).toBeGreaterThanOrEqual(3);
  const receipts = ends.map(({ receipt }) => receipt);
  const facts = receipts.map((receipt) => totalOf(receipt, "facts"));
  const behind = receipts.map((receipt) => totalOf(receipt, "behindHandle"));
  expect(facts).toEqual(facts.toSorted((one, other) => one - other));
  expect(behind).toEqual(behind.toSorted((one, other) => one - other));
  for (const [index, receipt] of receipts.entries()) {
    // Every step has one error, and each of them is a fact of its own.
    expect(receipt.classes.error.facts).toBeGreaterThan(index * 2);
    expect(totalOf(receipt, "verbatim") + totalOf(receipt, "behindHandle")).toBe(
      totalOf(receipt, "facts"),
    );
    const shown = evidenceClasses.flatMap((name) => [
      ...receipt.classes[name].verbatimExamples,
      ...receipt.classes[name].behindHandleExamples,
    ]);
    expect(shown.filter(({ text }) => /Plimsoll|[[(]?…|left out/.test(text))).toEqual([]);
    const lost = receipt.classes.task.behindHandleExamples.map(({ text }) => text);
    expect(lost.filter((text) => text.includes("src/shop/importer.py"))).toEqual([]);
  }
  // The first compaction took out the error of step 0. The last receipt still counts it.
  expect(receipts.at(-1)?.classes.error.facts).toBeGreaterThan(
    receipts[0]?.classes.error.facts ?? 0,
  );
});
