/** A real Chromium, and pages in it that remember everything that should not have happened. */
import {
  type Browser,
  type BrowserContext,
  chromium,
  type Locator,
  type Page,
} from "playwright-core";
import { findChromium } from "./chromium.ts";
import { eventually } from "./waiting.ts";

export interface PageOptions {
  /** Of the service, without a slash at the end. */
  readonly url: string;
  /** The tab has it already; absent: it has none. */
  readonly token?: string;
  /** The route, such as `#/settings`. */
  readonly path?: string;
  readonly width?: number;
  readonly height?: number;
  readonly colorScheme?: "light" | "dark";
  readonly scale?: number;
  /** Runs in the page before anything of its own. */
  readonly before?: string;
}

/** A request as the page has sent it. */
interface SentRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
}

export interface WatchedPage {
  readonly page: Page;
  /** Errors of the console and of scripts, broken policies, requests to others, dialogs, windows: each a line. */
  readonly trouble: readonly string[];
  readonly requests: readonly SentRequest[];
  /** The browser itself writes of answers that are no success: those of a test that wants them are no trouble. */
  forgive(pattern: RegExp): void;
  /** To another route of the same page. */
  go(path: string): Promise<void>;
  close(): Promise<void>;
}

export interface TestBrowser {
  open(wish: PageOptions): Promise<WatchedPage>;
  /** Closes every page, and answers the trouble of all. */
  leave(): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** Nothing that weakens the browser's own walls: it must be no safer and no less safe than a user's. */
const ARGUMENTS = [
  "--no-sandbox",
  "--no-zygote",
  "--font-render-hinting=none",
  "--use-gl=angle",
  "--use-angle=swiftshader",
];
/** In the page, and so as text: the types of the DOM are none of this package. */
const TELL_OF_POLICY = `document.addEventListener("securitypolicyviolation", (event) =>
  console.error("policy broken: " + event.violatedDirective + " by " + event.blockedURI + " " + event.sample));`;
/** As if it had come in an address before: not again when the page has another one by now. */
const keepToken = (token: string): string =>
  `sessionStorage["plimsoll.token"] ??= ${JSON.stringify(token)};`;
/** What a step may take on a busy machine. */
const STEP_LIMIT_MS = 10_000;

export async function startBrowser(): Promise<TestBrowser> {
  const { executablePath, env } = await findChromium();
  const browser = await chromium.launch({
    executablePath,
    args: ARGUMENTS,
    env: { ...cleanEnvironment(), ...env },
  });
  const opened: WatchedPage[] = [];
  return {
    open: async (wish) => {
      const page = await openPage(browser, wish);
      opened.push(page);
      return page;
    },
    leave: async () => {
      const left = opened.splice(0);
      const trouble = left.flatMap((page) => page.trouble);
      for (const page of left) await page.close();
      return trouble;
    },
    close: () => browser.close(),
  };
}

function cleanEnvironment(): Record<string, string> {
  const { PATH = "", HOME = "/tmp" } = process.env;
  return { PATH, HOME };
}

async function openPage(browser: Browser, wish: PageOptions): Promise<WatchedPage> {
  const { url, token, path = "#/", width = 1280, height = 800 } = wish;
  const context = await browser.newContext({
    viewport: { width, height },
    deviceScaleFactor: wish.scale ?? 1,
    colorScheme: wish.colorScheme ?? "light",
    locale: "en-US",
    timezoneId: "UTC",
  });
  context.setDefaultTimeout(STEP_LIMIT_MS);
  const page = await context.newPage();
  const forgiven: RegExp[] = [];
  const found: string[] = [];
  const requests: SentRequest[] = [];
  watch(context, page, { origin: url, add: (line) => found.push(line), requests });
  const scripts = [TELL_OF_POLICY, token === undefined ? "" : keepToken(token), wish.before ?? ""];
  await page.addInitScript(scripts.join("\n"));
  const go = async (route: string): Promise<void> => {
    await page.goto(`${url}/${route}`);
  };
  await go(path);
  return {
    page,
    get trouble() {
      return found.filter((line) => !forgiven.some((pattern) => pattern.test(line)));
    },
    requests,
    forgive: (pattern) => void forgiven.push(pattern),
    go,
    close: () => context.close(),
  };
}

/** Awaits an expression of the page: `waitForFunction` would be refused by the page's own policy. */
export async function holds(page: Page, expression: string): Promise<void> {
  await eventually(STEP_LIMIT_MS, expression, async () =>
    (await page.evaluate<unknown>(expression)) === true ? true : undefined,
  );
}

/** Of an element, hidden parts too. */
export async function textOf(locator: Locator): Promise<string> {
  return ((await locator.textContent()) ?? "").trim();
}

interface Watching {
  readonly origin: string;
  readonly add: (line: string) => void;
  readonly requests: SentRequest[];
}

function watch(context: BrowserContext, page: Page, { origin, add, requests }: Watching): void {
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning")
      add(`console: ${message.text()} (${message.location().url})`);
  });
  page.on("pageerror", (error) => add(`script: ${error.message}`));
  page.on("crash", () => add("crash"));
  page.on("dialog", (dialog) => {
    add(`dialog: ${dialog.message()}`);
    dialog.dismiss().catch(() => undefined);
  });
  page.on("download", (download) => add(`download: ${download.url()}`));
  context.on("page", (other) => {
    if (other !== page) add(`window: ${other.url()}`);
  });
  page.on("request", (request) => {
    const { origin: asked, pathname, search } = new URL(request.url());
    if (asked === origin) requests.push({ method: request.method(), path: pathname + search });
    else add(`foreign: ${request.method()} ${request.url()}`);
  });
}
