/** Requests that ask for more than a small window has: they go, valid and within it, or their client hears the provider's words. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { diceOf } from "../demo/dice.ts";
import { called, limitedTo, limitIn, result, tool } from "./generate/bodies.ts";
import { WIRES } from "./generate/conversations.ts";
import { reply, text } from "./harness/answer.ts";
import type { JsonObject } from "./harness/json.ts";
import { ask, bodyOf } from "./harness/raw-client.ts";
import { type Service, startService } from "./harness/service.ts";
import { startUpstream, type Upstream } from "./harness/upstream.ts";
import { prose } from "./harness/words.ts";

const WINDOW = 16_000;
let upstream: Upstream;
let service: Service;

beforeAll(async () => {
  upstream = await startUpstream({
    script: () => reply(text("Noted, and on to the next.")),
    window: { tokens: WINDOW },
  });
  const settings = { baseUrl: upstream.url, contextWindow: WINDOW };
  service = await startService({
    upstreams: {},
    config: { providers: { anthropic: settings, openai: settings, gemini: settings } },
  });
});
afterAll(async () => {
  await service.stop();
  await upstream.close();
});

describe.each(WIRES)("%s", (wire) => {
  const random = diceOf(4);
  const send = (name: string, messages: readonly JsonObject[], fields: JsonObject = {}) =>
    ask(service.url, {
      wire,
      // Nobody has signed the calls below, and Gemini 3 takes no others.
      body: {
        ...bodyOf(wire, [...messages], wire === "gemini" ? { model: "gemini-2.5-pro" } : {}),
        ...limitedTo(wire, 2_000),
        ...fields,
      },
      headers: { "x-plimsoll-session": `${wire} ${name}` },
    });
  const lastSent = (): JsonObject =>
    JSON.parse(upstream.requests.at(-1)?.body.toString("utf8") ?? "{}") as JsonObject;

  test("an answer longer than the window: what is left is asked for, and the client is told", async () => {
    const before = upstream.requests.length;
    const asked = await send("long answer", [{ role: "user", content: "Write a book." }], {
      ...limitedTo(wire, 64_000),
    });
    expect(asked.status).toBe(200);
    expect(upstream.requests.length - before).toBe(1);
    const sent = limitIn(wire, lastSent());
    expect(sent).toBeLessThan(WINDOW);
    expect(asked.headers.get("x-plimsoll-max-tokens")).toBe(`64000;${sent}`);
    expect(asked.headers.get("x-plimsoll-action")).toBe("passthrough");
  });

  test("a head larger than the window: the client hears the provider's own words", async () => {
    const words = prose(random, WINDOW * 1.5);
    const tools = [tool(wire, words)];
    const asked = await send("large head", [{ role: "user", content: "Hello." }], { tools });
    expect(asked.status).toBe(400);
    expect(asked.answer).toMatch(
      /prompt is too long|context_length_exceeded|input token count \(\d+\) exceeds/,
    );
    const { items } = await service.api<{ readonly items: readonly { readonly code: string }[] }>(
      `/api/errors?session=${asked.headers.get("x-plimsoll-session") ?? ""}`,
    );
    expect(items.map(({ code }) => code)).toContain("TOKEN_LIMIT_EXCEEDED");
  });

  test("nothing but new results: each is seen before it leaves, and none is refused", async () => {
    const messages: JsonObject[] = [{ role: "user", content: "Read all of it." }];
    const fields = { tools: [tool(wire)] };
    for (let turn = 0; turn < 12; turn++) {
      const words = `page ${turn}: ${prose(random, 2_000)}`;
      messages.push(called(wire, `c${turn}`), result(wire, `c${turn}`, words));
      const asked = await send("only results", messages, fields);
      expect(asked.status).toBe(200);
      expect(["refused", "final"]).not.toContain(asked.headers.get("x-plimsoll-action"));
      expect(JSON.stringify(lastSent())).toContain(JSON.stringify(words).slice(1, -1));
    }
  });

  test("two clients with one session name: both are answered, and neither is sent the other's words", async () => {
    const talks = ["alpha", "beta"].map((who) => ({
      who,
      messages: [] as JsonObject[],
    }));
    for (let turn = 0; turn < 6; turn++) {
      for (const { who, messages } of talks) {
        messages.push({ role: "user", content: `${who} ${turn}: ${prose(random, 900)}` });
        const asked = await send("shared", messages);
        expect(asked.status).toBe(200);
        const other = who === "alpha" ? "beta" : "alpha";
        expect(JSON.stringify(lastSent())).not.toContain(`${other} `);
        messages.push(asked.message);
      }
    }
  });

  test("no request was invalid", () => {
    expect(upstream.refusals.invalid).toEqual([]);
  });
});
