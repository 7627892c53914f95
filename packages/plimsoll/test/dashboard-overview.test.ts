/** The overview in a real browser: rows that live by events alone, and what their colours say in words. */
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { holds, startBrowser, type TestBrowser } from "./harness/browser.ts";
import {
  type Demo,
  type Stage,
  startDemo,
  startStage,
  type Talk,
} from "./harness/dashboard-stage.ts";
import { eventually, pause } from "./harness/waiting.ts";

let browser: TestBrowser;

beforeAll(async () => {
  browser = await startBrowser();
});
afterEach(async () => {
  expect(await browser.leave()).toEqual([]);
});
afterAll(async () => {
  await browser.close();
});

const WAIT_MS = 20_000;
const until = <T>(what: string, probe: () => Promise<T | undefined>): Promise<T> =>
  eventually(WAIT_MS, what, probe);

describe("while the demo runs", () => {
  let demo: Demo;
  beforeAll(async () => {
    demo = await startDemo({ turns: 34, sessions: 3, seed: 1, pace: 90 });
  });
  afterAll(async () => {
    await demo.close();
  });

  test("rows appear and change by events, and no list is read again", async () => {
    const { page, requests } = await browser.open(demo);
    const rows = page.locator("tr[data-session]");
    const turnsOf = async (): Promise<readonly number[]> =>
      (await rows.locator("td.turns").allInnerTexts()).map((text) => Number.parseInt(text, 10));
    await until("three rows with turns", async () => {
      const turns = await turnsOf();
      return turns.length === 3 && turns.every((count) => count > 0) ? turns : undefined;
    });
    const [before, texts] = [await turnsOf(), await rows.allInnerTexts()];
    await until("more turns in every row", async () =>
      (await turnsOf()).every((count, index) => count > (before[index] ?? 0) + 1)
        ? true
        : undefined,
    );
    for (const [index, text] of (await rows.allInnerTexts()).entries())
      expect(text).not.toBe(texts[index]);
    // At the beginning, and for sessions of which an event was heard before their own: not once more with the turns.
    const lists = requests.filter(({ path }) => path === "/api/sessions");
    expect(lists.length).toBeLessThanOrEqual(3);
    expect(requests.filter(({ path }) => path === "/events")).toHaveLength(1);
  });

  test("a compaction is seen in its row, phase by phase, while the turn runs", async () => {
    const { page } = await browser.open(demo);
    await page.evaluate(`window.phasesSeen = [];
      new MutationObserver(() => {
        for (const { textContent } of document.querySelectorAll("tr[data-session] .phase .words"))
          if (!window.phasesSeen.includes(textContent)) window.phasesSeen.push(textContent);
      }).observe(document.body, { subtree: true, childList: true, characterData: true });`);
    await until("a phase of the work, and one of its success", async () => {
      const phases = await page.evaluate<readonly string[]>("window.phasesSeen");
      const isSuccess = (words: string): boolean => words.startsWith("Context reduced to");
      return phases.some(isSuccess) && !phases.every(isSuccess) ? true : undefined;
    });
  });

  test("the figures above and the agents below are those of all turns", async () => {
    await demo.played;
    const { page } = await browser.open(demo);
    const figures = page.locator("dl.panel");
    await figures.getByText(/^56 turns, [1-9]\d* compactions?$/).waitFor();
    const agents = page.getByRole("region", { name: "Agents" }).locator("li");
    expect(await agents.count()).toBe(3);
    expect(await agents.getByRole("link").allInnerTexts()).toEqual(
      expect.arrayContaining(["coder", "reviewer", "docs"]),
    );
    await agents.getByText("1 session, 34 turns").waitFor();
  });

  test("nothing is asked while nothing happens, and the stream of events stays open", async () => {
    await demo.played;
    const { page, requests, go } = await browser.open({ ...demo, path: "#/errors" });
    await page.clock.install();
    const ended: string[] = [];
    for (const kind of ["requestfinished", "requestfailed"] as const)
      page.on(kind as "requestfinished", (request) => ended.push(new URL(request.url()).pathname));
    for (const path of ["#/", "#/errors", `#/session/${await firstSession(page)}`]) {
      await go(path);
      await page.reload();
      await page.getByText("Live", { exact: true }).waitFor();
      await page.locator("main h1").waitFor();
      await until("an end of all reading", async () => {
        const { length } = requests;
        await page.clock.runFor(2_000);
        // The page's clock is not the service's: what it was asked may still be on its way.
        await pause(500);
        return requests.length === length ? true : undefined;
      });
      const [asked, endedBefore] = [requests.length, ended.length];
      // Less than the 45 seconds after which a stream that says nothing is taken for dead.
      await page.clock.runFor(35_000);
      expect(requests.slice(asked)).toEqual([]);
      expect(ended.slice(endedBefore)).not.toContain("/events");
    }
  });

  async function firstSession(page: Page): Promise<string> {
    await page.goto(`${demo.url}/#/`);
    const id = await page.locator("tr[data-session]").first().getAttribute("data-session");
    return id ?? "";
  }
});

describe("the four states of a bar", () => {
  let stage: Stage;
  let calm: Talk;
  beforeAll(async () => {
    stage = await startStage({ config: { progress: { auto_hide_seconds: 1 } } });
    calm = stage.talk({ name: "calm", agent: "calm" });
    await calm.prose(300);
  });
  afterAll(async () => {
    await stage.close();
  });

  /** The document's: #007ACC, #4CAF50, #FF9800, #F44336. */
  const colours = {
    normal: "rgb(0, 122, 204)",
    p1: "rgb(76, 175, 80)",
    warning: "rgb(255, 152, 0)",
    recovery: "rgb(244, 67, 54)",
  } as const;

  /** Awaits the word beside the bar; then its class and colour must say the same. */
  async function expectState(
    page: Page,
    talk: Talk,
    [state, word]: readonly [keyof typeof colours, string],
  ): Promise<void> {
    const row = page.locator(`tr[data-session="${talk.id}"]`);
    await row.getByText(word, { exact: true }).waitFor();
    expect(await row.getAttribute("data-state")).toBe(state);
    const bar = row.getByRole("meter");
    expect(await bar.getAttribute("class")).toMatch(new RegExp(`\\b${state}\\b`));
    const colour = `getComputedStyle(document.querySelector('tr[data-session="${talk.id}"] .bar .fill')).backgroundColor`;
    expect(await page.evaluate(colour)).toBe(colours[state]);
    expect(await bar.getAttribute("aria-valuetext")).toMatch(
      /^[\d,]+ of 7,000 tokens, <?\d+% of the limit; 1,000 kept for the answer$/,
    );
  }

  test("blue is normal", async () => {
    const { page } = await browser.open(stage);
    await expectState(page, calm, ["normal", "normal"]);
  });

  test("green while the client works with the highest priority, as long as it does", async () => {
    const { page } = await browser.open(stage);
    const urgent = stage.talk({ name: "urgent", agent: "urgent", priority: 1 });
    await urgent.prose(200);
    await expectState(page, urgent, ["p1", "P1 active"]);
    await urgent.prose(200, 2);
    await expectState(page, urgent, ["normal", "normal"]);
  });

  test("orange near the limit, by the event that takes it there", async () => {
    const { page } = await browser.open(stage);
    const large = stage.talk({ name: "large", agent: "large" });
    await large.prose(1_000);
    await expectState(page, large, ["normal", "normal"]);
    await large.prose(4_900);
    await expectState(page, large, ["warning", "near limit"]);
  });

  test("red while a conversation starts afresh, and not for ever", async () => {
    const { page } = await browser.open(stage);
    const long = stage.talk({ name: "long", agent: "long" });
    for (let turn = 0; turn < 4; turn++) await long.prose(400);
    await expectState(page, long, ["normal", "normal"]);
    const { status, body } = await stage.post(`/api/sessions/${long.id}/reset`, {});
    expect(status, JSON.stringify(body)).toBe(200);
    await expectState(page, long, ["recovery", "recovering"]);
    await page.getByText("Resumed from summary. Continuing task…").first().waitFor();
    await expectState(page, long, ["normal", "normal"]);
  });

  test("the load line stands where the limit is", async () => {
    const { page } = await browser.open(stage);
    const line = page.locator(`tr[data-session="${calm.id}"] .bar .line`);
    await line.waitFor();
    await holds(
      page,
      `(() => {
        const bar = document.querySelector('tr[data-session="${calm.id}"] .bar');
        const [whole, line] = [bar, bar.querySelector(".line")].map((one) => one.getBoundingClientRect());
        const share = (line.left + line.width / 2 - whole.left) / whole.width;
        return Math.abs(share - 7000 / 8000) < 0.01;
      })()`,
    );
  });
});

test("a service without sessions says how to get one, and shows it with its first turn", async () => {
  const stage = await startStage();
  try {
    const { page } = await browser.open(stage);
    await page.getByText("No session yet.").waitFor();
    await page.getByText(`ANTHROPIC_BASE_URL=${stage.url}`).waitFor();
    await stage.talk({ name: "first", agent: "first-agent" }).prose(50);
    await page.locator("tr[data-session]").getByText("first-agent").waitFor();
    expect(await page.getByText("No session yet.").count()).toBe(0);
  } finally {
    // A page that is still open would call a service that is just stopping.
    const trouble = await browser.leave();
    await stage.close();
    expect(trouble).toEqual([]);
  }
});
