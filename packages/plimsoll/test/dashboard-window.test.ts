/** What fills the window, in a real browser: the picture, the list of the same units, one unit with its original, and the history. */
import type { Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { startBrowser, type TestBrowser, textOf } from "./harness/browser.ts";
import { type Demo, startDemo } from "./harness/dashboard-stage.ts";
import { eventually } from "./harness/waiting.ts";

/** As the interface page has it, as far as these tests rely on it. */
interface Unit {
  readonly segments: readonly { readonly kind: string; readonly tokens: number }[];
  readonly tokens: number;
  readonly first?: number;
  readonly last?: number;
  readonly edits?: readonly number[];
  readonly handle?: string;
  readonly begins: string;
}
interface Picture {
  readonly window: number;
  readonly limit: number;
  readonly tokens: number;
  readonly cachedTokens: number;
  readonly units: readonly Unit[];
}

let browser: TestBrowser;
let demo: Demo;
let session: string;
let picture: Picture;

const api = async <T>(path: string): Promise<T> => {
  const headers = { authorization: `Bearer ${demo.token}` };
  return (await (await fetch(`${demo.url}${path}`, { headers })).json()) as T;
};

beforeAll(async () => {
  [browser, demo] = await Promise.all([
    startBrowser(),
    startDemo({ turns: 41, sessions: 1, seed: 1 }),
  ]);
  await demo.played;
  const { items } = await api<{ readonly items: readonly { readonly id: string }[] }>(
    "/api/sessions",
  );
  session = items[0]?.id ?? "";
  picture = await api(`/api/sessions/${session}/window`);
});
afterEach(async () => {
  expect(await browser.leave()).toEqual([]);
});
afterAll(async () => {
  await browser.close();
  await demo.close();
});

const open = (tab = "window"): Promise<Page> =>
  browser.open({ ...demo, path: `#/session/${session}/${tab}` }).then(({ page }) => page);
const count = (tokens: number): string => tokens.toLocaleString("en-US");
const chosen = (page: Page): Locator => page.getByRole("region", { name: "Chosen unit" });

/** Of the drawing, in CSS pixels: rows of 22 with 4 between them, 6 above the first. */
interface Sheet {
  readonly width: number;
  readonly height: number;
  /** How many pixels have each colour, as `#rrggbb`. */
  readonly colours: Readonly<Record<string, number>>;
}

/** Of a `canvas`, so that reading leaves the page's own drawing as fast as it is. */
const COPY = `(() => {
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  return copy;
})()`;

async function sheetOf(page: Page, index = 0): Promise<Sheet> {
  await page.locator(".picture canvas").nth(1).waitFor();
  return page.evaluate<Sheet>(`(() => {
    const canvas = document.querySelectorAll(".picture canvas")[${index}];
    const { width, height } = canvas;
    const { data } = ${COPY}.getImageData(0, 0, width, height);
    const colours = {};
    for (let at = 0; at < data.length; at += 4) {
      if (data[at + 3] === 0) continue;
      const colour = "#" + [0, 1, 2].map((part) => data[at + part].toString(16).padStart(2, "0")).join("");
      colours[colour] = (colours[colour] ?? 0) + 1;
    }
    return { width, height, colours };
  })()`);
}

function placeOf(
  { width, height }: Sheet,
  token: number,
): { readonly x: number; readonly y: number } {
  const rows = Math.round((height - 12 + 4) / 26);
  const along = (token / Math.max(picture.window, picture.limit, picture.tokens)) * rows;
  const row = Math.min(rows - 1, Math.floor(along));
  return { x: (along - row) * width, y: 6 + row * 26 + 11 };
}

const startOf = (index: number): number =>
  picture.units.slice(0, index).reduce((sum, { tokens }) => sum + tokens, 0);

/** A quarter of the way to white: so is what was read from the cache. */
const shaded = (colour: string): string =>
  `#${(colour.match(/[0-9a-f]{2}/g) ?? [])
    .map((part) => Math.round(Number.parseInt(part, 16) * 0.75 + 255 * 0.25))
    .map((part) => part.toString(16).padStart(2, "0"))
    .join("")}`;

const isNear = (one: string, other: string): boolean =>
  [1, 3, 5].every(
    (at) =>
      Math.abs(
        Number.parseInt(one.slice(at, at + 2), 16) - Number.parseInt(other.slice(at, at + 2), 16),
      ) <= 2,
  );

describe("the window as a picture", () => {
  test("every kind that fills it is there in its colour, and what was cached is shaded", async () => {
    const page = await open();
    const { colours } = await eventually(10_000, "a drawing", async () => {
      const sheet = await sheetOf(page);
      return Object.keys(sheet.colours).length > 3 ? sheet : undefined;
    });
    const areaOf = (colour: string): number =>
      Object.entries(colours).reduce(
        (sum, [one, pixels]) => sum + (isNear(one, colour) ? pixels : 0),
        0,
      );
    const kinds = new Set(
      picture.units.flatMap(({ segments }) => segments.map(({ kind }) => kind)),
    );
    expect(kinds.size).toBeGreaterThan(4);
    for (const kind of kinds) {
      const colour = await page.evaluate<string>(
        `getComputedStyle(document.documentElement).getPropertyValue("--kind-${kind}").trim()`,
      );
      expect(areaOf(colour) + areaOf(shaded(colour)), kind).toBeGreaterThan(20);
    }
    const tools = await page.evaluate<string>(
      `getComputedStyle(document.documentElement).getPropertyValue("--kind-tools").trim()`,
    );
    // They stand near the beginning: what is cached begins with them.
    expect(picture.cachedTokens).toBeGreaterThan(startOf(2));
    expect(areaOf(shaded(tools))).toBeGreaterThan(1_000);
    expect(areaOf(tools)).toBeLessThan(200);
  });

  test("the load line crosses it exactly where the limit falls", async () => {
    const page = await open();
    const sheet = await sheetOf(page);
    const { x, y } = placeOf(sheet, picture.limit);
    const columnsOfInk = `(() => {
      const canvas = document.querySelectorAll(".picture canvas")[0];
      const { data, width } = ${COPY}.getImageData(${Math.round(x) - 6}, ${y - 8}, 12, 16);
      return Array.from({ length: width }, (_, column) =>
        Array.from({ length: 16 }, (_, row) => data[(row * width + column) * 4] < 60).every(Boolean));
    })()`;
    const columns = await page.evaluate<readonly boolean[]>(columnsOfInk);
    expect(columns.slice(5, 7)).toContain(true);
    expect(columns.filter(Boolean).length).toBeLessThan(5);
    await page
      .getByRole("img", { name: `of ${count(picture.limit)} tokens up to the limit` })
      .first()
      .waitFor();
  });

  test("hovering tells what stands there, and a click chooses the same unit in the list", async () => {
    const page = await open();
    const sheet = await sheetOf(page);
    const index = picture.units.findIndex(
      ({ first, tokens }) => first !== undefined && tokens > 400,
    );
    const unit = picture.units[index];
    const { x, y } = placeOf(sheet, startOf(index) + (unit?.tokens ?? 0) / 2);
    const canvas = page.locator(".picture canvas").nth(1);
    await canvas.hover({ position: { x, y } });
    const tip = page.locator(".tip");
    await tip.getByText(`${count(unit?.tokens ?? 0)} tokens`).waitFor();
    await canvas.click({ position: { x, y } });
    await page.locator(`#unit-${index}[aria-selected=true]`).waitFor();
    await chosen(page)
      .getByText(`unit ${index + 1},`)
      .waitFor();
    expect(Object.keys((await sheetOf(page, 1)).colours).length).toBeGreaterThan(0);
  });

  test("pointing at a kind lets the others stand back, and pressing it filters the list", async () => {
    const page = await open();
    const before = (await sheetOf(page)).colours;
    const legend = page.getByRole("list", { name: "Tokens by kind" });
    await legend.getByRole("button", { name: /^User/ }).click();
    const passing = picture.units.filter(({ segments }) =>
      segments.some(({ kind }) => kind === "user"),
    );
    await page.getByText(`${passing.length} of ${picture.units.length} units`).waitFor();
    expect((await sheetOf(page)).colours).not.toEqual(before);
    await page.getByLabel("Filter units by kind").selectOption({ label: "All kinds" });
    await page.getByText(`${picture.units.length} units`, { exact: true }).waitFor();
  });

  test("the list finds units by their words, and only rows on the screen are made", async () => {
    const page = await open();
    await page.getByText(`${picture.units.length} units`, { exact: true }).waitFor();
    expect(await page.getByRole("option").count()).toBeLessThan(picture.units.length);
    await page.getByLabel("Filter units by words").fill("System prompt");
    await page.getByText(`1 of ${picture.units.length} units`).waitFor();
    await page.getByLabel("Filter units by words").fill("no unit says this");
    await page.getByText("No unit matches this filter.").waitFor();
  });
});

describe("one unit", () => {
  const edited = (): number =>
    picture.units.findIndex(
      ({ edits, first, last, handle }) =>
        edits !== undefined && first !== undefined && first !== last && handle !== undefined,
    );

  test("its original stands beside what the model sees, with the edits between them", async () => {
    const page = await open();
    const list = page.getByRole("listbox");
    await list.focus();
    for (let step = 0; step <= edited(); step++) await page.keyboard.press("ArrowDown");
    await page.locator(`#unit-${edited()}[aria-selected=true]`).waitFor();
    const details = chosen(page);
    await details.getByRole("heading", { name: "Edits" }).waitFor();
    const [edit] = picture.units[edited()]?.edits ?? [];
    await details.getByText(`Edit ${edit}`, { exact: true }).first().waitFor();
    await details.getByRole("button", { name: "Undo" }).first().waitFor();
    const messages = details.locator("ol > li");
    await messages.first().waitFor();
    const sides = details.getByText("What the model sees", { exact: true });
    const takenOut = details.getByText("The model no longer sees this message. The original:");
    expect((await sides.count()) + (await takenOut.count())).toBeGreaterThan(0);
  });

  test("a result behind a handle shows what was said and what is left of it, and opens whole", async () => {
    const page = await open();
    const { items: edits } = await api<{
      readonly items: readonly {
        readonly seq: number;
        readonly action: { readonly kind: string; readonly handle?: string };
      }[];
    }>(`/api/sessions/${session}/edits`);
    const replaced = new Set(
      edits
        .filter(({ action }) => action.kind === "replace" && action.handle !== undefined)
        .map(({ seq }) => seq),
    );
    const index = picture.units.findIndex((unit) => unit.edits?.some((seq) => replaced.has(seq)));
    expect(index).toBeGreaterThan(-1);
    const list = page.getByRole("listbox");
    await list.focus();
    await page.keyboard.press("Home");
    for (let step = 0; step < index; step++) await page.keyboard.press("ArrowDown");
    const details = chosen(page);
    await details.getByRole("heading", { name: "Original" }).first().waitFor();
    const [original = "", seen = ""] = await Promise.all(
      ["Original", "What the model sees"].map((name) =>
        details
          .locator("div:has(> h4)", { hasText: name })
          .last()
          .locator("pre")
          .allInnerTexts()
          .then((texts) => texts.join("\n")),
      ),
    );
    expect(seen).not.toBe(original);
    expect(seen.length).toBeGreaterThan(0);
    await details.getByRole("button", { name: "Open in archive" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Content of the archive").waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
  });

  test("what the service refuses to undo is refused in its own words", async () => {
    const opened = await browser.open({ ...demo, path: `#/session/${session}/window` });
    opened.forgive(/status of 409/);
    const { page } = opened;
    await page.getByRole("button", { name: "Undo" }).first().click();
    const said = page.locator(".notice .words");
    await said.waitFor();
    expect(await textOf(said)).toMatch(/^[A-Z].*\.$/s);
  });
});

describe("the history of turns", () => {
  test("a chart is drawn of them, with its limit, compactions, cache and money", async () => {
    const page = await open("history");
    const charts = page.locator(".uplot canvas");
    await charts.nth(1).waitFor();
    const drawn = await page.evaluate<
      readonly number[]
    >(`[...document.querySelectorAll(".uplot canvas")].map((canvas) => {
      const { data } = ${COPY}.getImageData(0, 0, canvas.width, canvas.height);
      let painted = 0;
      for (let at = 3; at < data.length; at += 4) if (data[at] > 0) painted += 1;
      return painted / (canvas.width * canvas.height);
    })`);
    for (const share of drawn) expect(share).toBeGreaterThan(0.02);
    const { items: receipts } = await api<{ readonly items: readonly unknown[] }>(
      `/api/sessions/${session}/receipts`,
    );
    await page
      .locator("dl > div", { hasText: "Compactions" })
      .getByText(String(receipts.length), { exact: true })
      .waitFor();
    const plot = page.locator(".uplot .u-over").first();
    await plot.hover({ position: { x: 3, y: 40 } });
    await page.getByText(/^Turn [12]$/).waitFor();
  });

  test("the same figures stand in a table", async () => {
    const page = await open("history");
    await page.getByText("The same as a table").click();
    const rows = page.getByRole("region", { name: "Turns as a table" }).locator("tbody tr");
    await rows.first().waitFor();
    expect(await rows.count()).toBe(41);
    const { items } = await api<{
      readonly items: readonly {
        readonly outcome: string;
        readonly measurement: { readonly total: number };
      }[];
    }>(`/api/sessions/${session}/turns`);
    const newest = items.at(-1);
    const text = await textOf(rows.first());
    expect(text).toContain(newest?.outcome);
    expect(text).toContain(count(newest?.measurement.total ?? 0));
  });

  test("without Plimsoll it would have been far more", async () => {
    const page = await open("history");
    const snapshot = `document.querySelector(".uplot canvas").toDataURL().length`;
    await page.locator(".uplot canvas").first().waitFor();
    const before = await page.evaluate(snapshot);
    await page.getByLabel("Without Plimsoll").check();
    await eventually(10_000, "another chart", async () =>
      (await page.evaluate(snapshot)) === before ? undefined : true,
    );
    await page.getByText(/[\d,]+ without Plimsoll$/).waitFor();
  });
});
