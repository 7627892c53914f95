import { expect, test } from "vitest";
import { neededBy, tabOf } from "./tabs.ts";

test("the picture is needed everywhere, errors only where they are shown", () => {
  expect(neededBy("history")).toContain("window");
  expect(neededBy("window")).not.toContain("errors");
  expect(neededBy("archive")).toContain("errors");
});

test("a tab that does not exist is the first one", () => {
  expect([tabOf("travel"), tabOf("nonsense"), tabOf(undefined), tabOf("constructor")]).toEqual([
    "travel",
    "window",
    "window",
    "window",
  ]);
});
