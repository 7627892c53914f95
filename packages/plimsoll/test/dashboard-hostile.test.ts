/** Threat T17 in a real browser: texts that try to be more than text, in every place where somebody else's words are shown. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { startBrowser, type TestBrowser, type WatchedPage } from "./harness/browser.ts";
import { isObject, type JsonObject } from "./harness/json.ts";
import { modelHeaders } from "./harness/raw-client.ts";
import { OWNER_TOKEN, type Service, startService } from "./harness/service.ts";
import { eventually } from "./harness/waiting.ts";
import { megabyteLine, xssCorpus } from "./xss-corpus.ts";

let browser: TestBrowser;
let service: Service;
let upstream: Server;
let canary: Server;
let corpus: readonly string[];
/** What asked for the canary. */
const hits: string[] = [];

async function listening(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A provider that takes everything: real ones would refuse such tool names. Fails with the words that it was asked to fail with. */
function careless(): Server {
  return createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as JsonObject;
      const metadata = isObject(body["metadata"]) ? body["metadata"] : {};
      const words = metadata["user_id"];
      response.writeHead(words === undefined ? 200 : 400, { "content-type": "application/json" });
      const usage = { input_tokens: 10, output_tokens: 2 };
      const content = [{ type: "text", text: "<i>Noted</i>" }];
      const answer = {
        id: "msg_1",
        type: "message",
        role: "assistant",
        model: "m",
        content,
        stop_reason: "end_turn",
        usage,
      };
      const error = { type: "error", error: { type: "invalid_request_error", message: words } };
      response.end(JSON.stringify(words === undefined ? answer : error));
    });
  });
}

beforeAll(async () => {
  canary = createServer((request, response) => {
    hits.push(`${request.method} ${request.url}`);
    response.end("window.pwned = 1");
  });
  corpus = xssCorpus(`${await listening(canary)}/hit`);
  upstream = careless();
  const baseUrl = await listening(upstream);
  [browser, service] = await Promise.all([
    startBrowser(),
    startService({
      upstreams: {},
      config: {
        providers: { anthropic: { baseUrl, contextWindow: 1_000_000, tokenizer: "estimate" } },
      },
    }),
  ]);
});
afterEach(async () => {
  expect(await browser.leave()).toEqual([]);
  expect(hits).toEqual([]);
});
afterAll(async () => {
  await browser.close();
  await service.stop();
  for (const server of [upstream, canary]) {
    server.closeAllConnections();
    server.close();
  }
});

const open = async (path: string): Promise<Page> => {
  const { page }: WatchedPage = await browser.open({ url: service.url, token: OWNER_TOKEN, path });
  return page;
};
const isUnharmed = async (page: Page): Promise<void> => {
  expect(await page.evaluate("window.pwned")).toBeUndefined();
  expect(
    await page.evaluate(
      "document.querySelectorAll('script, iframe, object, embed, base, form[action]').length",
    ),
  ).toBe(
    await page.evaluate("document.querySelectorAll('head > script[src^=\"/assets/\"]').length"),
  );
};

interface Said {
  readonly messages: readonly JsonObject[];
  readonly model?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly fields?: JsonObject;
}

async function send({
  messages,
  model = "claude-sonnet-4-6",
  headers = {},
  fields = {},
}: Said): Promise<{
  readonly status: number;
  readonly session: string;
}> {
  const response = await fetch(`${service.url}/v1/messages`, {
    method: "POST",
    headers: { ...modelHeaders("anthropic"), ...headers },
    body: JSON.stringify({ model, max_tokens: 100, messages, ...fields }),
  });
  await response.arrayBuffer();
  return { status: response.status, session: response.headers.get("x-plimsoll-session") ?? "" };
}

async function steer(session: string, action: string, wish: JsonObject): Promise<number> {
  const response = await fetch(`${service.url}/api/sessions/${session}/${action}`, {
    method: "POST",
    headers: { authorization: `Bearer ${OWNER_TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify(wish),
  });
  await response.arrayBuffer();
  return response.status;
}

/** Without what is not seen, and without the marks that stand for it: both sides of a comparison. */
const unseen =
  /⟦U\+[0-9A-F]+⟧|[\u2400-\u2421]|(?![\t\n])[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]/gu;
const plain = (text: string): string => text.replace(unseen, "");
const flat = (text: string): string => plain(text).replace(/\s+/g, " ").trim();

const groupsOf = (size: number): readonly string[] =>
  Array.from({ length: Math.ceil(corpus.length / size) }, (_, index) =>
    corpus.slice(index * size, (index + 1) * size).join("\n"),
  );

test("the corpus is large, and no two of it are the same", () => {
  expect(corpus.length).toBeGreaterThanOrEqual(100);
  expect(new Set(corpus).size).toBe(corpus.length);
});

describe("names", () => {
  /** What a header can carry whole. */
  const inHeaders = (): readonly string[] =>
    corpus.filter(
      (words) => /^[\t\u0020-\u007e\u00a0-\u00ff]{2,180}$/.test(words) && words.trim() === words,
    );

  test("of agents, of sessions and of models are text in the overview, as they come and when they are read again", async () => {
    const page = await open("#/");
    await page.getByText("No session yet.").waitFor();
    const names = inHeaders();
    expect(names.length).toBeGreaterThan(80);
    for (const name of names)
      await send({
        messages: [{ role: "user", content: `Say ${name}` }],
        model: name,
        headers: { "x-plimsoll-agent": name, "x-plimsoll-session": name },
      });
    const shown = `[...document.querySelectorAll("tr[data-session]")].map((row) =>
      [row.querySelector("th .under").textContent.split(" · ").slice(0, -2).join(" · "), row.querySelector("td.model .cut").textContent])`;
    const expected = names.map((name) => [flat(name), flat(name)]);
    const rowsOf = (): Promise<readonly (readonly string[])[]> =>
      eventually(15_000, "all rows", async () => {
        const rows = await page.evaluate<readonly (readonly string[])[]>(shown);
        return rows.length === names.length && rows.every(([, model]) => model !== "—")
          ? rows
          : undefined;
      });
    const byText = (rows: readonly (readonly string[])[]): readonly string[] =>
      rows.map((row) => row.map(flat).join("\u0001")).toSorted();
    expect(byText(await rowsOf())).toEqual(byText(expected));
    await page.mouse.move(200, 400);
    await isUnharmed(page);
    await page.reload();
    await page.locator("tr[data-session]").first().waitFor();
    await page.getByRole("region", { name: "Agents" }).locator("li").first().waitFor();
    await isUnharmed(page);
  });

  test("stand as text above their session too", async () => {
    const name = `"><img src=x onerror=window.pwned=1>`;
    const { session } = await send({
      messages: [{ role: "user", content: name }],
      model: name,
      headers: { "x-plimsoll-agent": "img", "x-plimsoll-session": "above" },
    });
    const page = await open(`#/session/${session}`);
    await page.getByRole("heading", { level: 1, name }).waitFor();
    await page.getByText(name).nth(1).waitFor();
    await isUnharmed(page);
  });
});

describe("conversations", () => {
  let session: string;
  let groups: readonly string[];
  beforeAll(async () => {
    groups = groupsOf(10);
    const messages = groups.flatMap((words, index) => [
      {
        role: "user",
        content:
          index === 0
            ? words
            : [
                { type: "tool_result", tool_use_id: `c${index - 1}`, content: words },
                { type: "text", text: words },
              ],
      },
      {
        role: "assistant",
        content: [
          { type: "text", text: words },
          {
            type: "tool_use",
            id: `c${index}`,
            name: corpus[index] ?? "x",
            input: { [corpus[index + 20] ?? "x"]: words },
          },
        ],
      },
    ]);
    const last = {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: `c${groups.length - 1}`, content: megabyteLine() },
      ],
    };
    const tools = corpus
      .slice(0, 5)
      .map((name) => ({ name, description: name, input_schema: { type: "object" } }));
    const asked = await send({
      messages: [...messages, last],
      fields: { tools, system: corpus[0] ?? "" },
    });
    expect(asked.status).toBe(200);
    session = asked.session;
  });

  test("every unit shows its words as words, in the list and in full", async () => {
    const page = await open(`#/session/${session}/window`);
    const list = page.getByRole("listbox");
    await list.focus();
    await page.keyboard.press("Home");
    const details = page.getByRole("region", { name: "Chosen unit" });
    const seen: string[] = [];
    const units = Number(await list.getByRole("option").first().getAttribute("aria-setsize"));
    for (let index = 0; index < units; index++) {
      await page.locator(`#unit-${index}[aria-selected=true]`).waitFor();
      await details
        .locator("pre")
        .first()
        .or(details.getByText("This part comes before the conversation"))
        .waitFor();
      seen.push(...(await details.locator("pre").allTextContents()));
      await page.keyboard.press("ArrowDown");
    }
    const texts = new Set(seen.map(plain));
    for (const words of groups) {
      const cut = plain(words.slice(0, 8_192));
      expect(
        [...texts].some(
          (text) => text.startsWith(cut.slice(0, 7_000)) || cut.startsWith(text.slice(0, 7_000)),
        ),
      ).toBe(true);
    }
    for (const text of seen) expect(text).not.toMatch(/(?![\t\n])\p{Cc}|\p{Bidi_Control}|\u200b/u);
    await isUnharmed(page);
  });

  test("names of tools are text", async () => {
    const page = await open(`#/session/${session}/window`);
    await page.getByLabel("Filter units by words").fill(corpus[0] ?? "");
    await page.getByRole("listbox").getByRole("option").last().click();
    await page.getByRole("region", { name: "Chosen unit" }).locator("code").first().waitFor();
    await isUnharmed(page);
  });

  test("a line of a megabyte freezes nothing: so much of it is shown, and the page answers", async () => {
    const page = await open(`#/session/${session}/window`);
    await page.getByRole("listbox").focus();
    await page.keyboard.press("End");
    const details = page.getByRole("region", { name: "Chosen unit" });
    await details.locator("pre").first().waitFor();
    const shown = await details.locator("pre").allTextContents();
    expect(Math.max(...shown.map(({ length }) => length))).toBeLessThan(100_000);
    await page.getByRole("link", { name: "History" }).click();
    await page.getByRole("heading", { name: "Turns" }).waitFor();
    await isUnharmed(page);
  });

  test("compactions, receipts, handovers, differences, passages and archives are text", async () => {
    expect(await steer(session, "compact", { keep: "quarter" })).toBe(200);
    expect(await steer(session, "reset", { reason: corpus[1] ?? "" })).toBe(200);
    const page = await open(`#/session/${session}/compactions`);
    for (const index of [1, 0]) {
      await page.locator("summary").nth(index).click();
      await page.getByRole("heading", { name: "Receipt" }).first().waitFor();
    }
    await page.getByLabel("Handover preview").first().waitFor();
    await isUnharmed(page);
    await page.getByRole("link", { name: "Time travel" }).click();
    await page.locator(".sides pre").first().waitFor();
    await isUnharmed(page);
    await page.getByRole("link", { name: "Archive", exact: true }).click();
    await page.getByRole("searchbox").fill("<script> onerror alert");
    await page.keyboard.press("Enter");
    await page.locator("mark").first().waitFor();
    await isUnharmed(page);
    await page.getByRole("button", { name: "Open" }).first().click();
    const content = page.getByRole("dialog").getByLabel("Content of the archive");
    await content.waitFor();
    expect((await content.textContent())?.length).toBeGreaterThan(0);
    await isUnharmed(page);
  });

  test("labels of checkpoints are text on the slider, in its words and in the lists", async () => {
    const labels = corpus.filter(({ length }, index) => length <= 400 && index % 2 === 0);
    for (const label of labels) expect(await steer(session, "checkpoint", { label })).toBe(200);
    const page = await open(`#/session/${session}/travel`);
    const slider = page.getByRole("slider", { name: "Point in time" });
    await slider.focus();
    const words: string[] = [];
    for (let step = 0; step < labels.length; step++) {
      await page.keyboard.press("ArrowLeft");
      words.push((await slider.getAttribute("aria-valuetext")) ?? "");
    }
    expect(words.map((text) => flat(text.replace(/^cp_\d+, /, ""))).toSorted()).toEqual(
      labels.map(flat).toSorted(),
    );
    await isUnharmed(page);
  });
});

describe("errors", () => {
  test("reasons and the words of providers are text", async () => {
    const page = await open("#/errors");
    const messages = Array.from({ length: 16 }, (_, index) => ({
      role: index % 2 === 0 ? "user" : "assistant",
      content: `Message ${index}: ${"the ship carries cargo to the quay. ".repeat(30)}`,
    }));
    const ending = { role: "user", content: "Go on." };
    // Some of each kind: every one costs a session.
    const reasons = corpus.filter(
      (words, index) => words.trim().length > 1 && words.length <= 400 && index % 4 === 1,
    );
    for (const [index, reason] of reasons.entries()) {
      const headers = { "x-plimsoll-session": `reason-${index}` };
      const { session } = await send({ messages: [...messages, ending], headers });
      expect(await steer(session, "reset", { reason })).toBe(200);
    }
    const items = page.locator("main li p.foreign:not(.mono)");
    const shown = await eventually(15_000, "every reason", async () => {
      const texts = await items.allTextContents();
      return texts.length >= reasons.length ? texts : undefined;
    });
    const known = new Set(reasons.map(flat));
    for (const text of shown) expect(known).toContain(flat(text));
    await isUnharmed(page);
  });

  test("so is what a provider says when it refuses a turn", async () => {
    let session = "";
    for (const words of corpus.slice(0, 40)) {
      const asked = await send({
        messages: [{ role: "user", content: "x" }],
        fields: { metadata: { user_id: words } },
        headers: { "x-plimsoll-session": "refused", "x-plimsoll-agent": "refused" },
      });
      expect(asked.status).toBe(400);
      session = asked.session;
    }
    const page = await open(`#/session/${session}/history`);
    await page.getByText("The same as a table").click();
    await page.getByRole("table").waitFor();
    const plot = page.locator(".uplot .u-over").first();
    for (const x of [10, 200, 400, 600]) await plot.hover({ position: { x, y: 50 } });
    await isUnharmed(page);
  });
});
