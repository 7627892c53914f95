/** Steering by hand, in a real browser: undo, pin, checkpoints, time travel, the archive; and two people who steer at once. */
import type { Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { holds, startBrowser, type TestBrowser, textOf } from "./harness/browser.ts";
import { type Stage, startStage, type Talk } from "./harness/dashboard-stage.ts";
import { eventually } from "./harness/waiting.ts";

let browser: TestBrowser;
let stage: Stage;

beforeAll(async () => {
  [browser, stage] = await Promise.all([startBrowser(), startStage()]);
});
afterEach(async () => {
  expect(await browser.leave()).toEqual([]);
});
afterAll(async () => {
  await browser.close();
  await stage.close();
});

interface Units {
  readonly tokens: number;
  readonly units: readonly { readonly isPinned?: true; readonly first?: number }[];
}
const windowOf = (talk: Talk): Promise<Units> => stage.api(`/api/sessions/${talk.id}/window`);
const count = (tokens: number): string => tokens.toLocaleString("en-US");
const success = (page: Page): Locator => page.locator(".notice.success");
/** What the strip above all tabs says fills the window. */
const filled = (page: Page): Locator =>
  page.getByRole("region", { name: "Summary of the window" }).locator(".main b");

async function compactedTalk(name: string): Promise<Talk> {
  const talk = stage.talk({ name, agent: name });
  await talk.say("Never touch the quay of pier seven: the crane stands there.");
  await talk.until("compacted");
  return talk;
}
const open = async (talk: Talk, tab: string): Promise<Page> =>
  (await browser.open({ ...stage, path: `#/session/${talk.id}/${tab}` })).page;

describe("a way back", () => {
  let talk: Talk;
  beforeAll(async () => {
    talk = await compactedTalk("back");
  });

  test("an edit of a unit is undone, and what it took out stands in the window again", async () => {
    const page = await open(talk, "window");
    const before = await windowOf(talk);
    await page.getByLabel("Filter units by kind").selectOption({ label: "Summaries" });
    await page.getByRole("listbox").getByRole("option").first().click();
    await page
      .getByRole("region", { name: "Chosen unit" })
      .getByRole("button", { name: "Undo" })
      .first()
      .click();
    await success(page)
      .getByText(/^Undone, together with all edits of the same step/)
      .waitFor();
    const after = await windowOf(talk);
    expect(after.tokens).toBeGreaterThan(before.tokens);
    await filled(page).getByText(count(after.tokens), { exact: true }).waitFor();
    await page
      .getByText(`of ${after.units.length} units`)
      .or(page.getByText(`${after.units.length} units`, { exact: true }))
      .waitFor();
  });

  test("a unit is pinned and released, and the picture says so", async () => {
    const page = await open(talk, "window");
    const number = (await windowOf(talk)).units.findIndex(
      ({ first, isPinned }) => first !== undefined && first > 4 && isPinned !== true,
    );
    await page.getByRole("listbox").focus();
    for (let step = 0; step <= number; step++) await page.keyboard.press("ArrowDown");
    const details = page.getByRole("region", { name: "Chosen unit" });
    await details.getByRole("button", { name: "Pin" }).click();
    await success(page).getByText("Pinned: it stays as it is until you release it.").waitFor();
    await page.locator(`#unit-${number}`).getByLabel("pinned").waitFor();
    expect((await windowOf(talk)).units[number]?.isPinned).toBe(true);
    await details.getByRole("button", { name: "Release" }).click();
    await success(page)
      .getByText(/^Released/)
      .waitFor();
    await page.locator(`#unit-${number}`).getByLabel("pinned").waitFor({ state: "detached" });
    expect((await windowOf(talk)).units[number]?.isPinned).toBeUndefined();
  });

  test("the last step is undone from above all tabs, in the service's words when there is none left", async () => {
    const opened = await browser.open({ ...stage, path: `#/session/${talk.id}/history` });
    opened.forgive(/status of 4\d\d/);
    const undo = opened.page
      .getByRole("group", { name: "Actions" })
      .getByRole("button", { name: "Undo" });
    const said = opened.page.locator(".notice .words");
    const sentences: string[] = [];
    // Bounded by the edits of the session, of which each undo takes back one step.
    for (let step = 0; step < 20 && sentences.at(-1)?.startsWith("Undone") !== false; step++) {
      await undo.click();
      await said.waitFor();
      sentences.push(await textOf(said));
    }
    expect(sentences.length).toBeGreaterThan(0);
    expect(sentences.at(-1)).toMatch(/^[A-Z].*\.$/s);
    expect(sentences.at(-1)).not.toContain("Undone");
  });
});

describe("time travel", () => {
  let talk: Talk;
  beforeAll(async () => {
    talk = await compactedTalk("travel");
  });

  test("a checkpoint is set under a label", async () => {
    const page = await open(talk, "travel");
    await page.getByRole("button", { name: "Checkpoint" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox").fill("before <b>lunch</b>");
    await dialog.getByRole("button", { name: "Set checkpoint" }).click();
    await success(page)
      .getByText(/^Checkpoint cp_\d+ is set/)
      .waitFor();
    await page
      .getByRole("option", { name: "before <b>lunch</b>" })
      .first()
      .waitFor({ state: "attached" });
  });

  test("the slider shows the window as it was", async () => {
    const page = await open(talk, "travel");
    const slider = page.getByRole("slider", { name: "Point in time" });
    await slider.waitFor();
    expect(await slider.getAttribute("aria-valuetext")).toBe("now");
    const now = await windowOf(talk);
    await slider.focus();
    await page.keyboard.press("Home");
    expect(await slider.getAttribute("aria-valuetext")).toMatch(/^cp_\d+/);
    const then = page.locator(".at p");
    const words = await eventually(10_000, "the window of then", async () => {
      const text = await textOf(then);
      return /[\d,]+ tokens in \d+ units/.test(text) ? text : undefined;
    });
    expect(words).not.toContain(`${count(now.tokens)} tokens`);
  });

  test("two views stand side by side, and what differs is marked", async () => {
    const page = await open(talk, "travel");
    const from = page.locator("section[aria-labelledby=diff-title] select").first();
    await from.waitFor();
    await from.selectOption({ index: 0 });
    const rows = page.locator("section[aria-labelledby=diff-title] ol > li");
    await rows
      .filter({ hasText: "Changed" })
      .or(rows.filter({ hasText: "Gone" }))
      .first()
      .waitFor();
    const changed = rows.locator(".sides").first();
    expect(await changed.locator("> div").count()).toBe(2);
    const [left, right] = await Promise.all(
      [0, 1].map((side) => changed.locator("> div").nth(side).boundingBox()),
    );
    expect(left?.y).toBe(right?.y);
    expect((left?.x ?? 0) + (left?.width ?? 0)).toBeLessThanOrEqual(right?.x ?? 0);
    await rows
      .getByText(/messages? (are|is) the same/)
      .first()
      .waitFor();
  });

  test("a view is restored, for all who look", async () => {
    const [page, other] = [await open(talk, "travel"), await open(talk, "window")];
    await filled(other).waitFor();
    const before = await windowOf(talk);
    await page.getByRole("slider", { name: "Point in time" }).focus();
    await page.keyboard.press("Home");
    await page.getByRole("button", { name: "Restore this view" }).click();
    await success(page)
      .getByText(/^Restored: the window holds [\d,]+ tokens now\.$/)
      .waitFor();
    const after = await windowOf(talk);
    expect(after.tokens).toBeGreaterThan(before.tokens);
    for (const one of [page, other])
      await filled(one).getByText(count(after.tokens), { exact: true }).waitFor();
  });
});

describe("the archive", () => {
  let talk: Talk;
  beforeAll(async () => {
    talk = await compactedTalk("archive");
  });

  test("what left the window is found again, and the words of the query are marked", async () => {
    const page = await open(talk, "archive");
    await page
      .getByRole("searchbox", { name: "What to look for in this session" })
      .fill("quay crane");
    await page.keyboard.press("Enter");
    const marks = page.locator("mark");
    await marks.first().waitFor();
    expect(new Set((await marks.allInnerTexts()).map((word) => word.toLowerCase()))).toEqual(
      new Set(["quay", "crane"]),
    );
    await page.getByText("Never touch the").first().waitFor();
  });

  test("what nothing answers is said to be nothing", async () => {
    const quiet = stage.talk({ name: "quiet", agent: "quiet" });
    await quiet.say("Hello.");
    const page = await open(quiet, "archive");
    await page.getByText("Nothing has left the window, so there are no handles.").waitFor();
    await page.getByText("No errors in this session so far.").waitFor();
    await page.getByRole("searchbox").fill("zeppelin xylophone");
    await page.getByRole("button", { name: "Search" }).click();
    await page.getByText(/^Nothing in this session answers “zeppelin xylophone”/).waitFor();
  });

  test("View Full Archive leads to everything behind a handle, page by page", async () => {
    const long = stage.talk({ name: "pages", agent: "pages" });
    await long.say("Begin.");
    for (let turn = 0; turn < 3; turn++) await long.until("compacted");
    const page = await open(long, "compactions");
    await page.getByRole("link", { name: "View Full Archive" }).first().click();
    const rows = page.locator("section[aria-labelledby=handles-title] li");
    await rows.first().waitFor();
    const largest = rows
      .filter({ hasText: "Everything that a compaction removed" })
      .first()
      .or(rows.first())
      .first();
    await largest.getByRole("button", { name: "Open" }).click();
    const dialog = page.getByRole("dialog");
    const content = dialog.getByLabel("Content of the archive");
    await content.waitFor();
    const first = await textOf(content);
    const next = dialog.getByRole("button", { name: "Next" });
    expect(await next.isEnabled()).toBe(true);
    await next.click();
    await dialog.getByText(/^Bytes [1-9]/).waitFor();
    await eventually(10_000, "another page", async () =>
      (await textOf(content)) === first ? undefined : true,
    );
    await dialog.getByRole("button", { name: "Back" }).click();
    await dialog.getByText(/^Bytes 0 to/).waitFor();
    expect(await textOf(content)).toBe(first);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await holds(page, `document.activeElement.textContent.trim() === "Open"`);
  });
});

describe("two who steer at once", () => {
  test.each(["Compact now", "Undo"])(
    "%s: each is told an outcome, and both see the same window",
    async (action) => {
      const talk = await compactedTalk(`both-${action}`);
      for (let turn = 0; turn < 3; turn++) await talk.prose(400);
      const [one, other] = await Promise.all([
        browser.open({ ...stage, path: `#/session/${talk.id}/window` }),
        browser.open({ ...stage, path: `#/session/${talk.id}/window` }),
      ]);
      const both = [one, other];
      for (const opened of both) {
        opened.forgive(/status of 4\d\d/);
        await filled(opened.page).waitFor();
      }
      await Promise.all(
        both.map(({ page }) =>
          page
            .getByRole("group", { name: "Actions" })
            .getByRole("button", { name: action })
            .click(),
        ),
      );
      const said = await Promise.all(
        both.map(async ({ page }) => {
          await page.locator(".notice").waitFor();
          return textOf(page.locator(".notice .words"));
        }),
      );
      for (const sentence of said) expect(sentence).toMatch(/^[A-Z].*\.$/s);
      await eventually(10_000, "the same window in both", async () => {
        const { tokens } = await windowOf(talk);
        const shown = await Promise.all(both.map(({ page }) => textOf(filled(page))));
        return shown.every((text) => text === count(tokens)) ? true : undefined;
      });
      const [first, second] = await Promise.all(
        both.map(({ page }) => page.locator(".picture").first().screenshot()),
      );
      expect(first?.equals(second ?? Buffer.alloc(0))).toBe(true);
    },
  );
});

describe("a session that is forgotten", () => {
  test("the dialog says what would go, the page what went, and the list no longer has it", async () => {
    const talk = stage.talk({ name: "forgotten", agent: "forgotten" });
    await talk.say("Nobody needs these words any more.");
    const page = await open(talk, "window");
    await filled(page).waitFor();
    await page
      .getByRole("group", { name: "Actions" })
      .getByRole("button", { name: "Forget" })
      .click();
    const dialog = page.getByRole("dialog", { name: "Forget this session?" });
    await dialog
      .getByText(/This deletes 1 session, 2 messages, 0 archive entries, .* bytes/)
      .waitFor();
    expect(await filled(page).count()).toBe(1);
    await dialog.getByRole("button", { name: "Forget" }).click();
    await page.getByRole("heading", { name: "This session is forgotten" }).waitFor();
    await page
      .getByText(/^Deleted: 1 session, 2 messages, 0 archive entries, .* bytes\.$/)
      .waitFor();
    await page.getByRole("link", { name: "Back to all sessions" }).click();
    await page.getByRole("heading", { name: "Sessions" }).first().waitFor();
    expect(await page.getByText("Nobody needs these words").count()).toBe(0);
    const { items } = await stage.api<{ items: readonly { readonly id: string }[] }>(
      "/api/sessions",
    );
    expect(items.map(({ id }) => id)).not.toContain(talk.id);
  });
});
