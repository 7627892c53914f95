/** What the headers of an answer say of its turn is what the turn's record says, also when a provider found it too long at first. */
import { describe, expect, test, vi } from "vitest";
import { call, reply, text } from "./harness/answer.ts";
import type { JsonObject } from "./harness/json.ts";
import { clientOn, OwnStage } from "./harness/own-stage.ts";
import { waysOf } from "./harness/own-told.ts";
import { providersAt, usualModels } from "./harness/wires.ts";

const WAYS = waysOf("streamed");

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const REAL_WINDOW = 16_000;

/** Plimsoll is told of a window that is twice as large as it is. */
function wrongWindow(settings: JsonObject) {
  return ({ url }: { readonly url: string }): JsonObject => {
    const model = {
      contextWindow: REAL_WINDOW * 2,
      maxOutputTokens: 1_000,
      contextWindowBufferTokens: 200,
      tokenizer: "tiktoken:o200k_base",
    };
    return { ...settings, providers: providersAt(url, { models: usualModels(model) }) };
  };
}

function logText(name: string): string {
  return Array.from(
    { length: 45 },
    (_, index) =>
      `${name} line ${index}: the gauge of tank ${(index * 7_919) % 1_000} reads ${index}`,
  ).join("\n");
}

interface Recorded {
  readonly outcome: string;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

describe.each([
  ["with tools of ours in the request", { own_tools: "first-request" }],
  ["without them", {}],
])("a request that was too long, %s", (_name, settings) => {
  const stage = new OwnStage({
    config: wrongWindow(settings),
    window: { tokens: REAL_WINDOW },
  });

  async function recordOf(session: string): Promise<Recorded> {
    const { lastTurn } = await stage.service.api<{ readonly lastTurn: Recorded }>(
      `/api/sessions/${session}`,
    );
    return lastTurn;
  }

  test.each(WAYS)("$name: the headers are those of what was sent in the end", async (way) => {
    const { wire, isStreamed } = way;
    const { client, key } = clientOn(stage, { wire });
    client.say("Read all the logs.");
    for (let number = 0; number < 30; number += 1) {
      const before = stage.requestsOf(key).length;
      const isLast = client.headers.get("x-plimsoll-action") === "compacted";
      const next = call(`read_${number}`, "read_file", { path: `log-${number}` });
      stage.script(key, reply(...(isLast ? [text("Done.")] : [next])));
      await client.ask({ isStreamed });
      const action = client.headers.get("x-plimsoll-action");
      const { outcome, tokensBefore, tokensAfter } = await recordOf(
        client.headers.get("x-plimsoll-session") ?? "",
      );
      expect([action, client.headers.get("x-plimsoll-tokens")]).toEqual([
        outcome,
        `${tokensBefore};${tokensAfter}`,
      ]);
      const wasTooLong = stage.requestsOf(key).length - before > 1;
      const isShorter = client.headers.get("x-plimsoll-max-tokens") !== null;
      if (wasTooLong) {
        expect(action === "compacted" || isShorter).toBe(true);
        return;
      }
      client.give(`read_${number}`, logText(`log-${number}`));
    }
    throw new Error("Nothing was ever too long.");
  });
});
