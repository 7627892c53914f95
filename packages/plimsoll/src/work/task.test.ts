/** Tasks: which status may follow which, whatever is reported. */

import fc from "fast-check";
import { expect, test } from "vitest";
import { tries } from "../../test/harness/effort.ts";
import { afterReport, mayFollow, newTask, type Task, taskStatuses } from "./task.ts";

const start: Task = newTask("T-1", { title: "Grease the crane" }, 1);
const reports = fc.array(
  fc.record({
    status: fc.constantFrom(...taskStatuses),
    progress: fc.option(fc.integer({ min: 0, max: 100 }), { nil: undefined }),
  }),
  { maxLength: 30 },
);

test("whatever is reported, each status follows the one before, and a refusal changes nothing", () => {
  fc.assert(
    fc.property(reports, (all) => {
      let task = start;
      for (const report of all) {
        const change = afterReport(task, report, task.updatedAt + 1);
        expect(change.kind === "changed").toBe(mayFollow(task.status, report.status));
        if (change.kind === "refused") continue;
        expect(change.item).toMatchObject({ status: report.status, revision: task.revision + 1 });
        task = change.item;
      }
    }),
    tries({ runs: 200, seed: 24 }),
  );
});

test("every status can be reached, and from every status but verified there is a way on", () => {
  const reached = new Set<string>(["pending"]);
  for (let round = 0; round < taskStatuses.length; round++)
    for (const from of taskStatuses.filter((status) => reached.has(status)))
      for (const to of taskStatuses) if (mayFollow(from, to)) reached.add(to);
  expect([...reached].sort()).toEqual([...taskStatuses].sort());
  const ends = taskStatuses.filter(
    (from) => !taskStatuses.some((to) => to !== from && mayFollow(from, to)),
  );
  expect(ends).toEqual(["verified"]);
});

test("a refusal says what the task is, and what it can become", () => {
  const failed: Task = { ...start, status: "failed" };
  expect(afterReport(failed, { status: "verified" }, 2)).toEqual({
    kind: "refused",
    reason:
      "T-1 is failed and cannot become verified. From failed it can become pending, in_progress.",
  });
  const verified: Task = { ...start, status: "verified" };
  expect(afterReport(verified, { status: "in_progress" }, 2)).toMatchObject({
    reason: expect.stringContaining("create another task"),
  });
});

test("a task that is done is done to 100 percent", () => {
  const half: Task = { ...start, status: "in_progress", progress: 50 };
  expect(afterReport(half, { status: "done" }, 2)).toMatchObject({ item: { progress: 100 } });
});
