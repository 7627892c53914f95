/**
 * `npm run screenshots`: pictures of the dashboard for the documentation, of the demo with a fixed seed while it runs, into
 * docs/images. What they show is what the service says; only the stream of events is held for a moment, so that a
 * compaction that takes milliseconds can be photographed.
 */
import { stat } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Locator, Page } from "playwright-core";
import {
  holds,
  type PageOptions,
  startBrowser,
  type TestBrowser,
  type WatchedPage,
} from "./harness/browser.ts";
import { type Demo, startDemo } from "./harness/dashboard-stage.ts";
import type { JsonObject } from "./harness/json.ts";
import { eventually } from "./harness/waiting.ts";

const folder = fileURLToPath(new URL("../../../docs/images/", import.meta.url));
/** A page of documentation is read over slow lines, too. */
const mostBytes = 400_000;
const waitMs = 60_000;
const viewWidth = 1280;

interface Row {
  readonly id: string;
  readonly agent?: string;
  readonly turns: number;
}

interface Studio {
  readonly browser: TestBrowser;
  readonly demo: Demo;
  open(wish: Partial<PageOptions>): Promise<WatchedPage>;
  api<T>(path: string): Promise<T>;
  post(path: string, body: JsonObject): Promise<void>;
}

async function main(): Promise<void> {
  const [browser, demo] = await Promise.all([
    startBrowser(),
    startDemo({ turns: 110, sessions: 6, seed: 10, pace: 220 }),
  ]);
  const studio: Studio = {
    browser,
    demo,
    open: (wish) => browser.open({ url: demo.url, token: demo.token, scale: 1.5, ...wish }),
    api: async <T>(path: string) => {
      const headers = { authorization: `Bearer ${demo.token}` };
      return (await (await fetch(`${demo.url}${path}`, { headers })).json()) as T;
    },
    post: async (path, body) => {
      const headers = {
        authorization: `Bearer ${demo.token}`,
        "content-type": "application/json",
      };
      const request = { method: "POST", headers, body: JSON.stringify(body) };
      const { status } = await fetch(`${demo.url}${path}`, request);
      if (status !== 200) throw new Error(`${path} answered with status ${status}.`);
    },
  };
  try {
    await compaction(studio);
    await overview(studio);
    await session(studio);
    await diff(studio);
    await tasks(studio);
    await dark(studio);
    await narrow(studio);
    const trouble = await browser.leave();
    if (trouble.length > 0) throw new Error(trouble.join("\n"));
  } finally {
    await browser.close();
    await demo.close();
  }
}

/** The session that leads, as soon as it has so many turns. */
function leading({ api }: Studio, turns: number): Promise<Row> {
  return eventually(waitMs, `${turns} turns`, async () => {
    const { items } = await api<{ readonly items: readonly Row[] }>("/api/sessions");
    const [first] = items.toSorted((one, other) => other.turns - one.turns);
    return first !== undefined && first.turns >= turns ? first : undefined;
  });
}

/** The screen, from what stands on top of it down to the end of `last`. */
async function shoot(page: Page, name: string, last?: Locator): Promise<void> {
  await page.mouse.move(0, 0);
  await page.locator("[aria-busy=true]").waitFor({ state: "detached" });
  const box = await last?.boundingBox();
  if (box)
    await page.setViewportSize({ width: viewWidth, height: Math.ceil(box.y + box.height + 24) });
  await holds(page, "document.fonts.status === 'loaded'");
  await holds(
    page,
    "document.getAnimations().every(({ effect }) => effect.getTiming().iterations === Infinity)",
  );
  const path = `${folder}dashboard-${name}.png`;
  await page.screenshot({ path });
  const { size } = await stat(path);
  if (size > mostBytes) throw new Error(`${path} has ${size} bytes, more than ${mostBytes}.`);
  process.stdout.write(`${path} ${size} bytes\n`);
}

/** Passes the stream of events on, and holds it after the first event that says so, until `goOn()`. */
const HOLD_EVENTS = `{
  const send = fetch;
  const held = new Promise((resolve) => { window.goOn = resolve; });
  window.fetch = async (...given) => {
    const response = await send(...given);
    if (given[0] !== "/events" || response.body === null) return response;
    let rest = "";
    const decoder = new TextDecoder();
    const body = response.body.pipeThrough(new TransformStream({
      transform: async (chunk, out) => {
        rest += decoder.decode(chunk, { stream: true });
        const blocks = rest.split("\\n\\n");
        rest = blocks.pop();
        for (const block of blocks) {
          out.enqueue(new TextEncoder().encode(block + "\\n\\n"));
          if (window.holdAfter !== undefined && block.includes(window.holdAfter)) await held;
        }
      },
    }));
    return new Response(body, { status: response.status, headers: response.headers });
  };
}`;

async function compaction(studio: Studio): Promise<void> {
  const { id } = await leading(studio, 24);
  const { page } = await studio.open({ path: `#/session/${id}`, before: HOLD_EVENTS, height: 860 });
  await page.locator(".picture canvas").nth(1).waitFor();
  await page.evaluate(`window.holdAfter = '"strategy":"excerpt"'; undefined`);
  await page
    .getByRole("region", { name: "Compaction", exact: true })
    .getByText("Choosing the lines")
    .waitFor({ timeout: waitMs });
  await shoot(page, "compaction");
  await page.evaluate("window.goOn()");
  await page.close();
}

async function overview(studio: Studio): Promise<void> {
  await leading(studio, 60);
  const { page } = await studio.open({ height: 900 });
  await page.locator("tr[data-session]").nth(5).waitFor();
  const isVaried = async (): Promise<true | undefined> => {
    const states = await page.evaluate<readonly string[]>(
      `[...document.querySelectorAll("tr[data-session]")].map(({ dataset }) => dataset.state)`,
    );
    return ["warning", "p1", "normal"].every((state) => states.includes(state)) ? true : undefined;
  };
  // States pass: the picture is taken again when they did so meanwhile.
  await eventually(waitMs, "a picture with sessions of several states", async () => {
    if ((await isVaried()) === undefined) return undefined;
    await shoot(page, "overview", page.getByRole("region", { name: "Agents" }));
    return isVaried();
  });
}

/** A result that is in part behind a handle: what was said stands beside what the model sees. */
async function session(studio: Studio): Promise<void> {
  await studio.demo.played;
  const { id } = await leading(studio, 1);
  const { page } = await studio.open({ path: `#/session/${id}`, height: 1080 });
  const { items } = await studio.api<{ readonly items: readonly EditRow[] }>(
    `/api/sessions/${id}/edits`,
  );
  const { units } = await studio.api<{ readonly units: readonly UnitRow[] }>(
    `/api/sessions/${id}/window`,
  );
  const replaced = items.filter(({ action }) => action.kind === "replace").map(({ seq }) => seq);
  const index = units.findLastIndex(
    ({ edits }) => edits?.some((seq) => replaced.includes(seq)) === true,
  );
  await page.getByRole("listbox").focus();
  await page.keyboard.press("End");
  for (let step = units.length - 1; step > index; step--) await page.keyboard.press("ArrowUp");
  await page
    .getByRole("region", { name: "Chosen unit" })
    .getByText("What the model sees")
    .first()
    .waitFor();
  await page.getByRole("main").focus();
  await page.evaluate("scrollTo(0, 0)");
  await shoot(page, "session", page.getByRole("region", { name: "Units" }));
}

interface EditRow {
  readonly seq: number;
  readonly action: { readonly kind: string };
}
interface UnitRow {
  readonly edits?: readonly number[];
}

/** From before the last compaction to now. */
async function diff(studio: Studio): Promise<void> {
  const { id } = await leading(studio, 1);
  const { items } = await studio.api<{
    readonly items: readonly { readonly id: string; readonly label: string }[];
  }>(`/api/sessions/${id}/checkpoints`);
  const index = items.findLastIndex(({ label }) => /excerpt|duplicate/.test(label));
  const then = await studio.api<{ readonly tokens: number }>(
    `/api/sessions/${id}/window?at=${items[index]?.id}`,
  );
  const { page } = await studio.open({ path: `#/session/${id}/travel`, height: 1100 });
  await page.getByRole("slider", { name: "Point in time" }).focus();
  for (let step = items.length; step > index; step--) await page.keyboard.press("ArrowLeft");
  await page.getByText(`${then.tokens.toLocaleString("en-US")} tokens in`).waitFor();
  await page.locator("section[aria-labelledby=diff-title]").getByText("Gone").first().waitFor();
  await page.getByRole("main").focus();
  await page.evaluate(
    `scrollTo(0, scrollY + document.querySelector(".tabs").getBoundingClientRect().top - 16)`,
  );
  await shoot(page, "diff");
}

/** The queue, with a task that waits for the answer to a ticket. */
async function tasks(studio: Studio): Promise<void> {
  const { id: session } = await leading(studio, 1);
  const { post } = studio;
  await post("/api/tasks", {
    ...{ title: "Build the login form with validation", priority: 1, agent: "coder", session },
    ...{ status: "in_progress", progress: 60 },
  });
  await post("/api/tasks", { title: "Choose the colour of the signs", agent: "docs", session });
  const ticket = { type: "question", title: "Which green: the harbour's or the city's?" };
  await post("/api/tickets", { ...ticket, task: "T-2" });
  await post("/api/tasks/T-2", {
    ...{ status: "blocked_awaiting_feedback", note: "Waits for the answer to TK-1." },
  });
  const part = { title: "Complete: Build the login form with validation", parent: "T-1", session };
  await post("/api/tasks", { ...part, priority: 1, status: "partial", progress: 62 });
  const { page } = await studio.open({ path: "#/tasks" });
  await page.locator("[data-task]").nth(2).waitFor();
  await page.getByRole("main").focus();
  await shoot(page, "tasks", page.locator("main ul.panel"));
}

async function dark(studio: Studio): Promise<void> {
  const { id } = await leading(studio, 1);
  const { page } = await studio.open({ path: `#/session/${id}/history`, colorScheme: "dark" });
  await page.locator(".uplot").nth(1).waitFor();
  await shoot(page, "dark", page.locator("details.panel"));
}

async function narrow(studio: Studio): Promise<void> {
  const { id } = await leading(studio, 1);
  const { page } = await studio.open({
    path: `#/session/${id}`,
    width: 360,
    height: 800,
    scale: 2,
  });
  await page.locator(".picture canvas").nth(1).waitFor();
  await shoot(page, "360");
}

await main();
