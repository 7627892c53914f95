/** A session of ten thousand units: how long until it is seen, and how smoothly its list is scrolled. */

import type { Browser, BrowserContext, Page } from "playwright-core";
import type { JsonObject } from "../packages/plimsoll/test/harness/json.ts";
import {
  OWNER_TOKEN,
  type Service,
  startService,
} from "../packages/plimsoll/test/harness/service.ts";
import { configOf } from "./conversation.ts";
import { watchLoad } from "./dashboard-load.ts";
import {
  countPainted,
  noteFrames,
  notePicture,
  type PageNotes,
  type Painted,
  type Scrolled,
  takeFrames,
} from "./dashboard-page.ts";
import type { WrittenSession } from "./dashboard-session.ts";
import { startChild, withFolder } from "./processes.ts";
import { atMost, figure, type Outcome, type Table } from "./report.ts";
import { median } from "./statistics.ts";

const units = 10_000;
/** Holds them all. */
const windowTokens = 4_000_000;
const firstPaintGoalMs = 1_000;
const frameGoalMs = 50;
const openLimitMs = 60_000;
const restMs = 1_500;
const viewport = { width: 1280, height: 900 };
/** Under which the dashboard keeps the token of a tab. */
const tokenKey = "plimsoll.token";

const ways = {
  /** The service has read nothing of it since it was started. */
  cold: "opened for the first time",
  warm: "opened again, by another browser",
  click: "clicked in the overview",
} as const;
type Way = keyof typeof ways;

const paces = {
  /** Three rows with each event. */
  reading: { name: "as one reads", delta: 100 },
  /** All rows on the screen are others with each event. */
  flick: { name: "from top to bottom", delta: 1_500 },
} as const;
type Pace = keyof typeof paces;

interface ScrollRound extends Scrolled {
  /** How far it went. */
  readonly pixels: number;
}

interface Scrolls {
  readonly floor: Record<Pace, ScrollRound[]>;
  readonly list: Record<Pace, ScrollRound[]>;
}

interface Results {
  readonly paints: Record<Way, Painted[]>;
  readonly scrolls: Scrolls;
}

export async function measureLarge(browser: Browser, isQuick: boolean): Promise<Outcome> {
  return withFolder(async (folder) => {
    const child = await startChild(new URL("./dashboard-session.ts", import.meta.url), {
      arguments: [folder, String(units), String(windowTokens)],
    });
    await child.stop();
    const written = child.greeting as WrittenSession;
    const results: Results = {
      paints: { cold: [], warm: [], click: [] },
      scrolls: {
        floor: { reading: [], flick: [] },
        list: { reading: [], flick: [] },
      },
    };
    const watch = watchLoad(new Map());
    for (let round = 0; round < (isQuick ? 2 : 5); round++)
      await measureRound(browser, { folder, written }, results);
    const others = watch.read().others;
    return outcomeOf(written, results, others);
  });
}

interface Large {
  readonly folder: string;
  readonly written: WrittenSession;
}

async function measureRound(
  browser: Browser,
  { folder, written }: Large,
  { paints, scrolls }: Results,
): Promise<void> {
  // Nothing is ever sent there.
  const provider = configOf({ large: windowTokens }).providers?.["bench"] as JsonObject;
  const service = await startService({
    upstreams: {},
    data: folder,
    config: { providers: { bench: { ...provider, baseUrl: "http://127.0.0.1:9" } } },
  });
  try {
    for (const way of ["cold", "warm", "click"] as const)
      await withPage(browser, async (page) => {
        // What a start, or a page before this one, has left to do is none of its time.
        await page.waitForTimeout(restMs);
        paints[way].push(await firstPaint(page, service, { session: written.session, way }));
        if (way !== "click") return;
        await scrollAll(page, "[role=listbox]", scrolls.list);
      });
    await withPage(browser, async (page) => {
      await page.setContent(floorPage);
      await scrollAll(page, "#floor", scrolls.floor);
    });
  } finally {
    await service.stop();
  }
}

/** A browser context of its own: no cache, and nothing that was left by another. */
async function withPage(browser: Browser, work: (page: Page) => Promise<void>): Promise<void> {
  const context: BrowserContext = await browser.newContext({ viewport });
  context.setDefaultTimeout(openLimitMs);
  try {
    await work(await context.newPage());
  } finally {
    await context.close();
  }
}

async function firstPaint(
  page: Page,
  { url }: Service,
  { session, way }: { readonly session: string; readonly way: Way },
): Promise<Painted> {
  const path = `#/session/${session}`;
  await page.addInitScript(keepToken, { key: tokenKey, token: OWNER_TOKEN });
  await page.addInitScript(notePicture);
  await page.goto(way === "click" ? `${url}/` : `${url}/${path}`);
  if (way === "click") await page.click(`a[href="${path}"]`);
  // By the clock: asking with every frame would make frames.
  await page
    .waitForFunction(() => (globalThis as unknown as PageNotes).benchPainted, undefined, {
      polling: 100,
    })
    .catch(async (cause: unknown) => {
      const said = ((await page.textContent("body")) ?? "").replaceAll(/\s+/g, " ").slice(0, 300);
      throw new Error(`The page shows no picture, but: ${said}`, { cause });
    });
  const painted = await page.evaluate(
    () => (globalThis as unknown as PageNotes).benchPainted as Painted,
  );
  if ((await page.evaluate(countPainted)) === 0) throw new Error("The picture is empty.");
  return painted;
}

/** Runs in the page. */
function keepToken({ key, token }: { readonly key: string; readonly token: string }): void {
  const { sessionStorage } = globalThis as unknown as {
    readonly sessionStorage: { setItem(key: string, value: string): void };
  };
  sessionStorage.setItem(key, token);
}

/** As high as the list, and nothing in it that has to be thought about. */
const floorPage = `<!doctype html><div id="floor" style="height:416px;width:500px;overflow-y:auto"><div style="height:${units * 32}px;background:repeating-linear-gradient(#fff 0 31px,#ccc 31px 32px)"></div></div>`;

async function scrollAll(
  page: Page,
  selector: string,
  rounds: Record<Pace, ScrollRound[]>,
): Promise<void> {
  for (const pace of ["reading", "flick"] as const)
    rounds[pace].push(await scroll(page, selector, paces[pace].delta));
}

const wheelEvents = 250;

async function scroll(page: Page, selector: string, delta: number): Promise<ScrollRound> {
  const list = page.locator(selector);
  await list.evaluate((element: { scrollTop: number }) => {
    element.scrollTop = 0;
  });
  await list.hover();
  await page.waitForTimeout(500);
  await page.evaluate(noteFrames);
  for (let count = 0; count < wheelEvents; count++) await page.mouse.wheel(0, delta);
  const scrolled = await page.evaluate(takeFrames);
  const pixels = await list.evaluate((element: { scrollTop: number }) => element.scrollTop);
  return { ...scrolled, pixels };
}

function outcomeOf(written: WrittenSession, { paints, scrolls }: Results, others: number): Outcome {
  const busy = `others used ${figure(others * 100)} % of the processors`;
  return {
    tables: [
      paintTable(
        `First picture of a session of ${figure(units)} units (${figure(written.messages)} messages, ${figure(written.tokens)} tokens), ms; ${busy}`,
        paints,
      ),
      scrollTable(`Frames while its list was scrolled, ms; ${busy}`, scrolls),
    ],
    checks: [
      ...(["cold", "warm", "click"] as const).map((way) =>
        atMost(
          `first picture, ${ways[way]}`,
          median(paints[way].map(untilShown)),
          firstPaintGoalMs,
          "ms",
        ),
      ),
      ...(["reading", "flick"] as const).map((pace) =>
        atMost(
          `longest frame, scrolled ${paces[pace].name}`,
          Math.max(...scrolls.list[pace].map(longestOf)),
          frameGoalMs,
          "ms",
        ),
      ),
    ],
  };
}

function untilShown({ shown, clicked }: Painted): number {
  return shown - clicked;
}

function paintTable(title: string, paints: Results["paints"]): Table {
  return {
    title,
    columns: ["", "median", "longest", "first content", "asked", "answered", "received"],
    rows: (["cold", "warm", "click"] as const).map((way) => {
      const all = paints[way];
      const middle = (read: (painted: Painted) => number): string =>
        figure(median(all.map((painted) => read(painted) - painted.clicked)));
      return [
        ways[way],
        figure(median(all.map(untilShown))),
        figure(Math.max(...all.map(untilShown))),
        way === "click" ? "" : middle(({ firstContent }) => firstContent),
        middle(({ asked }) => asked),
        middle(({ answered }) => answered),
        middle(({ received }) => received),
      ];
    }),
  };
}

function scrollTable(title: string, { floor, list }: Scrolls): Table {
  const row = (name: string, rounds: readonly ScrollRound[]): readonly string[] => {
    const frames = rounds.flatMap((round) => round.frames);
    const over = frames.filter((frame) => frame > frameGoalMs);
    return [
      name,
      figure(median(rounds.map(({ pixels }) => pixels))),
      figure(frames.length),
      figure(median(frames)),
      String(over.length),
      figure(median(rounds.map(longestOf))),
      figure(Math.max(...rounds.map(longestOf))),
      String(rounds.flatMap(({ longTasks }) => longTasks).length),
    ];
  };
  return {
    title,
    columns: [
      "",
      "pixels",
      "frames",
      "median",
      "over 50 ms",
      "longest, middle round",
      "longest",
      "long tasks",
    ],
    rows: (["reading", "flick"] as const).flatMap((pace) => [
      row(`list, ${paces[pace].name}`, list[pace]),
      row(`a blank box as high, ${paces[pace].name}`, floor[pace]),
    ]),
  };
}

function longestOf({ frames }: Scrolled): number {
  return Math.max(...frames);
}
