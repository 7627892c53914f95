import { describe, expect, test } from "vitest";
import type { Edit } from "../../message/edit.ts";
import { editSteps } from "./edits.ts";

function edit(seq: number, step: string, more: Partial<Edit> = {}): Edit {
  return {
    seq,
    step,
    branch: "br_1",
    anchor: "c",
    at: seq * 1000,
    action: { kind: "replace", chain: "c", part: 0, text: "shorter" },
    place: "undefined",
    strategy: "excerpt",
    reason: "It did not fit.",
    tokensBefore: 100,
    tokensAfter: 10,
    ...more,
  };
}

describe("the edits of a session", () => {
  test("are one row for each strategy of a step, newest first, with what they came to together", () => {
    const steps = editSteps([
      edit(1, "a"),
      edit(2, "a"),
      edit(3, "a", { strategy: "truncate", reason: "Too long." }),
      edit(4, "b"),
    ]);
    expect(steps.map(({ first, last, strategy }) => [first, last, strategy])).toEqual([
      [4, 4, "excerpt"],
      [3, 3, "truncate"],
      [1, 2, "excerpt"],
    ]);
    expect(steps[2]).toMatchObject({ count: 2, tokensBefore: 200, tokensAfter: 20, at: 1000 });
  });

  test("say which of them were undone, and by what", () => {
    const undo = (seq: number, of: number): Edit =>
      edit(seq, "u", { strategy: "undo", action: { kind: "revert", edit: of } });
    const pin = edit(5, "u", {
      strategy: "undo",
      action: { kind: "pin", first: "c", last: "c" },
    });
    const steps = editSteps([edit(1, "a"), edit(2, "a"), undo(3, 1), undo(4, 2), pin]);
    expect(steps.map(({ state, reason }) => [state, reason])).toEqual([
      ["holds", "undoes #1–2"],
      ["undone", "It did not fit."],
    ]);
  });

  test("leave out what the model looked up", () => {
    const lookedUp = edit(1, "a", {
      action: { kind: "expand", first: "c", last: "c", inner: [1] },
    });
    expect(editSteps([lookedUp])).toEqual([]);
  });

  test("are kept as far as somebody would read them", () => {
    const many = Array.from({ length: 5000 }, (_, index) => edit(index + 1, `s${index}`));
    const steps = editSteps(many);
    expect(steps).toHaveLength(100);
    expect(steps[0]?.first).toBe(5000);
  });
});
