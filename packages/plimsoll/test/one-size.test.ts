/** One window has one size: every screen, command and route tells the same figure at the same moment. */

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { reply, text } from "./harness/answer.ts";
import { startBrowser, type TestBrowser, textOf } from "./harness/browser.ts";
import { childEnvironment } from "./harness/child-environment.ts";
import { type Stage, startStage, type Talk } from "./harness/dashboard-stage.ts";

const program = fileURLToPath(new URL("../bin/plimsoll.mjs", import.meta.url));
const words = (): ReturnType<typeof reply> => reply(text("Noted, and on to the next step."));

/** A provider that reports nothing plausible, and one that counts 1.3 tokens for one of Plimsoll's. */
const PROVIDERS = [
  ["before the first usage", { script: words }],
  ["after usage", { script: words, window: { tokens: 100_000, factor: 1.3 } }],
] as const;

describe.each(PROVIDERS)("%s", (_, upstream) => {
  let stage: Stage;
  let talk: Talk;
  let browser: TestBrowser;

  const run = async (...args: string[]): Promise<string> => {
    const env = childEnvironment({ PLIMSOLL_TOKEN: stage.token });
    const all = [program, ...args, "--data", stage.data];
    return (await promisify(execFile)(process.execPath, all, { env })).stdout;
  };
  const figure = (told: string): number => Number(told.replaceAll(",", ""));
  const onPage = async (path: string, row: string): Promise<number> => {
    const { page } = await browser.open({ url: stage.url, token: stage.token, path });
    const told = await textOf(page.locator(row).first());
    return figure(/[\d,]+/.exec(told)?.[0] ?? "");
  };

  /** The size as each place tells it. */
  async function sizes(): Promise<Readonly<Record<string, number>>> {
    const path = `/api/sessions/${talk.id}`;
    const { items } = await stage.api<{
      readonly items: readonly { readonly tokens: number }[];
    }>("/api/sessions");
    const agents = await stage.api<{ readonly items: readonly { readonly tokens: number }[] }>(
      "/api/agents",
    );
    const picture = await stage.api<{
      readonly tokens: number;
      readonly units: readonly { readonly tokens: number }[];
    }>(`${path}/window`);
    const inspected = JSON.parse(await run("inspect", "--json", talk.id)) as {
      readonly used: number;
      readonly components: Readonly<Record<string, number>>;
    };
    const top = await run("top", "--once");
    const parts = /system ([\d,]+) · tools ([\d,]+) · conversation ([\d,]+)/.exec(top) ?? [];
    return {
      list: items[0]?.tokens ?? 0,
      agents: agents.items[0]?.tokens ?? 0,
      picture: picture.tokens,
      units: picture.units.reduce((sum, { tokens }) => sum + tokens, 0),
      view: (await stage.api<{ readonly tokens: number }>(`${path}/view`)).tokens,
      inspect: inspected.used,
      components: Object.values(inspected.components).reduce((sum, tokens) => sum + tokens, 0),
      top: figure(/([\d,]+) of [\d,]+ tokens/.exec(top)?.[1] ?? ""),
      topParts: parts.slice(1).reduce((sum, told) => sum + figure(told), 0),
      overview: await onPage("#/", "td.fill .under"),
      page: await onPage(`#/session/${talk.id}/window`, ".main dd b"),
    };
  }

  async function agreed(): Promise<number> {
    const told = await sizes();
    expect(told).toEqual(Object.fromEntries(Object.keys(told).map((name) => [name, told["list"]])));
    return told["list"] ?? 0;
  }

  beforeAll(async () => {
    [stage, browser] = await Promise.all([startStage({ upstream }), startBrowser()]);
    talk = stage.talk({ name: "one", agent: "shipwright" });
    for (let turn = 0; turn < 6; turn++) await talk.prose(600);
  });
  afterAll(async () => {
    expect(await browser.leave()).toEqual([]);
    await browser.close();
    await stage.close();
  });

  test("after turns, after a compaction by hand, after its undo, and after a compaction in a turn", async () => {
    const first = await agreed();
    const { body } = await stage.post(`/api/sessions/${talk.id}/compact`, {});
    const compacted = await agreed();
    expect(compacted).toBeLessThan(first);
    expect([body["tokensBefore"], body["tokensAfter"]]).toEqual([first, compacted]);
    await stage.post(`/api/sessions/${talk.id}/undo`, {});
    expect(await agreed()).toBe(first);
    await talk.until("compacted");
    await agreed();
  });
});
