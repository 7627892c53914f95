/** A compaction in a real browser: its phases while it runs, what came of it, and how the settings show it. */
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { startBrowser, type TestBrowser, textOf } from "./harness/browser.ts";
import {
  type Listening,
  listenTo,
  type Stage,
  startStage,
  type Talk,
} from "./harness/dashboard-stage.ts";
import type { JsonObject } from "./harness/json.ts";
import { eventually } from "./harness/waiting.ts";

/** Each strategy takes out little, so that the chain goes on to its end. */
const CHAIN = {
  chain_order: [
    "summarize_old",
    "prioritize_recent",
    "content_type_chunking",
    "discard_low_rel",
    "hybrid",
  ],
  summarize_old: { old_threshold: 0.15 },
  prioritize_recent: { rel_threshold: 0.01, recent_bias: 1 },
  content_type_chunking: { compress_ratios: { code: 1, text: 1, plan_ref: 1, log: 1, other: 1 } },
  discard_low_rel: { discard_percent: 0.02 },
};
const NAMES: Readonly<Record<string, string>> = {
  detection: "Detection",
  "summarize-old": "Summarize old",
  "prioritize-recent": "Prioritize recent",
  "content-chunking": "Content chunking",
  "discard-low-rel": "Discard low relevance",
  hybrid: "Hybrid",
  success: "Success",
  recovery: "Recovery",
  handover: "Handover",
  failed: "Failed",
};
const RULE = "You must not change config/harbour.toml. Keep the to do list as it is.";

let browser: TestBrowser;
let stage: Stage;
let listening: Listening;

beforeAll(async () => {
  [browser, stage] = await Promise.all([
    startBrowser(),
    startStage({
      config: {
        context_config: { breaking_strategy: CHAIN },
        priority_areas: [{ name: "To Do List", priority: 1, patterns: ["the to do list"] }],
      },
    }),
  ]);
  listening = await listenTo(stage.url, stage.token);
});
afterEach(async () => {
  expect(await browser.leave()).toEqual([]);
});
afterAll(async () => {
  listening.close();
  await browser.close();
  await stage.close();
});

/** Whatever is shown of a run, for however short a time. */
const COLLECT = `window.shown = { names: [], messages: [], badges: [], bars: [], icons: [] };
  const add = (list, text) => text && !list.includes(text) && list.push(text);
  new MutationObserver(() => {
    const run = document.querySelector("section.run");
    if (run === null) return;
    const { names, messages, badges, bars, icons } = window.shown;
    for (const one of run.querySelectorAll(".line .phase-icon, li.entered .phase-icon")) add(icons, one.dataset.codicon + (one.matches(".spinning") ? " spinning" : ""));
    for (const one of run.querySelectorAll("li.entered > span:first-of-type")) add(names, one.textContent);
    for (const one of run.querySelectorAll(".message, ol.steps li > span")) add(messages, one.textContent);
    for (const one of run.querySelectorAll(".badge")) add(badges, one.textContent.trim());
    add(bars, run.querySelector("[role=progressbar]").getAttribute("aria-valuenow") ?? "pulsing");
  }).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
  undefined;`;

interface Shown {
  readonly names: readonly string[];
  readonly messages: readonly string[];
  readonly badges: readonly string[];
  readonly bars: readonly string[];
  /** Icons of the phases that were entered. */
  readonly icons: readonly string[];
}

interface Box {
  readonly top: number;
  readonly bottom: number;
  readonly left: number;
  readonly right: number;
  readonly height: number;
}
interface Layout {
  readonly scrolled: number;
  /** The place that is kept for a run. */
  readonly place: Box;
  readonly run?: Box;
  /** Everything else that a reader can see on the page. */
  readonly content: readonly Box[];
}
const LAYOUT = `(() => {
  const boxOf = (one) => one?.getBoundingClientRect().toJSON();
  const page = document.querySelector(".session");
  const others = [...page.children].filter((one) => !one.matches(".place") && one.querySelector("section.run") === null && !one.matches("section.run"));
  const content = others.flatMap((one) => [one, ...one.querySelectorAll("section, li, canvas, button, h2")]).map(boxOf).filter(({ height }) => height > 1);
  return { scrolled: scrollY, place: boxOf(page.querySelector(".place")), run: boxOf(page.querySelector("section.run")), content };
})()`;

const runOf = (page: Page): ReturnType<Page["locator"]> =>
  page.getByRole("region", { name: "Compaction", exact: true });

function phasesOf(session: string, from = 0): readonly JsonObject[] {
  return listening.events
    .slice(from)
    .filter((event) => event["type"] === "context-breaking-update" && event["session"] === session);
}

async function filledTalk(name: string, turns = 12): Promise<Talk> {
  const talk = stage.talk({ name, agent: name });
  await talk.say(RULE);
  for (let turn = 0; turn < turns; turn++) await talk.prose(400);
  return talk;
}

async function setProgress(change: JsonObject): Promise<void> {
  const { revision, progress } = await stage.api<JsonObject>("/api/config");
  const answer = await fetch(`${stage.url}/api/config`, {
    method: "PUT",
    headers: { authorization: `Bearer ${stage.token}`, "content-type": "application/json" },
    body: JSON.stringify({ revision, progress: { ...(progress as JsonObject), ...change } }),
  });
  expect(answer.status, await answer.text()).toBe(200);
}

describe("the phases of a run", () => {
  test("every one that the chain enters is shown, with its sentence and the priority", async () => {
    await setProgress({ detail: "detailed", auto_hide_seconds: 10 });
    const talk = await filledTalk("chain");
    const { page } = await browser.open({ ...stage, path: `#/session/${talk.id}` });
    await page.locator("header .name").getByText("chain").waitFor();
    await page.evaluate(COLLECT);
    await talk.until("compacted");
    await runOf(page)
      .getByText(/^Context reduced to/)
      .first()
      .waitFor();
    await runOf(page).getByRole("heading", { name: "Receipt" }).waitFor();
    const shown = await page.evaluate<Shown>("window.shown");
    const entered = phasesOf(talk.id);
    expect(new Set(entered.map(({ phase }) => phase))).toEqual(
      new Set(
        Object.keys(NAMES).filter((name) => !["recovery", "handover", "failed"].includes(name)),
      ),
    );
    expect(new Set(shown.names)).toEqual(new Set(entered.map(({ phase }) => NAMES[String(phase)])));
    for (const { message } of entered) expect(shown.messages).toContain(message);
    expect(shown.badges).toEqual(["P1: To Do List"]);
    for (const icon of ["sync~spin", "compress", "star", "code", "clear-all", "layers", "check"])
      expect(shown.icons).toContain(icon);
    // The document: "Summarizing old context… (est. 2.1k → 300 tokens)".
    expect(shown.messages.join("\n")).toMatch(
      /Summarizing old context… \(est\. [\d.]+k? → \d{1,3} tokens\)/,
    );
    expect(shown.bars.at(-1)).toBe(String(entered.at(-1)?.["progress"]));
  });

  test("a fresh start pulses as recovery, ends as handover, and shows what the model goes on from", async () => {
    await setProgress({ detail: "normal", auto_hide_seconds: 10 });
    const talk = await filledTalk("afresh", 6);
    const { page } = await browser.open({ ...stage, path: `#/session/${talk.id}` });
    await page.evaluate(COLLECT);
    await page.getByRole("button", { name: "Reset Agent Chat" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Everything stays in the archive").waitFor();
    await dialog.getByRole("button", { name: "Reset Agent Chat" }).click();
    await page
      .getByText(
        /^The conversation starts afresh from a handover\. From [\d,]+ to [\d,]+ tokens\.$/,
      )
      .waitFor();
    await runOf(page).getByText("Resumed from summary. Continuing task…").waitFor();
    const shown = await page.evaluate<Shown>("window.shown");
    expect(shown.names).toEqual(expect.arrayContaining(["Recovery", "Handover"]));
    expect(shown.icons).toEqual(expect.arrayContaining(["refresh", "sync~complete"]));
    // The badge is there in recovery and handover too.
    expect(shown.badges).toEqual(["P1: To Do List"]);
    for (const event of phasesOf(talk.id).filter(({ phase }) => phase !== "detection"))
      expect(event["priority"]).toEqual({ level: 1, area: "To Do List" });
    await runOf(page).getByText("Details").click();
    await runOf(page).getByRole("heading", { name: "Handover" }).waitFor();
    const handover = runOf(page).getByLabel("Handover preview");
    expect(await textOf(handover)).toMatch(/^\[Plimsoll: .*\]\nHandover\. /);
    await runOf(page).getByRole("link", { name: "View Full Archive" }).click();
    await page.getByRole("heading", { name: "Behind handles" }).waitFor();
  });

  test("a compaction that removes nothing ends with a phase that says so", async () => {
    await setProgress({ detail: "normal", auto_hide_seconds: 10 });
    const talk = stage.talk({ name: "short", agent: "short" });
    await talk.say("Hello.");
    const { page } = await browser.open({ ...stage, path: `#/session/${talk.id}` });
    await page.locator("header .name").getByText("short").waitFor();
    await page.evaluate(COLLECT);
    // The service answers 409 to that, which the browser would report as an error.
    await stage.post(`/api/sessions/${talk.id}/compact`, {});
    await runOf(page)
      .getByText(/^Nothing was removed: [\d,]+ \/ 7,000 tokens$/)
      .first()
      .waitFor();
    expect(phasesOf(talk.id).at(-1)).toMatchObject({ phase: "failed" });
    const shown = await page.evaluate<Shown>("window.shown");
    expect(shown.names).toContain("Failed");
    expect(shown.icons).toContain("error");
  });

  test("what is done stays for as long as the settings say, or while somebody reads it", async () => {
    await setProgress({ detail: "normal", auto_hide_seconds: 1 });
    const talk = await filledTalk("hides");
    const { page } = await browser.open({ ...stage, path: `#/session/${talk.id}` });
    await page.getByRole("button", { name: "Compact now" }).click();
    await page
      .getByText(/^Compacted: [\d,]+ → [\d,]+ tokens, \d+ → \d+ messages, by \w+/)
      .waitFor();
    const message = runOf(page).locator(".message");
    await message.waitFor();
    await message.hover();
    await page.clock.install();
    await page.clock.runFor(5_000);
    expect(await runOf(page).count()).toBe(1);
    await page.mouse.move(5, 5);
    await runOf(page).waitFor({ state: "detached" });
  });

  test.each([
    ["a wide screen", 1280],
    ["a phone", 390],
  ])("on %s a run covers nothing, and nothing moves when it comes", async (_screen, width) => {
    await setProgress({ detail: "normal", auto_hide_seconds: 10 });
    const talk = await filledTalk(`apart-${width}`);
    const { page } = await browser.open({ ...stage, path: `#/session/${talk.id}`, width });
    await page.locator(".picture canvas").nth(1).waitFor();
    for (const top of [0, 200]) {
      await page.evaluate(`scrollTo(0, ${top})`);
      const before = await page.evaluate<Layout>(LAYOUT);
      expect(before.run).toBeUndefined();
      await stage.post(`/api/sessions/${talk.id}/${top === 0 ? "compact" : "reset"}`, {});
      await runOf(page).waitFor();
      const after = await page.evaluate<Layout>(LAYOUT);
      expect(after.place.height).toBe(before.place.height);
      expect(after.scrolled).toBe(before.scrolled);
      const { run } = after;
      if (run === undefined) throw new Error("The run has no box.");
      expect(after.content.length).toBeGreaterThan(4);
      const covered = after.content.filter(
        (box) => box.top < run.bottom && run.top < box.bottom && box.left < run.right,
      );
      expect(covered).toEqual([]);
      await runOf(page).getByRole("button", { name: "Hide" }).click();
      await runOf(page).waitFor({ state: "detached" });
    }
  });

  test.each([
    ["minimal", { list: 0, steps: 0 }],
    ["normal", { list: 9, steps: 0 }],
    ["detailed", { list: 9, steps: 1 }],
  ] as const)("at the level %s so much is said", async (detail, { list, steps }) => {
    await setProgress({ detail, auto_hide_seconds: 10 });
    const talk = await filledTalk(`level-${detail}`);
    const { page } = await browser.open({ ...stage, path: `#/session/${talk.id}` });
    await page.getByRole("button", { name: "Compact now" }).click();
    await runOf(page)
      .getByText(/^Context reduced to/)
      .first()
      .waitFor();
    expect(await runOf(page).locator("> ol > li").count()).toBe(list);
    expect(await runOf(page).locator("ol.steps").count()).toBe(steps);
  });

  test("nothing of it is shown where that was switched off, and the outcome is said all the same", async () => {
    await setProgress({ show: false });
    const talk = await filledTalk("quiet");
    const { page } = await browser.open({ ...stage, path: `#/session/${talk.id}` });
    await page.evaluate(COLLECT);
    await page.getByRole("button", { name: "Compact now" }).click();
    await page.getByText(/^Compacted: /).waitFor();
    expect(await page.evaluate<Shown>("window.shown")).toMatchObject({ messages: [], names: [] });
    await setProgress({ show: true });
  });
});

describe("what came of it", () => {
  let talk: Talk;
  beforeAll(async () => {
    await setProgress({ detail: "normal", auto_hide_seconds: 1, show: true });
    talk = await filledTalk("receipts");
    await talk.say(
      "The build broke: Error: ENOENT: no such file 'src/quay/berth.ts' (exit code 2). We decided to use port 4711.",
    );
    await talk.prose(600);
  });

  test("Report & Continue compacts, shows the receipt by class, and goes on", async () => {
    const { page } = await browser.open({ ...stage, path: `#/session/${talk.id}` });
    await page.getByRole("button", { name: "Report & Continue" }).click();
    const dialog = page.getByRole("dialog");
    const rows = dialog.getByRole("table").locator("tbody tr");
    await rows.first().waitFor();
    const classes = await rows.getByRole("rowheader").allInnerTexts();
    expect(classes.length).toBeGreaterThan(0);
    for (const row of await rows.all()) {
      const [facts = 0, verbatim = 0, behind = 0] = (
        await row.locator("td.number").allInnerTexts()
      ).map(Number);
      expect(facts).toBeGreaterThan(0);
      expect(verbatim + behind).toBe(facts);
    }
    await dialog.getByRole("heading", { name: "Summary for the model" }).waitFor();
    await dialog.getByRole("button", { name: "Continue" }).click();
    await dialog.waitFor({ state: "detached" });
  });

  test("the list of compactions holds it, its details the same receipt, and a way into the archive", async () => {
    const { page } = await browser.open({ ...stage, path: `#/session/${talk.id}/compactions` });
    const { items } = await stage.api<{ readonly items: readonly JsonObject[] }>(
      `/api/sessions/${talk.id}/receipts`,
    );
    const list = page.locator("section[aria-labelledby=compactions-title] li > details");
    await eventually(10_000, "all compactions", async () =>
      (await list.count()) === items.length ? true : undefined,
    );
    await list.first().locator("summary").click();
    await list.first().getByRole("table").waitFor();
    await list.first().getByText("Coherence").waitFor();
    const { tokensBefore, tokensAfter } = items.at(-1) ?? {};
    const figures = [tokensBefore, tokensAfter].map((count) =>
      Number(count).toLocaleString("en-US"),
    );
    expect(await textOf(list.first().locator("summary"))).toContain(figures.join(" to "));
    await page.getByRole("link", { name: "View Full Archive" }).first().click();
    await page.getByRole("heading", { name: "Behind handles" }).waitFor();
  });
});
