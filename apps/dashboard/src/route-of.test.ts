import { expect, test } from "vitest";
import { routeOf } from "./route-of.ts";

test("each page has its address", () => {
  expect(["", "#", "#/"].map((hash) => routeOf(hash).page)).toEqual(Array(3).fill("overview"));
  expect(routeOf("#/errors")).toEqual({ page: "errors" });
  expect(routeOf("#/tasks")).toEqual({ page: "tasks" });
  expect(routeOf("#/tasks/completed")).toEqual({ page: "tasks", tab: "completed" });
  expect(routeOf("#/tickets/TK-3")).toEqual({ page: "tickets", id: "TK-3" });
  expect(routeOf("#/settings")).toEqual({ page: "settings" });
  expect(routeOf("#/session/s_1")).toEqual({ page: "session", id: "s_1" });
  expect(routeOf("#/session/s_1/history")).toEqual({
    page: "session",
    id: "s_1",
    tab: "history",
  });
});

test("an address that is none leads nowhere, and breaks nothing", () => {
  for (const hash of ["#/nothing", "#/session", "#/session/", "#main", "#/errors2"])
    expect(routeOf(hash)).toEqual({ page: "unknown" });
  expect(routeOf("#/session/%E0%A4%A")).toEqual({ page: "session", id: "%E0%A4%A" });
  expect(routeOf("#/session/a%2Fb/c")).toEqual({ page: "session", id: "a/b", tab: "c" });
});
