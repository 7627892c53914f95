/** A real Chromium with pages that record everything that should not happen. */
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
  /** Address of the service, without a slash at the end. */
  readonly url: string;
  /** Token that the tab already has; absent: none. */
  readonly token?: string;
  /** The route, such as `#/settings`. */
  readonly path?: string;
  readonly width?: number;
  readonly height?: number;
  readonly colorScheme?: "light" | "dark";
  readonly scale?: number;
  /** Script that runs in the page before its own scripts. */
  readonly before?: string;
}

/** A request that the page sent. */
interface SentRequest {
  readonly method: string;
  /** Path with the query. */
  readonly path: string;
}

export interface WatchedPage {
  readonly page: Page;
  /** One line for each console error, script error, policy violation, request to another server, dialog or new window. */
  readonly trouble: readonly string[];
  readonly requests: readonly SentRequest[];
  /** The browser logs an error for each failed answer. This function ignores those that a test expects. */
  forgive(pattern: RegExp): void;
  /** Goes to another route of the same page. */
  go(path: string): Promise<void>;
  close(): Promise<void>;
}

export interface TestBrowser {
  open(wish: PageOptions): Promise<WatchedPage>;
  /** Closes every page, and returns the recorded problems of all of them. */
  leave(): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** No flag here changes how the browser protects a page, so the tests run under the same policies as a user's browser. */
const ARGUMENTS = ["--no-sandbox", "--no-zygote", "--font-render-hinting=none", "--disable-gpu"];
/** This script runs in the page. It is a string because this package has no DOM types. */
const TELL_OF_POLICY = `document.addEventListener("securitypolicyviolation", (event) =>
  console.error("policy broken: " + event.violatedDirective + " by " + event.blockedURI + " " + event.sample));`;
/** Stores the token as if it had come with an earlier address. Keeps another token if the page already has one. */
const keepToken = (token: string): string =>
  `sessionStorage["plimsoll.token"] ??= ${JSON.stringify(token)};`;
/** Time limit of a step, for a busy machine. */
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

/** Waits until an expression is true in the page. The page's policy does not allow `waitForFunction`. */
export async function holds(page: Page, expression: string): Promise<void> {
  await eventually(STEP_LIMIT_MS, expression, async () =>
    (await page.evaluate<unknown>(expression)) === true ? true : undefined,
  );
}

/** The text of an element, including hidden parts. */
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
