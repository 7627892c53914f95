import { expect, test } from "vitest";
import type { Act } from "./acts.ts";
import { changeLines, groupedChanges } from "./changes.ts";

const act = (number: number, verb: string, object: string): Act => ({
  message: number - 1,
  number,
  call: { kind: "tool-call", id: `call_${number}`, name: "tool", input: "{}" },
  deed: { verb, object, isEffect: true, key: `${verb} ${object}` },
  outcome: "ok",
  isRefused: false,
  error: undefined,
});
const hidden = (): boolean => false;
const texts = (items: readonly { readonly text: string }[]): readonly string[] =>
  items.map(({ text }) => text);

test("every change is named with its messages, commands before files", () => {
  const acts = [
    act(3, "edited", "src/fees.ts"),
    act(7, "ran", "`git commit -m fees`"),
    act(9, "edited", "src/fees.ts"),
    act(11, "edited", "test/fees.test.ts"),
  ];
  expect(texts(changeLines(acts, hidden))).toEqual([
    "ran `git commit -m fees` (#7)",
    "edited src/fees.ts (#3, #9), test/fees.test.ts (#11)",
  ]);
});

test("a change that the view still shows, one that failed, and a look at something are not named", () => {
  const failed: Act = { ...act(5, "edited", "src/b.ts"), outcome: "failed" };
  const look = act(6, "read", "src/c.ts");
  const acts = [
    act(3, "edited", "src/a.ts"),
    failed,
    { ...look, deed: { ...look.deed, isEffect: false } },
  ];
  expect(changeLines(acts, (message) => message === 2)).toEqual([]);
});

test("changes that there is no room to name are counted, with the folder that they have in common", () => {
  const files = Array.from({ length: 14 }, (_, at) =>
    act(12 + at * 2, "edited", `src/part${at % 2}/file${at}.ts`),
  );
  const others = [act(50, "ran", "`git push`"), act(52, "ran", "`git commit`")];
  expect(texts(groupedChanges(changeLines([...files, ...others], hidden)))).toEqual([
    "ran 2 commands (#50–#52)",
    "edited 14 files under src/ (#12–#38)",
  ]);
});

test("tools keep their names, because a booking that nobody remembers is made again", () => {
  const acts = [
    act(4, "called", "book_reservation (HAT169, 2024-05-17)"),
    act(8, "called", "book_reservation (HAT023)"),
    act(9, "called", "cancel_reservation (M05KNL)"),
  ];
  expect(texts(groupedChanges(changeLines(acts, hidden)))).toEqual([
    "called book_reservation, cancel_reservation (#4–#9)",
  ]);
});

test("many kinds of changes become one line", () => {
  const acts = ["edited", "wrote", "moved", "removed"].map((verb, at) => act(at + 2, verb, "a.ts"));
  expect(texts(groupedChanges(changeLines(acts, hidden)))).toEqual(["made 4 changes (#2–#5)"]);
});

test("an edit that git has thrown away since is not named, and the command that did it is", () => {
  const acts = [
    act(3, "edited", "src/fees.ts"),
    act(5, "edited", "src/tides.ts"),
    act(7, "ran", "`git checkout -- src/fees.ts`"),
    act(9, "edited", "src/fees.ts"),
  ];
  expect(texts(changeLines(acts, hidden))).toEqual([
    "ran `git checkout -- src/fees.ts` (#7)",
    "edited src/tides.ts (#5), src/fees.ts (#9)",
  ]);
  const all = [...acts, act(11, "ran", "`git reset --hard`")];
  expect(texts(changeLines(all, hidden))).toEqual([
    "ran `git checkout -- src/fees.ts` (#7), `git reset --hard` (#11)",
  ]);
  const branch = [act(3, "edited", "src/fees.ts"), act(5, "ran", "`git checkout -b fees`")];
  expect(texts(changeLines(branch, hidden))[1]).toBe("edited src/fees.ts (#3)");
});
