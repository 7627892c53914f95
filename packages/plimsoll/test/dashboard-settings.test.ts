/** Settings and tokens in a real browser: what is saved stands in the user's file, and nobody gets in without a token. */
import { readFile, writeFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { holds, startBrowser, type TestBrowser } from "./harness/browser.ts";
import { type Stage, startStage, type Talk } from "./harness/dashboard-stage.ts";
import type { JsonObject } from "./harness/json.ts";

const TENANT_TOKEN = "another-token-of-a-tenant-0123456789";

let browser: TestBrowser;
let stage: Stage;
let talk: Talk;
let file: string;

beforeAll(async () => {
  [browser, stage] = await Promise.all([
    startBrowser(),
    startStage({ config: { tokens: { other: TENANT_TOKEN } } }),
  ]);
  talk = stage.talk({ name: "one", agent: "coder" });
  await talk.prose(2_500);
  file = (await stage.api<{ readonly file: string }>("/api/config")).file;
  await writeFile(file, `# written by hand\n${await readFile(file, "utf8")}`);
});
afterEach(async () => {
  expect(await browser.leave()).toEqual([]);
});
afterAll(async () => {
  await browser.close();
  await stage.close();
});

const settings = async (): Promise<Page> => {
  const { page } = await browser.open({ ...stage, path: "#/settings" });
  await page.getByLabel("Default limit").waitFor();
  return page;
};
const save = (page: Page): Promise<void> => page.getByRole("button", { name: "Save" }).click();

describe("settings", () => {
  test("what cannot be saved is said beside its field, and is not sent", async () => {
    const { page, requests } = await browser.open({ ...stage, path: "#/settings" });
    await page.getByLabel("Default limit").fill("100");
    await page.getByText("Give at least the lowest limit, 3,500.").waitFor();
    await page.getByText("One field needs another value.").waitFor();
    await page.getByLabel("Warning").fill("101");
    await page.getByText("Give a share from 0 to 100 percent.").waitFor();
    await page.getByRole("button", { name: "Add an agent" }).click();
    await page.getByText("Give a name, or remove the row.").waitFor();
    await page.getByText("3 fields need another value.").waitFor();
    expect(await page.getByRole("button", { name: "Save" }).isDisabled()).toBe(true);
    await page.getByRole("button", { name: "Discard changes" }).click();
    expect(await page.getByLabel("Default limit").inputValue()).toBe("5000");
    expect(requests.filter(({ method }) => method !== "GET")).toEqual([]);
  });

  test("what is saved stands in the user's file, whose comments stay, and holds at once", async () => {
    const page = await settings();
    await page.getByLabel("Detailed").check();
    await page.getByRole("slider", { name: "Auto-hide delay (seconds)" }).fill("7");
    await page.getByLabel("Highlight P1 protection").uncheck();
    await page.getByLabel("Warning").fill("30");
    await page.getByRole("button", { name: "Add an agent" }).click();
    await page
      .getByRole("group", { name: "agent 1" })
      .getByLabel("Agent", { exact: true })
      .fill("coder");
    await page.getByRole("group", { name: "agent 1" }).getByLabel("Limit in tokens").fill("6500");
    await page.getByRole("button", { name: "Add a model" }).click();
    const model = page.getByRole("group", { name: "model 1" });
    await model.getByLabel("Model", { exact: true }).fill("ollama");
    const [limit, follow] = [model.getByLabel("Limit in tokens"), model.getByRole("switch")];
    expect(await follow.isChecked()).toBe(true);
    expect(await limit.isEditable()).toBe(false);
    await follow.uncheck();
    await limit.fill("3600");
    await save(page);
    await page.getByText(`Saved to ${file}.`).waitFor();
    const text = await readFile(file, "utf8");
    expect(text).toContain("# written by hand");
    expect(parse(text)).toMatchObject({
      progress: { detail: "detailed", auto_hide_seconds: 7, highlight_p1: false },
      context_config: {
        warning_threshold: 0.3,
        per_agent: { coder: 6500 },
        per_llm: [{ type: "ollama", limit: 3600, follow_default: false }],
      },
    });
    // The same page shows the session by the new threshold, and the next turn has the new limit.
    await page.getByRole("link", { name: "Overview" }).click();
    const row = page.locator(`tr[data-session="${talk.id}"]`);
    await row.getByText("near limit").waitFor();
    await talk.prose(50);
    await row.locator("[role=meter][aria-valuetext*=' of 6,500 tokens']").waitFor();
  });

  test("a model follows the default again, and a row that is removed is gone from the file", async () => {
    const page = await settings();
    await page.getByRole("group", { name: "model 1" }).getByRole("switch").check();
    await page.getByRole("button", { name: "Remove agent coder" }).click();
    await holds(page, `document.activeElement.textContent.trim() === "Add an agent"`);
    await save(page);
    await page.getByText(`Saved to ${file}.`).waitFor();
    const { context_config: limits } = parse(await readFile(file, "utf8")) as JsonObject;
    expect(limits).toMatchObject({ per_llm: [{ type: "ollama", follow_default: true }] });
    expect(JSON.stringify(limits)).not.toContain("coder");
    await page.reload();
    await page.getByRole("group", { name: "model 1" }).waitFor();
    expect(await page.getByRole("group", { name: "model 1" }).getByRole("switch").isChecked()).toBe(
      true,
    );
  });

  test("a budget is a number, the whole window, or automatic, and holds from the next turn on", async () => {
    const page = await settings();
    const choice = page.getByLabel("Budget", { exact: true });
    const limitNow = async (): Promise<unknown> => {
      await talk.prose(20);
      const { lastTurn } = await stage.api<{ readonly lastTurn: JsonObject }>(
        `/api/sessions/${talk.id}`,
      );
      return lastTurn["limit"];
    };
    const saved = async (): Promise<unknown> => {
      await save(page);
      await page.getByText(`Saved to ${file}.`).waitFor();
      await page.locator(".notice").getByRole("button").click();
      const { agent } = parse(await readFile(file, "utf8")) as JsonObject;
      return (agent as JsonObject)["context_budget"];
    };
    expect(await choice.inputValue()).toBe("auto");
    await choice.selectOption("A number of tokens");
    await page.getByLabel("Budget in tokens").fill("many");
    await page.getByText("Give a whole number of tokens").waitFor();
    expect(await page.getByRole("button", { name: "Save" }).isDisabled()).toBe(true);
    await page.getByLabel("Budget in tokens").fill("6100");
    expect(await saved()).toBe(6100);
    expect(await limitNow()).toBe(6100);
    await choice.selectOption("The whole window");
    expect(await page.getByLabel("Budget in tokens").count()).toBe(0);
    expect(await saved()).toBe("window");
    expect(await limitNow()).toBe(7000);
    await page.reload();
    await choice.waitFor();
    expect(await choice.inputValue()).toBe("window");
    await choice.selectOption("Automatic");
    expect(await saved()).toBe("auto");
  });

  test("of two browsers that save, the second is told, and loads what is newer", async () => {
    const one = await settings();
    const opened = await browser.open({ ...stage, path: "#/settings" });
    opened.forgive(/status of 409/);
    const other = opened.page;
    await other.getByLabel("Default limit").fill("4444");
    await one.getByLabel("Default limit").fill("5555");
    await save(one);
    await one.getByText(`Saved to ${file}.`).waitFor();
    await save(other);
    await other.locator(".notice.warning").waitFor();
    expect(await other.getByLabel("Default limit").inputValue()).toBe("4444");
    await other.getByRole("button", { name: "Load the newer values" }).click();
    await holds(other, `document.getElementById("defaultLimit").value === "5555"`);
    await other.getByLabel("Default limit").fill("6666");
    await save(other);
    await other.getByText(`Saved to ${file}.`).waitFor();
    expect(parse(await readFile(file, "utf8"))).toMatchObject({
      context_config: { default_limit: 6666 },
    });
  });

  test("what one browser saves reaches the open pages of others at once, without a reload", async () => {
    const one = await settings();
    const { page: form } = await browser.open({ ...stage, path: "#/settings" });
    const { page: session } = await browser.open({ ...stage, path: `#/session/${talk.id}` });
    await form.getByLabel("Default limit").waitFor();
    await session.getByText("No compaction is running.").waitFor();
    await one.getByLabel("Default limit").fill("7777");
    await one.getByLabel("Show context breaking progress").uncheck();
    await save(one);
    await holds(form, `document.getElementById("defaultLimit").value === "7777"`);
    expect(await form.getByLabel("Show context breaking progress").isChecked()).toBe(false);
    await session.getByText("No compaction is running.").waitFor({ state: "detached" });
    await one.getByLabel("Show context breaking progress").check();
    await save(one);
    await session.getByText("No compaction is running.").waitFor();
  });

  test("who is not the owner neither reads nor writes them", async () => {
    const opened = await browser.open({ ...stage, token: TENANT_TOKEN, path: "#/settings" });
    opened.forgive(/status of 403/);
    await opened.page.getByText(/^Settings are for the owner of this service/).waitFor();
    expect(await opened.page.getByLabel("Default limit").count()).toBe(0);
    expect(await opened.page.getByRole("link", { name: "Settings" }).count()).toBe(0);
    await opened.page.getByRole("link", { name: "Overview" }).click();
    await opened.page.getByText("No session yet.").waitFor();
  });
});

describe("tokens", () => {
  test("without one the page asks for it, and shows nothing else", async () => {
    const { page, requests } = await browser.open({ url: stage.url, path: `#/session/${talk.id}` });
    await page.getByLabel("Token of the service").waitFor();
    expect(await page.locator("tr[data-session]").count()).toBe(0);
    expect(requests.filter(({ path }) => /^\/(api|events)/.test(path))).toEqual([]);
    await page.getByLabel("Token of the service").fill(stage.token);
    await page.keyboard.press("Enter");
    await page.locator("header .name").getByText("coder").waitFor();
  });

  test("a wrong one is refused in words, asked for once, and the right one opens the door", async () => {
    const opened = await browser.open({ url: stage.url, path: "#token=wrong-token-0123456789" });
    opened.forgive(/status of 401/);
    const { page, requests } = opened;
    await page.getByText("This token is not known here").waitFor();
    expect(await page.getByLabel("Token of the service").getAttribute("aria-invalid")).toBe("true");
    expect(requests.filter(({ path }) => path === "/events")).toHaveLength(1);
    await page.getByLabel("Token of the service").fill("another wrong one");
    await page.getByRole("button", { name: "Open the dashboard" }).click();
    await page.getByText("This token is not known here").waitFor();
    await page.getByLabel("Token of the service").fill(stage.token);
    await page.getByRole("button", { name: "Open the dashboard" }).click();
    await page.locator(`tr[data-session="${talk.id}"]`).waitFor();
  });

  test("the one of the address leaves it at once, and lives as long as the tab", async () => {
    const { page } = await browser.open({ url: stage.url, path: `#token=${stage.token}` });
    await page.locator("tr[data-session]").waitFor();
    expect(page.url()).toBe(`${stage.url}/#/`);
    const kept = await page.evaluate<readonly string[]>(
      `[JSON.stringify({ ...localStorage }), document.cookie, location.href, document.documentElement.outerHTML]`,
    );
    for (const place of kept) expect(place).not.toContain(stage.token);
    await page.reload();
    await page.locator("tr[data-session]").waitFor();
    const fresh = await browser.open({ url: stage.url });
    await fresh.page.getByLabel("Token of the service").waitFor();
  });
});
