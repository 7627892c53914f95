import fc from "fast-check";
import { expect, test } from "vitest";
import { tries } from "../../../test/harness/effort.ts";
import type { Edit, EditAction } from "../../message/edit.ts";
import { activeEdits, foldView, type IndexOf, isInside, madeSince, wholeView } from "./view.ts";

const path = ["a", "b", "c", "d", "e", "f"];
let lastSeq = 0;
const edit = (action: EditAction, anchor = "f"): Edit => ({
  seq: ++lastSeq,
  branch: "main",
  step: "step",
  anchor,
  at: 0,
  action,
  place: "undefined",
  strategy: "test",
  reason: "test",
  tokensBefore: 0,
  tokensAfter: 0,
});
const fold = (first: string, last: string, text = "folded"): EditAction => ({
  kind: "fold",
  first,
  last,
  text,
});
const replace = (chain: string, text: string): EditAction => ({
  kind: "replace",
  chain,
  part: 0,
  text,
});

const on =
  (along: readonly string[]): IndexOf =>
  (chain) =>
    along.includes(chain) ? along.indexOf(chain) : undefined;

/** The view as text: a message as its letter, a gap as [b..d text], a note as +text. */
function words(edits: readonly Edit[], along: readonly string[] = path): string {
  const view = foldView(on(along), edits);
  return along
    .flatMap((letter, index) => {
      const gap = view.gaps.find(({ first, last }) => first <= index && index <= last);
      if (gap !== undefined && gap.first !== index) return [];
      if (gap !== undefined) return [`[${letter}..${along[gap.last]} ${gap.text}]`];
      const replaced = (view.replacements.get(index) ?? []).map(({ text }) => `=${text}`).join("");
      const notes = (view.notes.get(index) ?? []).map((text) => `+${text}`);
      return [`${letter}${replaced}`, ...notes];
    })
    .join(" ");
}

test("without edits the view is the log", () => {
  expect(words([])).toBe("a b c d e f");
});

test("parts are replaced, ranges folded, notes inserted, each where it belongs", () => {
  expect(
    words([
      edit(replace("b", "short")),
      edit(fold("c", "d")),
      edit({ kind: "insert", after: "f", text: "note" }),
    ]),
  ).toBe("a b=short [c..d folded] e f +note");
});

test("of two edits on one part the later holds", () => {
  expect(words([edit(replace("b", "first")), edit(replace("b", "second"))])).toBe(
    "a b=second c d e f",
  );
});

test("a range swallows what lies inside it, and what it overlaps", () => {
  const edits = [
    edit(replace("c", "gone")),
    edit(fold("b", "c", "one")),
    edit(fold("c", "e", "two")),
  ];
  expect(words(edits)).toBe("a [b..e two] f");
});

test("what is reverted is as if it had never been, and a revert can be reverted", () => {
  const folded = edit(fold("b", "e"));
  const undo = edit({ kind: "revert", edit: folded.seq });
  const redo = edit({ kind: "revert", edit: undo.seq });
  expect(words([folded, undo])).toBe("a b c d e f");
  expect(words([folded, undo, redo])).toBe("a [b..e folded] f");
});

test("a restore takes back everything since, reverts and restores too, and can be taken back itself", () => {
  const first = edit(fold("b", "c", "one"));
  const undo = edit({ kind: "revert", edit: first.seq });
  const second = edit(fold("d", "e", "two"));
  const back = edit({ kind: "restore", to: first.seq });
  const third = edit(fold("f", "f", "three"));
  expect(words([first, undo, second, back, third])).toBe("a [b..c one] d e [f..f three]");
  const start = edit({ kind: "restore", to: 0 });
  expect(words([first, undo, second, back, third, start])).toBe("a b c d e f");
  const redo = edit({ kind: "revert", edit: start.seq });
  expect(words([first, undo, second, back, third, start, redo])).toBe(
    "a [b..c one] d e [f..f three]",
  );
});

test("an edit holds on every branch through its anchor, and on no other", () => {
  const early = edit(fold("b", "c"), "d");
  expect(words([early], ["a", "b", "c", "d", "x"])).toBe("a [b..c folded] d x");
  expect(words([early], ["a", "b", "c", "x"])).toBe("a b c x");
});

test("an edit of messages that are not on the path changes nothing", () => {
  expect(words([edit(fold("b", "z")), edit(fold("e", "b")), edit(replace("z", "?"))])).toBe(
    "a b c d e f",
  );
});

const someChain = fc.constantFrom(...path);
const someAction: fc.Arbitrary<EditAction> = fc.oneof(
  fc.record({
    kind: fc.constant("replace" as const),
    chain: someChain,
    part: fc.nat(2),
    text: fc.string(),
  }),
  fc.record({
    kind: fc.constantFrom("remove" as const, "fold" as const),
    first: someChain,
    last: someChain,
    text: fc.string(),
  }),
  fc.record({ kind: fc.constant("insert" as const), after: someChain, text: fc.string() }),
);

test("a pin and a checkpoint change nothing that is seen", () => {
  const edits = [
    edit({ kind: "pin", first: "b", last: "c" }),
    edit({ kind: "checkpoint", label: "here" }),
  ];
  expect(words(edits)).toBe("a b c d e f");
  expect(foldView(on(path), edits).pins).toEqual([{ first: 1, last: 2, isByHand: false }]);
});

test("gaps lie apart and in order, and nothing is said inside them, whatever the edits", () => {
  fc.assert(
    fc.property(fc.array(someAction, { maxLength: 8 }), (actions) => {
      const { gaps, replacements, notes } = foldView(
        on(path),
        actions.map((action) => edit(action)),
      );
      for (const [index, gap] of gaps.entries()) {
        expect(gap.first).toBeLessThanOrEqual(gap.last);
        expect(gap.first).toBeGreaterThan(gaps[index - 1]?.last ?? -1);
      }
      for (const index of [...replacements.keys(), ...notes.keys()])
        expect(isInside(gaps, index)).toBe(false);
    }),
  );
});

test("undoing every edit gives back the log, and redoing gives back the view", () => {
  fc.assert(
    fc.property(fc.array(someAction, { maxLength: 6 }), (actions) => {
      const edits = actions.map((action) => edit(action));
      const undone = edits.map(({ seq }) => edit({ kind: "revert", edit: seq }));
      const redone = undone.map(({ seq }) => edit({ kind: "revert", edit: seq }));
      expect(foldView(on(path), [...edits, ...undone])).toBe(wholeView);
      expect(foldView(on(path), [...edits, ...undone, ...redone])).toEqual(
        foldView(on(path), edits),
      );
      expect(activeEdits(on(path), [...edits, ...undone])).toEqual([]);
    }),
  );
});

test("without what was made since, the view is the one that a restore gives", () => {
  const kinds = fc.constantFrom("fold", "revert", "restore", "expand");
  const steps = fc.array(fc.tuple(kinds, fc.nat(11)), { maxLength: 12 });
  fc.assert(
    fc.property(steps, fc.nat(12), (drawn, back) => {
      const edits: Edit[] = [];
      const numberOf = (place: number): number =>
        edits[place % Math.max(1, edits.length)]?.seq ?? 0;
      for (const [kind, place] of drawn) {
        const earlier = numberOf(place);
        const action: Readonly<Record<string, EditAction>> = {
          fold: fold("b", "c"),
          revert: { kind: "revert", edit: earlier },
          restore: { kind: "restore", to: earlier },
          expand: { kind: "expand", first: "d", last: "d", inner: [] },
        };
        edits.push(edit(action[kind] ?? fold("e", "e")));
      }
      const to = numberOf(back);
      const reverts = madeSince(edits, to).map((seq) => edit({ kind: "revert", edit: seq }));
      const restored = [...edits, edit({ kind: "restore", to })];
      expect(activeEdits(on(path), [...edits, ...reverts])).toEqual(
        activeEdits(on(path), restored),
      );
    }),
    tries({ runs: 1000, seed: 20261116 }),
  );
});
