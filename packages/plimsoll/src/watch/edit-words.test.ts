import fc from "fast-check";
import { expect, test } from "vitest";
import type { Edit } from "../message/edit.ts";
import { revertedIn } from "../session/log/view.ts";
import { undoneIn, whatItDid } from "./edit-words.ts";

const edit = (seq: number, action: Edit["action"]): Edit => ({
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
});
const fold = (seq: number): Edit =>
  edit(seq, { kind: "fold", first: "1", last: "2", text: "short", handle: `pl_${seq}` });

test("an edit that moved something out says that it is behind a handle", () => {
  const replace = { kind: "replace", chain: "c", part: 0, text: "short" } as const;
  expect(whatItDid(edit(1, replace))).toEqual({
    brief: "part shortened",
    full: "A part was replaced by a shorter text",
  });
  expect(whatItDid(edit(1, { ...replace, handle: "pl_1" }))).toEqual({
    brief: "part moved out",
    full: "A part was moved out and is kept under a handle",
  });
});

test("what was reverted, or lies behind a restore, no longer holds; a revert behind a restore does not hold either", () => {
  const edits = [
    fold(1),
    fold(2),
    edit(3, { kind: "revert", edit: 1 }),
    fold(4),
    edit(5, { kind: "restore", to: 2 }),
    fold(6),
    edit(7, { kind: "revert", edit: 6 }),
  ];
  expect([...undoneIn(edits)].toSorted()).toEqual([3, 4, 6]);
  expect([...undoneIn(edits.slice(0, 4))]).toEqual([1]);
});

test("those who watch say of every history what the service decides, in whatever order they read it", () => {
  const kinds = fc.constantFrom("fold", "expand", "revert", "restore");
  const histories = fc.array(fc.tuple(kinds, fc.nat()), { maxLength: 12 });
  fc.assert(
    fc.property(histories, (history) => {
      const edits = history.map(([kind, back], index) => {
        const [seq, earlier] = [index + 1, back % (index + 1)];
        if (kind === "revert") return edit(seq, { kind, edit: earlier });
        if (kind === "restore") return edit(seq, { kind, to: earlier });
        return kind === "fold" ? fold(seq) : edit(seq, { kind, first: "1", last: "2", inner: [1] });
      });
      expect(undoneIn(edits.toReversed())).toEqual(revertedIn(edits));
    }),
  );
});
