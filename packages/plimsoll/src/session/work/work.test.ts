/** Tasks and tickets on a real database: no change is lost, whoever makes it, and nobody sees what belongs to others. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { effort, seedOr } from "../../../test/harness/effort.ts";
import { type Engine, openEngine } from "../../engine.ts";
import { PlimsollError } from "../../message/error.ts";
import type { PlimsollEvent } from "../../message/event.ts";
import { diceOf } from "../../simulate/dice.ts";
import { mayFollow, taskStatuses } from "../../work/task.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** Engines on one folder, as several programs would open it. */
async function engines(count: number, quick = true): Promise<readonly Engine[]> {
  const data = mkdtempSync(join(tmpdir(), "plimsoll-work-"));
  closing.push(() => rmSync(data, { recursive: true }));
  const pause = { max_attempts: 2, backoff_base_seconds: quick ? 0.05 : 30 };
  const config = { context_config: { retry_policies: { per_tool: { askQuestion: pause } } } };
  return Promise.all(
    Array.from({ length: count }, async () => {
      const engine = await openEngine({ data, config });
      closing.push(engine.close);
      return engine;
    }),
  );
}

async function oneEngine(): Promise<Engine> {
  const [engine] = await engines(1);
  if (engine === undefined) throw new Error("There is no engine.");
  return engine;
}

const who = "alice";
const asker = ({ work }: Pick<Engine, "work">): ReturnType<Engine["work"]["of"]> =>
  work.of({ tenant: who, isOwner: false });

/** The sentence of a refusal, or undefined if nothing was refused. */
async function refusal(work: Promise<unknown>): Promise<string | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    if (!PlimsollError.is(error) || error.status >= 500) throw error;
    return error.message;
  }
}

describe("changes from several programs at once", () => {
  test("none is lost, no status follows that cannot, and the events have the order of the changes", async () => {
    const all = await engines(4);
    const [first] = all;
    if (first === undefined) throw new Error("There is no engine.");
    const { id } = await first.work.tasks.create(who, { title: "Grease the crane" });
    const ticket = await first.work.tickets.create(who, { type: "issue", title: "Rust" });
    const random = diceOf(seedOr(24));
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
    const rounds = effort(25, 250);
    const answers: string[] = [];
    const reported = all.map(async ({ work }, program) => {
      let done = 0;
      for (let round = 0; round < rounds; round++) {
        const text = `${program}-${round}`;
        if (round % 3 === 0 && answers.length < 90) {
          answers.push(text);
          await work.tickets.answer(who, ticket.id, { text, by: "user" });
        }
        const said = await refusal(
          work.tasks.report(who, id, { status: pick(taskStatuses.slice(0, 5)), note: text }),
        );
        if (said === undefined) done++;
      }
      return done;
    });
    const changes = (await Promise.all(reported)).reduce((sum, count) => sum + count, 0);
    const task = await first.work.tasks.get(who, id);
    expect(task.revision).toBe(changes + 1);
    const stored = (await first.work.tickets.get(who, ticket.id)).answers.map(({ text }) => text);
    expect(stored.toSorted()).toEqual(answers.toSorted());
    const events = (await first.store.events({ after: 0, limit: 100_000 })).map(
      ({ event }) => event,
    );
    const statuses = events.flatMap((event) =>
      event.type === "tasks-changed" ? [event.newStatus] : [],
    );
    expect(statuses).toHaveLength(task.revision);
    expect(statuses.at(-1)).toBe(task.status);
    for (const [index, status] of statuses.entries())
      expect(mayFollow((statuses[index - 1] ?? "pending") as "pending", status as "pending")).toBe(
        true,
      );
  });

  test("items that are created at the same time get numbers of their own", async () => {
    const all = await engines(3);
    const made = await Promise.all(
      all.flatMap(({ work }) =>
        Array.from({ length: 10 }, (_, index) =>
          work.tasks.create(who, { title: `Task ${index}` }),
        ),
      ),
    );
    const ids = Array.from({ length: 30 }, (_, index) => `T-${index + 1}`);
    expect(made.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  });
});

describe("a question", () => {
  test("is answered from another program, and its ticket is resolved", async () => {
    const [one, other] = await engines(2, false);
    if (one === undefined || other === undefined) throw new Error("There are no engines.");
    const asked = asker(one).ask({ question: "Which port?" });
    const [ticket] = await untilListed(one);
    await other.work.tickets.answer(who, ticket?.id ?? "", { text: "8080", by: "user" });
    expect(await asked).toMatchObject({
      kind: "answered",
      ticket: { id: "TK-1", status: "resolved", answers: [{ text: "8080", by: "user" }] },
    });
    expect(
      await refusal(other.work.tickets.answer(who, "TK-1", { text: "9090", by: "user" })),
    ).toBe("TK-1 is already resolved. user answered: 8080 Your answer was not stored.");
  });

  test("that nobody answers blocks its task, and the answer lets the task go on", async () => {
    const { work } = await oneEngine();
    const { id } = await work.tasks.create(who, { title: "Open the port", status: "in_progress" });
    expect(await asker({ work }).ask({ question: "Which port?", task: id })).toMatchObject({
      kind: "waiting",
      ticket: { status: "open", task: id },
    });
    expect(await work.tasks.get(who, id)).toMatchObject({
      status: "blocked_awaiting_feedback",
      note: "Waits for the answer to TK-1.",
    });
    await work.tickets.answer(who, "TK-1", { text: "8080", by: "user" });
    expect((await work.tasks.get(who, id)).status).toBe("pending");
    const again = await asker({ work }).ask({ question: "Which port?", ticket: "TK-1" });
    expect(again).toMatchObject({ kind: "answered", ticket: { id: "TK-1" } });
  });

  test("ends when Plimsoll is closed, and its task is blocked", async () => {
    const [one, other] = await engines(2, false);
    if (one === undefined || other === undefined) throw new Error("There are no engines.");
    const { id } = await asker(one).tasks.create({ title: "Open the port" });
    const asked = asker(one).ask({ question: "Which port?", task: id });
    await untilListed(other);
    await one.close();
    expect(await asked).toMatchObject({ kind: "waiting", ticket: { status: "open" } });
    expect((await other.work.tasks.get(who, id)).status).toBe("blocked_awaiting_feedback");
  });

  test("ends at once when its client has left, and the ticket stays", async () => {
    const [engine] = await engines(1, false);
    if (engine === undefined) throw new Error("There is no engine.");
    const left = new AbortController();
    const asked = asker(engine).ask({ question: "Which port?" }, left.signal);
    await untilListed(engine);
    left.abort();
    expect(await asked).toMatchObject({ kind: "waiting", ticket: { status: "open" } });
  });
});

async function untilListed({ work }: Engine): ReturnType<Engine["work"]["tickets"]["list"]> {
  for (;;) {
    const tickets = await work.tickets.list({ tenant: who, limit: 10 });
    if (tickets.length > 0) return tickets;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe("what cannot be", () => {
  test("is refused in a sentence, and changes nothing", async () => {
    const { work } = await oneEngine();
    await work.tasks.create(who, { title: "Grease the crane" });
    const refused = {
      "an unknown task": () => work.tasks.get(who, "T-99"),
      "an id that is none": () => work.tasks.get(who, "../plimsoll.db"),
      "a task of another tenant": () => work.tasks.report("bob", "T-1", { status: "done" }),
      "a parent that is not there": () => work.tasks.create(who, { title: "a", parent: "T-98" }),
      "no title": () => work.tasks.create(who, { title: " " }),
      "ten megabytes": () =>
        work.tasks.create(who, { title: "a", description: "x".repeat(10_000_000) }),
      "a progress of 101": () =>
        work.tasks.report(who, "T-1", { status: "in_progress", progress: 101 }),
      "a status that cannot follow": () => work.tasks.report(who, "T-1", { status: "verified" }),
    };
    for (const [what, attempt] of Object.entries(refused))
      expect(await refusal(attempt()), what).toMatch(/^[A-Z].*\.$/s);
    expect(await work.tasks.list({ tenant: who, limit: 10 })).toMatchObject([
      { id: "T-1", revision: 1 },
    ]);
  });

  test("a ticket that was deleted is neither listed nor found", async () => {
    const { work } = await oneEngine();
    const { id } = await work.tickets.create(who, { type: "issue", title: "Rust" });
    await work.tickets.remove(who, id);
    expect(await work.tickets.list({ tenant: who, limit: 10 })).toEqual([]);
    expect(await refusal(work.tickets.get(who, id))).toContain("There is no ticket");
  });
});

test("items of a session are deleted with it, and the others stay", async () => {
  const engine = await oneEngine();
  const session = await engine.session({});
  await session.append({ role: "user", content: "Hello." });
  const turn = await session.prepare({ target: "anthropic/claude-sonnet-4-6" });
  expect(turn.outcome.kind).toBe("passthrough");
  await session.commit({ role: "assistant", content: [{ type: "text", text: "Hello." }] });
  await engine.work.tasks.create(who, { title: "of the session", session: session.id });
  await engine.work.tasks.create(who, { title: "of nobody" });
  await engine.forgetting.forget([session.id]);
  expect(await engine.work.tasks.list({ tenant: who, limit: 10 })).toMatchObject([
    { title: "of nobody" },
  ]);
  expect(
    await refusal(engine.work.tasks.create(who, { title: "late", session: session.id })),
  ).toBeDefined();
});

describe("a list", () => {
  test("has the items with a status from all pages, each once", async () => {
    const engine = await openEngine({ store: "memory" });
    closing.push(engine.close);
    const { tasks } = asker(engine);
    for (let number = 1; number <= 450; number++)
      await tasks.create({
        title: `Task ${number}`,
        status: number % 200 === 7 ? "failed" : "pending",
      });
    const failed = await tasks.list({ status: "failed", limit: 2 });
    expect(failed.map(({ id }) => id)).toEqual(["T-407", "T-207"]);
    const rest = await tasks.list({ status: "failed", limit: 2, after: "T-207" });
    expect(rest.map(({ id }) => id)).toEqual(["T-7"]);
    expect(await tasks.list({ limit: 1000 })).toHaveLength(450);
    expect(await tasks.list({ limit: 0 })).toEqual([]);
    expect(await refusal(tasks.list({ after: "x" }))).toBe('"x" is not the id of a task.');
  });

  test("has the tickets of one task, if the caller may see the task", async () => {
    const engine = await oneEngine();
    const { tasks, tickets } = asker(engine);
    for (const title of ["Grease the crane", "Paint the crane"]) await tasks.create({ title });
    for (const task of ["T-1", "T-2", "T-1", undefined])
      await tickets.create({ type: "issue", title: "Rust", task });
    await tickets.resolve("TK-3");
    const of = async (wish: Parameters<typeof tickets.list>[0]): Promise<readonly string[]> =>
      (await tickets.list(wish)).map(({ id }) => id);
    expect(await of({ task: "t-1" })).toEqual(["TK-3", "TK-1"]);
    expect(await of({ task: "T-1", status: "open" })).toEqual(["TK-1"]);
    expect(await of({ task: "T-1", after: "TK-3" })).toEqual(["TK-1"]);
    const { tickets: others } = engine.work.of({ tenant: "bob", isOwner: false });
    expect(await refusal(others.list({ task: "T-1" }))).toContain('There is no task "T-1".');
  });

  test("has full pages although some tickets were deleted", async () => {
    const { tickets } = asker(await oneEngine());
    for (let number = 1; number <= 6; number++)
      await tickets.create({ type: "issue", title: `Rust ${number}` });
    for (const id of ["TK-5", "TK-6"]) await tickets.remove(id);
    expect((await tickets.list({ limit: 4 })).map(({ id }) => id)).toEqual([
      "TK-4",
      "TK-3",
      "TK-2",
      "TK-1",
    ]);
    expect((await tickets.create({ type: "issue", title: "Rust" })).id).toBe("TK-7");
  });
});

test("what the owner adds to a task of a tenant belongs to that tenant", async () => {
  const engine = await oneEngine();
  const owner = engine.work.of({ tenant: "owner", isOwner: true });
  const { id } = await asker(engine).tasks.create({ title: "Grease the crane" });
  await owner.tickets.create({ type: "issue", title: "Rust", task: id });
  await owner.tickets.create({ type: "issue", title: "Paint" });
  expect(await asker(engine).tickets.list()).toMatchObject([{ title: "Rust", task: "T-1" }]);
  expect(await owner.tickets.list()).toHaveLength(2);
});

test("an agent is busy while its turn runs", async () => {
  const engine = await oneEngine();
  const heard: PlimsollEvent[] = [];
  engine.on("agent-state-changed", (event) => heard.push(event));
  const session = await engine.session({ agent: "shipwright" });
  await session.append({ role: "user", content: "Hello." });
  await session.prepare({ target: "anthropic/claude-sonnet-4-6" });
  expect(engine.work.agents(undefined).get("shipwright")).toBe("busy");
  await session.commit({ role: "assistant", content: [{ type: "text", text: "Hello." }] });
  expect(heard).toMatchObject([
    { agentName: "shipwright", state: "busy" },
    { agentName: "shipwright", state: "idle" },
  ]);
});
