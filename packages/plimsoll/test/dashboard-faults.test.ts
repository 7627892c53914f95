/** What goes wrong under an open page: the service is restarted, a session is deleted, turns fail. */
import type { Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { reply, text } from "./harness/answer.ts";
import { startBrowser, type TestBrowser, type WatchedPage } from "./harness/browser.ts";
import {
  deleteSession,
  flipMessage,
  type Stage,
  startStage,
  type Talk,
} from "./harness/dashboard-stage.ts";

let browser: TestBrowser;
let stage: Stage;
let talk: Talk;

beforeAll(async () => {
  [browser, stage] = await Promise.all([
    startBrowser(),
    startStage({
      upstream: {
        script: ({ body }) =>
          JSON.stringify(body).includes("FAIL NOW")
            ? {
                kind: "failure",
                status: 400,
                body: {
                  type: "error",
                  error: { type: "invalid_request_error", message: "The crane is out of order." },
                },
              }
            : reply(text("Noted, and on to the next.")),
      },
    }),
  ]);
  talk = stage.talk({ name: "one", agent: "coder" });
  for (let turn = 0; turn < 3; turn++) await talk.prose(200);
});
afterEach(async () => {
  expect(await browser.leave()).toEqual([]);
});
afterAll(async () => {
  await browser.close();
  await stage.close();
});

/** The browser writes of every connection that is refused, and of those that break. */
const AWAY = /net::ERR_|Failed to load resource/;
const openForgiving = async (path: string): Promise<WatchedPage> => {
  const opened = await browser.open({ ...stage, path });
  opened.forgive(AWAY);
  return opened;
};

describe("the service is restarted under open pages", () => {
  const turns = (page: Page, count: number): Locator =>
    page.locator(`tr[data-session="${talk.id}"] td.turns`, { hasText: new RegExp(`^${count} `) });

  test("they say so, come back by themselves, and have caught up", async () => {
    const { page: overview, requests } = await openForgiving("#/");
    const { page } = await openForgiving(`#/session/${talk.id}/history`);
    await overview.locator(`tr[data-session="${talk.id}"]`).waitFor();
    await page.locator(".uplot").first().waitFor();
    await stage.stop();
    for (const one of [overview, page]) {
      await one.getByRole("banner").getByText("Reconnecting").waitFor();
      await one.getByText("The service does not answer").first().waitFor();
    }
    // What was known is still there.
    await turns(overview, 3).waitFor();
    await stage.start();
    await talk.prose(200);
    for (const one of [overview, page]) {
      await one.getByRole("banner").getByText("Live", { exact: true }).waitFor();
      await one.getByText("The service does not answer").waitFor({ state: "detached" });
    }
    await turns(overview, 4).waitFor();
    await page.getByText("Turn 4", { exact: true }).waitFor();
    await talk.prose(200);
    await turns(overview, 5).waitFor();
    await page.getByText("Turn 5", { exact: true }).waitFor();
    expect(requests.filter(({ path }) => path === "/").length).toBe(1);
  });

  test("an action meanwhile says that nobody answers", async () => {
    const { page } = await openForgiving(`#/session/${talk.id}`);
    await page.locator("header .name").getByText("coder").waitFor();
    await stage.stop();
    await page.getByRole("button", { name: "Compact now" }).click();
    await page.locator(".notice.error").getByText("The service does not answer").waitFor();
    await stage.start();
    await page.getByRole("banner").getByText("Live", { exact: true }).waitFor();
  });
});

describe("a session that is not there", () => {
  test("one that is deleted while it is open leaves a clear state, and a way back", async () => {
    const doomed = stage.talk({ name: "doomed", agent: "doomed" });
    await doomed.prose(200);
    const opened = await openForgiving(`#/session/${doomed.id}`);
    const { page } = opened;
    await page.locator("header .name").getByText("doomed").waitFor();
    await stage.stop();
    deleteSession(stage.data, doomed.id);
    await stage.start();
    await page.getByRole("heading", { name: "This session is no longer there" }).waitFor();
    await page.getByRole("link", { name: "Back to all sessions" }).click();
    await page.locator(`tr[data-session="${talk.id}"]`).waitFor();
  });

  test.each(["ses_0000000000000000000000", "../../etc/passwd", "%F0%9F%9A%A2", "<b>x</b>"])(
    "neither is %s",
    async (id) => {
      const { page } = await openForgiving(`#/session/${encodeURIComponent(id)}`);
      await page.getByRole("heading", { name: "This session is no longer there" }).waitFor();
    },
  );

  test("an address that leads nowhere says so", async () => {
    const { page } = await browser.open({ ...stage, path: "#/nowhere/at/all" });
    await page.getByRole("heading", { name: "There is nothing here" }).waitFor();
    await page.getByRole("main").getByRole("link", { name: "overview" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
  });
});

describe("errors", () => {
  test("a fresh start by hand is listed at once with its reason, here and in its session", async () => {
    const { page } = await browser.open({ ...stage, path: "#/errors" });
    await page.getByText("Nothing has gone wrong so far.").waitFor();
    const broken = stage.talk({ name: "broken", agent: "broken" });
    for (let turn = 0; turn < 4; turn++) await broken.prose(400);
    const reset = await stage.post(`/api/sessions/${broken.id}/reset`, {
      reason: "The crane is out of order.",
    });
    expect(reset.status).toBe(200);
    const row = page.locator("main li", { hasText: "The crane is out of order." });
    await row.getByText("RECOVERY_TRIGGERED").waitFor();
    await row.getByRole("link").first().click();
    await page.locator("header .name").getByText("broken").waitFor();
    await page.getByRole("link", { name: "Archive", exact: true }).click();
    const own = page.getByRole("region", { name: "Errors of this session" });
    await own.getByText("The crane is out of order.").waitFor();
  });

  test("a session whose stored bytes have changed is put aside, and the page says so", async () => {
    const spoilt = stage.talk({ name: "spoilt", agent: "spoilt" });
    for (let turn = 0; turn < 3; turn++) await spoilt.prose(300);
    const { page } = await openForgiving("#/errors");
    await page.getByRole("heading", { name: "Errors" }).waitFor();
    await stage.stop();
    flipMessage(stage.data, spoilt.id);
    await stage.start();
    await page.getByRole("banner").getByText("Live", { exact: true }).waitFor();
    const { id } = spoilt;
    await spoilt.prose(300);
    expect(spoilt.id).not.toBe(id);
    await page.locator("main li", { hasText: id }).getByText("STORE_CORRUPT").waitFor();
  });

  test("a turn that the provider refuses is seen as failed in its row and its history", async () => {
    const { page } = await browser.open(stage);
    const refused = stage.talk({ name: "refused", agent: "refused" });
    await refused.prose(50);
    await expect(refused.say("FAIL NOW")).rejects.toThrow("The crane is out of order.");
    const row = page.locator(`tr[data-session="${refused.id}"]`);
    await row.getByText("failed").waitFor();
    await row.getByRole("link").click();
    await page.getByRole("link", { name: "History", exact: true }).click();
    await page.locator(".pointed", { hasText: "failed" }).waitFor();
  });
});
