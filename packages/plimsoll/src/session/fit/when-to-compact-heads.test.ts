/**
 * Compactions that save money, with a large head. System prompt and tools always stay, so
 * they do not count towards fullness or towards the rest after a compaction.
 */

import { expect, test, vi } from "vitest";
import {
  called,
  limitedTo,
  requestOf,
  result,
  said,
  tokensOfText,
  tool,
  withSystem,
} from "../../../test/generate/bodies.ts";
import { receive } from "../../../test/generate/rehearsal.ts";
import type { JsonObject } from "../../../test/harness/json.ts";
import type { Config } from "../../config/schema.ts";
import { openEngine } from "../../engine.ts";
import type { CompactionEndEvent } from "../../message/event.ts";

const wire = "anthropic";
const second = 1000;
const minute = 60 * second;

interface Scene {
  readonly window: number;
  /** Size of system prompt and tools together, in Plimsoll's tokens. */
  readonly head: number;
  /** Share of the room next to the head that the request after the pause fills. */
  readonly filled: number;
  readonly maxTokens?: number;
  /** The number of provider tokens per token that Plimsoll estimates. */
  readonly factor?: number;
  readonly cost?: Config["cost"];
  readonly pause?: number;
}

interface Seen {
  readonly outcome: string;
  /** Whether a compaction was tried. */
  readonly isTried: boolean;
  readonly reasons: readonly string[];
  /** Share of the room next to the head that the sent conversation takes. */
  readonly left: number;
}

/** A text of this many tokens, in different lines. */
function lines(name: string, tokens: number): string {
  const count = Math.ceil((tokens * 4) / 30);
  const line = (at: number): string => `row ${name}.${at}: value = compute(${at * 7919})`;
  const all = Array.from({ length: count }, (_, at) => line(at)).join("\n");
  return all.slice(0, Math.round(tokens * 4));
}

const turns = 24;

/** Adds calls and results until the room is as full as wanted, the last one after a pause. */
async function afterPause(scene: Scene): Promise<Seen> {
  const { window, head, factor = 1, maxTokens = 32_000, cost = {}, pause = 10 * minute } = scene;
  let now = 1_800_000_000_000;
  const plimsoll = await openEngine({
    store: "memory",
    config: {
      cost,
      agent: { warning_note: false },
      providers: { [wire]: { contextWindow: window, tokenizer: "approximate" } },
    },
    parts: { now: () => now },
  });
  const reasons: string[] = [];
  let tries = 0;
  plimsoll.on("compaction-end", ({ reason }: CompactionEndEvent) => reasons.push(reason));
  plimsoll.on("context-breaking-update", () => tries++);
  const fields = {
    ...withSystem(wire, tokensOfText(head / 2), []).head,
    tools: [tool(wire, tokensOfText(head / 2))],
    ...limitedTo(wire, maxTokens),
  };
  const messages: JsonObject[] = [said("Look at everything.")];
  for (let at = 0; ; at++) {
    const turn = await receive(plimsoll, wire, requestOf(wire, messages, fields).body);
    const { tokensAfter, limit, projection, measured, outcome } = turn.fitted;
    const room = limit - projection.head;
    const left = (tokensAfter - projection.head) / room;
    const inputTokens = Math.ceil(measured.total * factor);
    await turn.end({
      status: "complete",
      answer: {
        outcome: "message",
        choices: [[called(wire, `c${at}`)]],
        usage: { inputTokens, outputTokens: 30, cacheReadTokens: 0, cacheWriteTokens: inputTokens },
      },
    });
    if (at === turns) {
      if (outcome === "compacted")
        await vi.waitFor(() => expect(reasons).toHaveLength(1), { timeout: 10_000 });
      await plimsoll.close();
      return { outcome, isTried: tries > 0, reasons, left };
    }
    const missing = ((scene.filled - left) * room) / (turns - at) / factor;
    // The wrapping takes a few tokens.
    messages.push(called(wire, `c${at}`), result(wire, `c${at}`, lines(`${at}`, missing - 45)));
    now += at === turns - 1 ? pause : 20 * second;
  }
}

const small = { window: 65_536, head: 400 };
const medium = { window: 65_536, head: 16_000 };
const large = { window: 65_536, head: 36_000 };
const larger = { window: 65_536, head: 45_000 };

test.each([
  ["a head of half of the window", { ...large, filled: 0.57 }],
  ["a head of two thirds of it", { ...larger, filled: 0.78 }],
  ["a head of a quarter of it, for which the limit does not give way", { ...medium, filled: 0.78 }],
  ["no head to speak of", { ...small, filled: 0.78 }],
  [
    "a head that fills most of a limit that leaves it room",
    { window: 200_000, head: 140_000, maxTokens: 8000, filled: 0.4 },
  ],
])("an expired cache is no reason while there is room beside %s", async (_name, scene) => {
  const seen = await afterPause(scene);
  expect(seen).toMatchObject({ outcome: "passthrough", isTried: false });
});

test("the share from which on it is one is that of the room beside the head", async () => {
  const seen = await afterPause({ ...large, filled: 0.57, cost: { compact_from: 0.5 } });
  expect(seen.reasons).toEqual(["cold"]);
  // Half of the size before.
  expect(seen.left).toBeGreaterThan(0.25);
  expect(seen.left).toBeLessThan(0.3);
});

test.each([
  ["a quarter of the window", { ...medium, filled: 0.85 }],
  ["half of the window", { ...large, filled: 0.83 }],
  ["two thirds of it", { ...larger, filled: 0.83 }],
  ["two thirds of it, in fewer tokens than we count", { ...larger, factor: 0.8, filled: 0.83 }],
  ["two thirds of it, in more tokens than we count", { ...large, factor: 1.3, filled: 0.83 }],
])("an expired cache leaves two fifths of the room beside a head of %s", async (_name, scene) => {
  const seen = await afterPause(scene);
  expect(seen).toMatchObject({ outcome: "compacted", reasons: ["cold"] });
  expect(seen.left).toBeGreaterThan(0.38);
  expect(seen.left).toBeLessThan(0.41);
});

test("beside a small head it leaves half of the conversation at most", async () => {
  const seen = await afterPause({ ...small, filled: 0.83 });
  expect(seen.reasons).toEqual(["cold"]);
  expect(seen.left).toBeGreaterThan(0.33);
  expect(seen.left).toBeLessThan(0.83 / 2);
});

test.each([
  ["is made when it pays", 500, ["compact"]],
  ["waits when it would not pay before it must be", 1, []],
])("what is due beside a large head %s", async (_name, expected_turns, reasons) => {
  const cost = { expected_turns };
  const seen = await afterPause({ ...larger, filled: 0.965, pause: 20 * second, cost });
  expect(seen.reasons).toEqual(reasons);
});
