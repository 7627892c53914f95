/** The dashboard for everybody: by keyboard alone, by ear (axe), on a narrow screen, in the light and in the dark. */
import { source as axe } from "axe-core";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { holds, startBrowser, type TestBrowser } from "./harness/browser.ts";
import { type Demo, startDemo } from "./harness/dashboard-stage.ts";

let browser: TestBrowser;
let demo: Demo;
let session: string;

beforeAll(async () => {
  [browser, demo] = await Promise.all([
    startBrowser(),
    startDemo({ turns: 30, sessions: 2, seed: 1 }),
  ]);
  await demo.played;
  const headers = { authorization: `Bearer ${demo.token}` };
  const { items } = (await (await fetch(`${demo.url}/api/sessions`, { headers })).json()) as {
    readonly items: readonly { readonly id: string; readonly turns: number }[];
  };
  session = items.toSorted((one, other) => other.turns - one.turns)[0]?.id ?? "";
});
afterAll(async () => {
  await browser.close();
  await demo.close();
});

/** Every page and every tab, each with what shows that it is there. */
interface Place {
  readonly path: string;
  arrive(page: Page): Promise<void>;
}
const places: Readonly<Record<string, () => Place>> = {
  overview: () => ({
    path: "#/",
    arrive: (page) => page.locator("tr[data-session]").first().waitFor(),
  }),
  errors: () => ({
    path: "#/errors",
    arrive: (page) => page.locator("main .panel").first().waitFor(),
  }),
  settings: () => ({
    path: "#/settings",
    arrive: (page) => page.getByLabel("Default limit").waitFor(),
  }),
  window: () => ({
    path: `#/session/${session}/window`,
    arrive: async (page) => {
      await page
        .getByRole("listbox")
        .getByRole("option", { name: /Results/ })
        .first()
        .click();
      await page.getByRole("region", { name: "Chosen unit" }).locator("ol > li").first().waitFor();
    },
  }),
  history: () => ({
    path: `#/session/${session}/history`,
    arrive: async (page) => {
      await page.locator(".uplot").nth(1).waitFor();
      await page.getByText("The same as a table").click();
      await page.getByRole("table").waitFor();
    },
  }),
  compactions: () => ({
    path: `#/session/${session}/compactions`,
    arrive: async (page) => {
      await page.locator("summary").first().click();
      await page.getByRole("table").waitFor();
    },
  }),
  travel: () => ({
    path: `#/session/${session}/travel`,
    arrive: async (page) => {
      await page
        .locator("section[aria-labelledby=diff-title] select")
        .first()
        .selectOption({ index: 0 });
      await page.locator(".sides").first().waitFor();
    },
  }),
  archive: () => ({
    path: `#/session/${session}/archive`,
    arrive: async (page) => {
      await page.getByRole("searchbox").fill("vessel quay");
      await page.keyboard.press("Enter");
      await page.locator("mark").first().waitFor();
    },
  }),
  "a dialog": () => ({
    path: `#/session/${session}`,
    arrive: async (page) => {
      await page.getByRole("button", { name: "Reset Agent Chat" }).click();
      await page.getByRole("dialog").waitFor();
    },
  }),
};
const names = Object.keys(places);

async function visit(
  name: string,
  look: { readonly width?: number; readonly colorScheme?: "light" | "dark" } = {},
): Promise<Page> {
  const place = places[name]?.();
  if (place === undefined) throw new Error(`There is no place ${name}.`);
  const { page } = await browser.open({ ...demo, ...look, path: place.path });
  await place.arrive(page);
  // What is on its way stands back, and is pale on purpose.
  await page.locator("[aria-busy=true]").waitFor({ state: "detached" });
  return page;
}

interface Violation {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

async function violationsOf(page: Page): Promise<readonly string[]> {
  await page.evaluate(`${axe}; undefined`);
  const violations = await page.evaluate<readonly Violation[]>(
    `axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => violations)`,
  );
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
    );
}

/** What is focused, and whether that can be seen. */
interface Focused {
  readonly name: string;
  readonly tag: string;
  readonly isSeen: boolean;
}
const focused = `(() => {
  const element = document.activeElement;
  const shown = element.matches("input.visually-hidden") ? element.closest("label") : element;
  const { outlineStyle, outlineWidth } = getComputedStyle(shown);
  return { name: (element.getAttribute("aria-label") ?? element.textContent).trim(), tag: element.tagName,
    isSeen: outlineStyle !== "none" && parseFloat(outlineWidth) >= 2 };
})()`;
const focusOf = (page: Page): Promise<Focused> => page.evaluate<Focused>(focused);

describe.each(names)("%s", (name) => {
  let page: Page;
  beforeAll(async () => {
    page = await visit(name);
  });
  afterAll(async () => {
    expect(await browser.leave()).toEqual([]);
  });

  test("axe finds nothing serious, in the light and in the dark", async () => {
    expect(await violationsOf(page)).toEqual([]);
    await page.emulateMedia({ colorScheme: "dark" });
    expect(await violationsOf(page)).toEqual([]);
  });

  test("it has its title, one heading of the first level, and its landmarks", async () => {
    expect(await page.title()).toMatch(/^(Overview|Errors|Settings|Session) · Plimsoll$/);
    expect(await page.locator("h1").count()).toBe(1);
    expect(await page.locator("main").count()).toBe(1);
    expect(await page.locator("body header nav").count()).toBe(1);
  });

  test("whatever is focused is seen", async () => {
    if (name !== "a dialog") await page.getByRole("main").focus();
    for (let step = 0; step < 24; step++) {
      await page.keyboard.press("Tab");
      const at = await focusOf(page);
      if (at.tag !== "BODY") expect(at.isSeen, at.name).toBe(true);
    }
  });

  test("it is not wider than a screen of 360 pixels", async () => {
    await page.setViewportSize({ width: 360, height: 740 });
    const widths = `[document.documentElement.scrollWidth, document.body.scrollWidth]`;
    expect(await page.evaluate(widths)).toEqual([360, 360]);
    const beyond = `[...document.querySelectorAll("button, h1, h2, .panel, .notice, input")]
      .filter((one) => one.getBoundingClientRect().right > 360.5).map((one) => one.outerHTML)`;
    expect(await page.evaluate(beyond)).toEqual([]);
    if (name === "overview" || name === "window") expect(await violationsOf(page)).toEqual([]);
  });
});

describe("by keyboard alone", () => {
  afterEach(async () => {
    expect(await browser.leave()).toEqual([]);
  });

  /** Tabs on until a thing of that name is focused; everything on the way must show its focus. */
  async function tabTo(page: Page, name: string | RegExp): Promise<void> {
    const isIt = (one: string): boolean =>
      typeof name === "string" ? one === name : name.test(one);
    const passed: string[] = [];
    for (let step = 0; step < 120; step++) {
      await page.keyboard.press("Tab");
      const at = await focusOf(page);
      passed.push(at.name.slice(0, 40));
      if (at.tag !== "BODY") expect(at.isSeen, at.name).toBe(true);
      if (isIt(at.name)) return;
    }
    throw new Error(`No ${name} was reached, but ${passed.join(" | ")}`);
  }

  test("from the overview to a unit, through the tabs, and into a dialog and out of it", async () => {
    const page = await visit("overview");
    await page.keyboard.press("Tab");
    expect((await focusOf(page)).name).toBe("Skip to content");
    await tabTo(page, /^(coder|reviewer)$/);
    await page.keyboard.press("Enter");
    await page.getByRole("listbox").waitFor();
    await holds(page, `document.activeElement.id === "main"`);
    await tabTo(page, "Units in the order in which the model sees them");
    for (let step = 0; step < 3; step++) await page.keyboard.press("ArrowDown");
    await page.getByRole("region", { name: "Chosen unit" }).getByText("unit 3").waitFor();
    await holds(page, `document.activeElement.getAttribute("aria-activedescendant") === "unit-2"`);
    await page.keyboard.press("End");
    const last = page.locator("[role=option][aria-selected=true]");
    await last.waitFor();
    expect(await last.getAttribute("aria-posinset")).toBe(await last.getAttribute("aria-setsize"));
    await page.getByRole("main").focus();
    await tabTo(page, "Reset Agent Chat");
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    await holds(page, `document.querySelector("dialog[open]").contains(document.activeElement)`);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    expect((await focusOf(page)).name).toBe("Reset Agent Chat");
    for (const tab of ["History", "Compactions", "Time travel", "Archive"]) {
      await tabTo(page, tab);
      await page.keyboard.press("Enter");
      await page
        .getByRole("navigation", { name: "Views of this session" })
        .locator("[aria-current=page]", { hasText: tab })
        .waitFor();
      expect((await focusOf(page)).name).toBe(tab);
    }
  });

  test("the keys of the picture choose units too", async () => {
    const page = await visit("window");
    await page.locator(".picture canvas").nth(1).focus();
    await page.keyboard.press("Home");
    await page.locator("#unit-0[aria-selected=true]").waitFor();
    await page.keyboard.press("ArrowRight");
    await page.locator("#unit-1[aria-selected=true]").waitFor();
    await page.keyboard.press("ArrowDown");
    await page.locator("#unit-1[aria-selected=false]").waitFor({ state: "attached" });
  });
});

describe("light and dark", () => {
  afterEach(async () => {
    expect(await browser.leave()).toEqual([]);
  });

  const background = "getComputedStyle(document.documentElement).backgroundColor";
  const inks = { light: "rgb(245, 247, 249)", dark: "rgb(16, 22, 28)" } as const;

  test("where a token is asked for axe finds nothing serious either", async () => {
    const { page } = await browser.open({ url: demo.url, width: 360 });
    await page.getByLabel("Token of the service").waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.emulateMedia({ colorScheme: "dark" });
    expect(await violationsOf(page)).toEqual([]);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(360);
  });

  test.each(["light", "dark"] as const)("as the system has it: %s", async (colorScheme) => {
    const page = await visit("overview", { colorScheme });
    expect(await page.evaluate(background)).toBe(inks[colorScheme]);
  });

  test("somebody's own choice holds against the system, also after a visit, and the picture follows", async () => {
    const page = await visit("window", { colorScheme: "light" });
    const drawn = `document.querySelector(".picture canvas").toDataURL()`;
    const before = await page.evaluate(drawn);
    await page.getByRole("radio", { name: "Dark" }).focus();
    await page.keyboard.press("Space");
    await holds(page, `${background} === "${inks.dark}"`);
    expect(await page.evaluate(drawn)).not.toBe(before);
    await page.reload();
    await page.getByRole("listbox").waitFor();
    expect(await page.evaluate(background)).toBe(inks.dark);
    await page.getByRole("radio", { name: "Same as the system" }).check({ force: true });
    await holds(page, `${background} === "${inks.light}"`);
    await page.emulateMedia({ colorScheme: "dark" });
    await holds(page, `${background} === "${inks.dark}"`);
  });

  test("nothing moves for those who do not want it", async () => {
    const { page } = await browser.open(demo);
    await page.emulateMedia({ reducedMotion: "reduce" });
    await page.locator("tr[data-session] .bar .fill").first().waitFor();
    const seconds = await page.evaluate<number>(
      `Math.max(...[...document.querySelectorAll("*")].flatMap((element) => {
        const { transitionDuration, animationDuration } = getComputedStyle(element);
        return [transitionDuration, animationDuration].flatMap((text) => text.split(",").map(parseFloat));
      }))`,
    );
    expect(seconds).toBeLessThan(0.01);
  });
});
