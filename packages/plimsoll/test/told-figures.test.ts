/** Figures that stand side by side agree: picture, steering, phases, receipts and diffs are told as the provider counts, whatever it makes of a token. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { diceOf } from "../demo/dice.ts";
import { reply, text } from "./harness/answer.ts";
import { isSoak } from "./harness/effort.ts";
import type { JsonObject } from "./harness/json.ts";
import { eventsOf, type SeenEvent } from "./harness/own-events.ts";
import { ask, bodyOf } from "./harness/raw-client.ts";
import { OWNER_TOKEN, type Service, startService } from "./harness/service.ts";
import { startUpstream, type Upstream } from "./harness/upstream.ts";
import { outputLimit, providersAt, usualModels } from "./harness/wires.ts";
import { prose } from "./harness/words.ts";

function systemOf(wire: "anthropic" | "gemini", words: string): JsonObject {
  return wire === "anthropic"
    ? { system: words }
    : { systemInstruction: { parts: [{ text: words }] } };
}

interface Picture {
  readonly tokens: number;
  readonly limit: number;
  readonly units: readonly { readonly tokens: number; readonly first?: number }[];
}

const CROSSED = [
  ["anthropic", 0.7],
  ["gemini", 1.4],
] as const;
const OTHERS = [
  ["anthropic", 1.4],
  ["gemini", 0.7],
] as const;

describe.each(isSoak ? [...CROSSED, ...OTHERS] : CROSSED)(
  "%s: a provider that counts %d for one of ours",
  (wire, factor) => {
    let upstream: Upstream;
    let service: Service;
    let session = "";
    let sent = 0;

    const call = async (path: string, wish?: JsonObject): Promise<JsonObject> => {
      const response = await fetch(`${service.url}/api/sessions/${session}/${path}`, {
        method: wish === undefined ? "GET" : "POST",
        headers: { authorization: `Bearer ${OWNER_TOKEN}`, "content-type": "application/json" },
        ...(wish === undefined ? {} : { body: JSON.stringify(wish) }),
      });
      const body = (await response.json()) as JsonObject;
      expect(response.status, JSON.stringify(body)).toBe(200);
      return body;
    };
    const picture = async (): Promise<Picture> => (await call("window")) as unknown as Picture;

    beforeAll(async () => {
      upstream = await startUpstream({
        script: () => reply(text("Noted.")),
        window: { tokens: 100_000, factor },
      });
      const model = { contextWindow: 9_000, maxOutputTokens: 500, contextWindowBufferTokens: 500 };
      service = await startService({
        upstreams: {},
        config: {
          providers: providersAt(upstream.url, { models: usualModels(model) }),
        },
      });
      const random = diceOf(5);
      const history: JsonObject[] = [];
      for (let turn = 0; turn < 60 && sent < 6_000; turn++) {
        history.push({ role: "user", content: prose(random, 250) });
        const asked = await ask(service.url, {
          wire,
          body: {
            ...bodyOf(wire, [...history]),
            ...systemOf(wire, prose(random, 200)),
            ...outputLimit(wire, 500),
          },
          headers: { "x-plimsoll-session": "told" },
        });
        session = asked.sessionId;
        history.push(asked.message);
        sent = Number(asked.headers.get("x-plimsoll-tokens")?.split(";")[1]);
      }
    });
    afterAll(async () => {
      await service.stop();
      await upstream.close();
    });

    /** Rounding, and texts of ours that weigh less inside a message than alone. */
    const near = (one: unknown, other: number): void => {
      expect(Math.abs(Number(one) - other)).toBeLessThanOrEqual(0.03 * other + 40);
    };

    test("the picture is as large as what was sent, and the answer since", async () => {
      near((await picture()).tokens, sent);
    });

    test("a compaction by hand, its phases and its receipt tell the sizes that the picture shows before and after", async () => {
      const before = await picture();
      const compacted = await call("compact", {});
      const after = await picture();
      expect(compacted["tokens"]).toBe(after.tokens);
      near(compacted["tokensBefore"], before.tokens);
      near(compacted["tokensAfter"], after.tokens);
      expect(after.tokens).toBeLessThanOrEqual(before.limit / 2 + 200);
      const seen = await eventsOf(service, session, {
        limitMs: 10_000,
        isEnough: (events: readonly SeenEvent[]) =>
          events.some(({ type }) => type === "compaction-end"),
      });
      const end = seen.find(({ type }) => type === "compaction-end") as unknown as JsonObject;
      near(end["tokensBefore"], before.tokens);
      near(end["tokensAfter"], after.tokens);
      const receipt = end["receipt"] as JsonObject;
      expect(receipt["tokensBefore"]).toBe(end["tokensBefore"]);
      const undone = await call("undo", {});
      expect((await picture()).tokens).toBe(before.tokens);
      expect(undone["tokens"]).toBe(before.tokens);
    });

    test("a diff tells the sizes of the pictures at its two points", async () => {
      const now = await picture();
      const diff = await call("diff?from=0&form=text");
      expect((diff["to"] as JsonObject)["tokens"]).toBe(now.tokens);
    });

    test("messages of a unit add up to the unit", async () => {
      const unit = (await picture()).units.find(({ first }) => first !== undefined);
      const { items } = await call(`messages?first=${unit?.first}`);
      near((items as JsonObject[])[0]?.["tokens"], unit?.tokens ?? 0);
    });

    test("a fresh start takes out also what an undo has brought back", async () => {
      const before = await picture();
      const reset = await call("reset", {});
      expect(Number(reset["tokens"])).toBeLessThan(before.tokens / 2);
    });
  },
);
