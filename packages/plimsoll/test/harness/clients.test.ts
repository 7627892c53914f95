/** Tests the clients: each has its conversation directly with the scripted provider. */
import { afterEach, describe, expect, test } from "vitest";
import { archivistScript, CLIENTS, FINAL_TEXTS, STEPS_COUNT } from "./clients.ts";
import { recordingFetch } from "./recording-fetch.ts";
import { startUpstream, type Upstream } from "./upstream.ts";

let upstream: Upstream | undefined;
afterEach(async () => {
  await upstream?.close();
});

describe.each([{}, { chunkBytes: 1 }, { gzip: true }])("a provider with %j", (options) => {
  test.each(CLIENTS)("$name reaches both final texts", async ({ converse }) => {
    upstream = await startUpstream({ script: archivistScript, ...options });
    const recording = recordingFetch();
    const target = { baseUrl: upstream.url, apiKey: "key", fetch: recording.fetch };
    expect(await converse(target)).toEqual(FINAL_TEXTS);
    expect(upstream.requests).toHaveLength(STEPS_COUNT);
    expect(upstream.refusals).toEqual({ overflow: 0, invalid: [] });
    for (const [index, exchange] of recording.exchanges.entries()) {
      const request = upstream.requests[index];
      expect(exchange.requestBody.toString()).toBe(request?.body.toString());
      expect((await exchange.answer).toString()).toBe(request?.plainAnswer.toString());
    }
  });
});
