import type { MessageDetails } from "plimsoll/api";
import type { CompactionEndEvent } from "plimsoll/events";
import { expect, test } from "vitest";
import { handlesOf, handoverOf, shortHandle, textOf } from "./edit-texts.ts";

type Edit = MessageDetails["edits"][number];

const edit = (seq: number, action: Edit["action"], more: Partial<Edit> = {}): Edit => ({
  seq,
  branch: "b",
  step: `step-${seq}`,
  anchor: "a",
  at: seq * 10,
  action,
  place: "undefined",
  strategy: "summarize_old",
  reason: "because",
  tokensBefore: 100,
  tokensAfter: 10,
  ...more,
});
const fold = (seq: number, text: string, more: Partial<Edit> = {}): Edit =>
  edit(seq, { kind: "fold", first: "1", last: "2", text, handle: `pl_${seq}` }, more);

test("a fresh start is previewed by its handover, any other compaction by its summaries", () => {
  const edits = [
    fold(1, "old"),
    fold(2, "summary"),
    fold(3, "handover", { strategy: "fresh_start" }),
  ];
  expect(
    handoverOf({ edits: [2, 3], strategies: ["summarize_old", "fresh_start"] }, edits),
  ).toEqual(["handover"]);
  expect(handoverOf({ edits: [2], strategies: ["summarize_old"] }, edits)).toEqual(["summary"]);
});

test("each handle is listed once, newest first, and an edit says more than a receipt", () => {
  const receipt = {
    at: 5,
    edits: [],
    handles: ["pl_1", "pl_9"],
    reason: "limit",
  } as unknown as CompactionEndEvent;
  const found = handlesOf([fold(1, "a"), fold(2, "b")], [receipt]);
  expect(found.map(({ handle, tokens }) => [handle, tokens])).toEqual([
    ["pl_2", 100],
    ["pl_1", 100],
    ["pl_9", undefined],
  ]);
});

test("a handle that a summary and other edits name is what the summary stands for", () => {
  const handle = "pl_same";
  const insert = edit(2, { kind: "insert", after: "a", text: "Shortened", handle });
  const replace = (seq: number): Edit =>
    edit(seq, { kind: "replace", chain: "c", part: 0, text: "…", handle });
  const [only, ...others] = handlesOf([replace(1), insert, replace(3)], []);
  expect([only?.edit, only?.what, others]).toEqual([2, "Everything that a compaction removed", []]);
});

test("all that a compaction took out is told with why, when, and how much", () => {
  const handle = "pl_0123456789abcdef";
  const insert = edit(2, { kind: "insert", after: "a", text: "Shortened", handle });
  const size = { tokensBefore: 9000, tokensAfter: 4000, messagesTakenOut: 14 };
  const end = { at: 25, edits: [2, 3], handles: [handle], reason: "forced", ...size };
  expect(handlesOf([insert], [end as unknown as CompactionEndEvent])).toEqual([
    {
      handle,
      at: 25,
      what: "Everything that a compaction removed: the request had to be smaller",
      edit: 2,
      size,
    },
  ]);
  expect([handle, "pl_short"].map(shortHandle)).toEqual(["pl_01234567…", "pl_short"]);
});

test("an empty text in place of what left is no text", () => {
  expect(textOf(fold(1, ""))).toBeUndefined();
  expect(textOf(edit(1, { kind: "pin", first: "1", last: "2" }))).toBeUndefined();
});
