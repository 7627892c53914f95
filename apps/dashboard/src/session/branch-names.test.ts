import { expect, test } from "vitest";
import { branchNames } from "./branch-names.ts";

test("branches stand in the order in which they were last used, the newest first", () => {
  const branch = (id: string, tip: number | null, messages: number) => ({
    id,
    relation: "fork",
    tip,
    messages,
  });
  const names = branchNames([
    branch("br_empty", null, 0),
    branch("br_old", 7, 1),
    branch("br_0123456789", 12, 1200),
  ]);
  expect(names.map(({ name }) => name)).toEqual([
    "fork, 1,200 messages (br_012345)",
    "fork, 1 message (br_old)",
    "fork, 0 messages (br_empty)",
  ]);
});
