/** Tasks and tickets in real browsers: changes are seen live and without polling, and answers reach the agents that wait. */
import type { Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { reply, text } from "./harness/answer.ts";
import { startBrowser, type TestBrowser, textOf, type WatchedPage } from "./harness/browser.ts";
import { type Stage, startStage } from "./harness/dashboard-stage.ts";
import type { JsonObject } from "./harness/json.ts";
import { connectMcp } from "./harness/mcp-clients.ts";
import { type Asked, ask, bodyOf } from "./harness/raw-client.ts";
import type { UpstreamOptions } from "./harness/upstream.ts";
import { eventually, pause } from "./harness/waiting.ts";
import { xssCorpus } from "./xss-corpus.ts";

let browser: TestBrowser;
let stage: Stage;

/** Resolved when the turn that waits may end. */
const released = Promise.withResolvers<void>();

/** What the user says last decides how the provider answers. */
const script: UpstreamOptions["script"] = async ({ body }) => {
  const said = JSON.stringify(body["messages"]);
  if (said.includes("Fail now."))
    return { kind: "failure", status: 400, body: { error: { message: "No." } } };
  if (said.includes("Cut this answer."))
    return {
      ...reply(text("These five steps:\n1. One\n2. Two\n3. Three")),
      stopReason: "max_tokens",
    };
  if (said.includes("Wait for me.")) await released.promise;
  return reply(text("Noted."));
};

beforeAll(async () => {
  [browser, stage] = await Promise.all([startBrowser(), startStage({ upstream: { script } })]);
});
afterEach(async () => {
  expect(await browser.leave()).toEqual([]);
});
afterAll(async () => {
  await browser.close();
  await stage.close();
});

const open = async (path: string, width = 1280): Promise<WatchedPage> => {
  const opened = await browser.open({ ...stage, path, width });
  await opened.page.getByText("Live", { exact: true }).waitFor();
  await opened.page.getByRole("heading", { level: 1 }).waitFor();
  return opened;
};
/** POSTs, and returns what was created or changed. */
const post = async (path: string, body: JsonObject): Promise<{ readonly id: string }> => {
  const answer = await stage.post(path, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return { id: String(answer.body["id"]) };
};
const task = (title: string, more: JsonObject = {}): Promise<{ readonly id: string }> =>
  post("/api/tasks", { title, ...more });
const row = (page: Page, id: string): Locator =>
  page.locator(`[data-task="${id}"], [data-ticket="${id}"]`);
/** What the page asks about tasks and tickets. */
const asked = ({ requests }: WatchedPage): readonly string[] =>
  requests.filter(({ path }) => /^\/api\/t/.test(path)).map(({ path }) => path);

/** Waits until the page has asked for nothing for a while. */
async function isQuiet(...pages: readonly WatchedPage[]): Promise<void> {
  await eventually(10_000, "the end of all reading", async () => {
    const counts = pages.map(({ requests }) => requests.length);
    await pause(550);
    return pages.every(({ requests }, index) => requests.length === counts[index])
      ? true
      : undefined;
  });
}

describe("tasks", () => {
  test("two browsers see each other's changes, and read only what changed", async () => {
    const [one, other] = await Promise.all([open("#/tasks"), open("#/tasks")]);
    await one.page.getByRole("button", { name: "New task" }).click();
    const dialog = one.page.getByRole("dialog", { name: "New task" });
    await dialog.getByLabel("Title").fill("Grease the crane");
    await dialog.getByLabel("Description").fill("All four axles.");
    await dialog.getByLabel("Priority").selectOption("1");
    await dialog.getByLabel("Agent").fill("mechanic");
    await dialog.getByRole("button", { name: "Create task" }).click();
    const link = one.page.locator(".notice.success").getByRole("link");
    const id = await textOf(link);
    for (const { page } of [one, other]) {
      await row(page, id).getByText("Grease the crane").waitFor();
      await row(page, id).getByText("Agent mechanic").waitFor();
      await row(page, id).getByText("P1", { exact: true }).waitFor();
    }
    await link.click();
    await one.page.getByLabel("Description").getByText("All four axles.").waitFor();
    const form = one.page.getByRole("region", { name: "Report" });
    expect(await form.getByLabel("Status").locator("option").allInnerTexts()).toEqual([
      "Pending (as now)",
      "In progress",
      "Partial",
      "Blocked",
      "Done",
      "Failed",
    ]);
    await form.getByLabel("Status").selectOption({ label: "In progress" });
    await form.getByRole("spinbutton").fill("40");
    await form.getByLabel("Note").fill("Two axles are done.");
    await form.getByRole("button", { name: "Report" }).click();
    await one.page.getByText(`${id} is reported as in_progress.`).waitFor();
    await row(other.page, id).getByText("In progress", { exact: true }).waitFor();
    await row(other.page, id).getByText("Two axles are done.").waitFor();
    await row(other.page, id).getByText("40%").waitFor();
    await isQuiet(one, other);
    const lists = asked(other).filter((path) => path.includes("?"));
    const single = asked(other).filter((path) => !path.includes("?"));
    expect(single).toEqual([`/api/tasks/${id}`, `/api/tasks/${id}`]);
    // One for each status and one for the navigation, at the beginning.
    expect(lists).toHaveLength(6);
  });

  test("many changes at once become one refresh", async () => {
    const { id: first } = await task("Before all others");
    const watched = await open("#/tasks");
    await row(watched.page, first).waitFor();
    const before = asked(watched).length;
    const burst = await Promise.all(
      Array.from({ length: 20 }, (_, index) => task(`Paint bollard ${index}`, { priority: 3 })),
    );
    for (const { id } of burst) await row(watched.page, id).waitFor();
    const paths = asked(watched).slice(before);
    // The first change at once, and all later ones in one reading of the list: one page for each of the five statuses.
    expect(paths.filter((path) => path.startsWith("/api/tasks/")).length).toBeLessThanOrEqual(3);
    expect(paths.filter((path) => path.startsWith("/api/tasks?")).length).toBeLessThanOrEqual(10);
    const { id } = burst[0] ?? { id: "" };
    const again = asked(watched).length;
    for (let progress = 1; progress <= 15; progress++)
      await post(`/api/tasks/${id}`, { status: "in_progress", progress });
    await row(watched.page, id).getByText("15%").waitFor();
    await isQuiet(watched);
    const reads = asked(watched).slice(again);
    expect(new Set(reads)).toEqual(new Set([`/api/tasks/${id}`]));
    expect(reads.length).toBeLessThanOrEqual(5);
  });

  test("a blocked task says that it needs a ticket, a completed one moves to the history, and statuses filter", async () => {
    const { id } = await task("Choose a colour");
    await post(`/api/tasks/${id}`, { status: "in_progress" });
    const { page } = await open("#/tasks");
    await row(page, id).waitFor();
    expect(await row(page, id).getByText("Ticket Required").count()).toBe(0);
    await post(`/api/tasks/${id}`, { status: "blocked_awaiting_feedback" });
    await row(page, id).getByText("Ticket Required").waitFor();
    expect(await textOf(row(page, id))).toContain("📍 Ticket Required");
    await page.getByLabel("Status").selectOption({ label: "Blocked" });
    expect(await page.locator("[data-task]").count()).toBe(1);
    await page.getByLabel("Status").selectOption({ label: "Failed" });
    await page.getByText("No task has this status.").waitFor();
    await page.getByLabel("Status").selectOption({ label: "All" });
    await post(`/api/tasks/${id}`, { status: "done" });
    await row(page, id).waitFor({ state: "detached" });
    await page.getByRole("link", { name: "Completed" }).click();
    await row(page, id).getByText("Done", { exact: true }).waitFor();
    await post(`/api/tasks/${id}`, { status: "verified" });
    await row(page, id).getByText("Verified", { exact: true }).waitFor();
    await page.getByRole("link", { name: id }).click();
    await page.getByText("The task is verified, so its status stays.").waitFor();
  });

  test("a refused report says why, and keeps what was typed", async () => {
    const { id } = await task("Raced task", { status: "in_progress" });
    const watched = await open(`#/tasks/${id}`);
    watched.forgive(/status of 409/);
    const { page } = watched;
    const form = page.getByRole("region", { name: "Report" });
    await form.getByLabel("Status").selectOption({ label: "Blocked" });
    await form.getByLabel("Note").fill("Who has the key?");
    // The page does not learn in time that somebody else was faster.
    const held = `**/api/tasks/${id}`;
    const goOn = Promise.withResolvers<void>();
    await page.route(held, async (route) => {
      if (route.request().method() === "GET") await goOn.promise;
      await route.continue();
    });
    await post(`/api/tasks/${id}`, { status: "done" });
    await form.getByRole("button", { name: "Report" }).click();
    await page
      .getByRole("alert")
      .getByText(`${id} is done and cannot become blocked_awaiting_feedback.`)
      .waitFor();
    goOn.resolve();
    await page.locator(".facts").getByText("Done", { exact: true }).waitFor();
    expect(await form.getByLabel("Note").inputValue()).toBe("Who has the key?");
    expect(await form.getByLabel("Status").locator("option").allInnerTexts()).toEqual([
      "Done (as now)",
      "In progress",
      "Verified",
      "Failed",
    ]);
    await page.unroute(held);
  });

  test("nothing is asked while nothing happens", async () => {
    const { id } = await task("Nobody touches it");
    const { page, requests, go } = await open("#/tasks");
    await page.clock.install();
    for (const path of ["#/tasks", `#/tasks/${id}`, "#/tickets"]) {
      await go(path);
      await page.reload();
      await page.getByText("Live", { exact: true }).waitFor();
      await page.locator("main :is(li, form, .empty)").first().waitFor();
      await page.clock.runFor(2_000);
      await pause(200);
      const { length } = requests;
      // Less than the 45 seconds after which a stream that says nothing is taken for dead.
      await page.clock.runFor(35_000);
      await pause(100);
      expect(requests.slice(length)).toEqual([]);
    }
  });

  test("Refresh reads the list again, and says so", async () => {
    const watched = await open("#/tasks");
    await watched.page.locator("[data-task]").first().waitFor();
    const before = asked(watched).length;
    await watched.page.getByRole("button", { name: "Refresh" }).click();
    await watched.page.getByText(/^Refreshed at \d\d:\d\d:\d\d\.$/).waitFor();
    expect(asked(watched).slice(before)).toHaveLength(5);
  });
});

describe("tickets", () => {
  test("an answer typed in the browser reaches the agent that waits for it", async () => {
    const { id: blocked } = await task("Paint the signs", { status: "in_progress" });
    const { page } = await open("#/tickets");
    const agent = await connectMcp("2026-07-28", stage);
    try {
      const asking = agent.call("askQuestion", { question: "Which green?", taskId: blocked });
      await page.getByRole("link", { name: "Which green?" }).click();
      await page.getByRole("link", { name: blocked }).waitFor();
      await page.getByLabel("Your answer").fill("The harbour's.\nNot the city's.");
      await page.getByRole("button", { name: "Answer", exact: true }).click();
      await page.getByText("Your answer is stored.").waitFor();
      await page.locator(".facts").getByText("Resolved").waitFor();
      const told = await asking;
      expect(told.isError).toBe(false);
      expect(told.structured?.["text"]).toContain("The harbour's.\nNot the city's.");
    } finally {
      await agent.close();
    }
  });

  test("the navigation counts the open ones, in every browser and on every page", async () => {
    const [one, other] = await Promise.all([open("#/tickets"), open("#/errors")]);
    const count = async ({ page }: WatchedPage): Promise<number> =>
      Number.parseInt((await page.locator("nav .count").allInnerTexts())[0] ?? "0", 10);
    await one.page.locator("[data-ticket], .empty").first().waitFor();
    await eventually(5000, "the first count", async () =>
      asked(other).length === 1 && (await count(one)) === (await count(other)) ? true : undefined,
    );
    const start = await count(one);
    await one.page.getByRole("button", { name: "New ticket" }).click();
    const dialog = one.page.getByRole("dialog", { name: "New ticket" });
    await dialog.getByLabel("Type").selectOption({ label: "Issue" });
    await dialog.getByLabel("Title").fill("The sensor reports -1 m");
    await dialog.getByLabel("Task").fill("T-999");
    one.forgive(/status of 404/);
    await dialog.getByRole("button", { name: "Create ticket" }).click();
    await dialog.getByRole("alert").getByText('There is no task "T-999".').waitFor();
    expect(await dialog.getByLabel("Title").inputValue()).toBe("The sensor reports -1 m");
    await dialog.getByLabel("Task").fill("");
    await dialog.getByRole("button", { name: "Create ticket" }).click();
    const link = one.page.locator(".notice.success").getByRole("link");
    const id = await textOf(link);
    for (const watched of [one, other])
      await eventually(5000, "one more", async () =>
        (await count(watched)) === start + 1 ? true : undefined,
      );
    await link.click();
    await one.page.getByLabel("Your answer").fill("I looked: a loose wire.");
    await one.page.getByRole("button", { name: "Answer", exact: true }).click();
    await one.page.getByLabel("Answer 1").getByText("I looked: a loose wire.").waitFor();
    await one.page.getByRole("button", { name: "Resolve" }).click();
    await one.page.getByText(`${id} is resolved.`).waitFor();
    for (const watched of [one, other])
      await eventually(5000, "as before", async () =>
        (await count(watched)) === start ? true : undefined,
      );
    // Events alone change the number.
    expect(asked(other)).toEqual(["/api/tickets?status=open"]);
  });

  test("who answers too late is told so, and keeps the text", async () => {
    const { id } = await post("/api/tickets", { type: "question", title: "Who is faster?" });
    const watched = await open(`#/tickets/${id}`);
    watched.forgive(/status of 409/);
    const { page } = watched;
    await page.getByLabel("Your answer").fill("Me, of course.");
    const goOn = Promise.withResolvers<void>();
    await page.route(`**/api/tickets/${id}`, async (route) => {
      await goOn.promise;
      await route.continue();
    });
    await post(`/api/tickets/${id}/answer`, { text: "Somebody else." });
    await page.getByRole("button", { name: "Answer", exact: true }).click();
    await page
      .getByRole("alert")
      .getByText(`${id} is already resolved. user answered: Somebody else.`)
      .waitFor();
    goOn.resolve();
    await page.getByLabel("Answer 1").getByText("Somebody else.").waitFor();
    expect(await page.getByLabel("Your answer").inputValue()).toBe("Me, of course.");
    await page.getByText("it takes no more answers").waitFor();
    expect(await page.getByRole("button", { name: "Answer", exact: true }).isDisabled()).toBe(true);
  });

  test("a task shows its own tickets, as they come and go", async () => {
    const [{ id }, other] = [await task("Asks much"), await task("Asks little")];
    await post("/api/tickets", { type: "issue", title: "Another's", task: other.id });
    const { page } = await open(`#/tasks/${id}`);
    await page.getByText("The task has no ticket.").waitFor();
    const { id: ticket } = await post("/api/tickets", {
      ...{ type: "issue", title: "Its own", task: id },
    });
    await row(page, ticket).getByText("Its own").waitFor();
    await post(`/api/tickets/${ticket}/resolve`, {});
    await row(page, ticket).getByText("Resolved").waitFor();
    expect(await page.locator("[data-ticket]").count()).toBe(1);
  });
});

describe("agents", () => {
  test("are idle, busy and in error, as their turns go", async () => {
    const talk = stage.talk({ name: "states", agent: "worker" });
    await talk.say("Begin.");
    const { page } = await open("#/");
    const agent = page.getByRole("region", { name: "Agents" }).locator("li", { hasText: "worker" });
    await agent.getByText("idle", { exact: true }).waitFor();
    const turn = talk.say("Wait for me.");
    await agent.getByText("busy", { exact: true }).waitFor();
    released.resolve();
    await turn;
    await agent.getByText("idle", { exact: true }).waitFor();
    await expect(talk.say("Fail now.")).rejects.toThrow("The turn failed");
    await agent.getByText("error", { exact: true }).waitFor();
  });

  test("an answer that was cut is announced, with its share and what follows", async () => {
    const send = (content: string): Promise<Asked> =>
      ask(stage.url, {
        wire: "anthropic",
        body: { ...bodyOf("anthropic", [{ role: "user", content }]), max_tokens: 2000 },
        headers: { "x-plimsoll-session": "cut", "x-plimsoll-agent": "writer" },
      });
    const { sessionId } = await send("Begin.");
    const { page } = await open(`#/session/${sessionId}`);
    await send("Cut this answer.");
    const notice = page.locator(".notice.warning", { hasText: "An answer stopped because" });
    await notice.getByText("it reached its maximum length").waitFor();
    const words = await textOf(notice.locator(".words"));
    expect(words).toMatch(
      /arrived: about 60 %, .+\. Task T-\d+ completes it\. Plimsoll kept the part in .*partials.+\.$/,
    );
    await notice
      .getByRole("link", { name: /^Task T-/ })
      .last()
      .click();
    await page.getByRole("heading", { level: 1, name: /^T-\d+ Complete: / }).waitFor();
    await page
      .getByRole("region", { name: "Context" })
      .locator("code", { hasText: "incomplete" })
      .waitFor();
    await page.getByLabel("Original prompt").getByText("Cut this answer.").waitFor();
  });
});

test("hostile titles, descriptions, notes and answers stay text", async () => {
  const corpus = xssCorpus("http://127.0.0.1:1/hit").filter((text) => text.trim() !== "");
  const titles = corpus.filter(({ length }) => length <= 300).slice(0, 40);
  const long = corpus.join("\n").slice(0, 60_000);
  const { id } = await task(titles[0] ?? "", { description: long, agent: "<b>x</b>" });
  await post(`/api/tasks/${id}`, { status: "partial", note: long.slice(0, 8000) });
  const { id: ticket } = await post("/api/tickets", {
    ...{ type: "issue", title: titles[1] ?? "", description: long },
    ...{ task: id, assignee: "<img src=x onerror=window.pwned=1>" },
  });
  await post(`/api/tickets/${ticket}/answer`, {
    text: long,
    by: "<script>window.pwned=1</script>",
  });
  await Promise.all(titles.map((title) => post("/api/tickets", { type: "issue", title })));
  const { page, go } = await open("#/tasks");
  for (const path of ["#/tasks", `#/tasks/${id}`, "#/tickets", `#/tickets/${ticket}`]) {
    await go(path);
    await page.locator(`main :is(bdi, li)`).first().waitFor();
    await page.waitForTimeout(50);
    expect(await page.evaluate("window.pwned")).toBeUndefined();
    expect(
      await page.evaluate(
        `document.querySelectorAll("main :is(script, iframe, object, embed, base, img, style, b)").length`,
      ),
    ).toBe(0);
  }
  await page.getByText("<script>window.pwned=1</script>").first().waitFor();
});

test("on a phone, everything is within the width", async () => {
  const { id } = await task("A title without a break: ".padEnd(200, "x"), { priority: 1 });
  await post(`/api/tasks/${id}`, { status: "blocked_awaiting_feedback", note: "n".repeat(300) });
  const { id: ticket } = await post("/api/tickets", {
    ...{ type: "question", title: "y".repeat(200), task: id, assignee: "z".repeat(150) },
  });
  const { page, go } = await open("#/tasks", 360);
  for (const path of ["#/tasks", `#/tasks/${id}`, "#/tickets", `#/tickets/${ticket}`]) {
    await go(path);
    await page
      .getByText(path.endsWith("s") ? id : "Description")
      .first()
      .waitFor();
    expect(
      await page.evaluate("document.documentElement.scrollWidth - innerWidth"),
      path,
    ).toBeLessThanOrEqual(0);
  }
});
