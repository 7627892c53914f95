/**
 * Turns with lookups that do not end well: clients that leave, providers that fail, break off or hang in the middle, answers
 * that are packed, and answers that are far too large. The client sees an error of its own kind and never a false end, nothing
 * is left behind, and the conversation goes on.
 */

import { request as httpRequest, type IncomingMessage } from "node:http";
import { gzipSync } from "node:zlib";
import Anthropic from "@anthropic-ai/sdk";
import { ApiError } from "@google/genai";
import OpenAI from "openai";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { type Answer, renderEvents, renderJson, reply, text } from "./harness/answer.ts";
import type { Frame, RawBytes, Reply } from "./harness/answer-parts.ts";
import { type JsonObject, WIRES, type Wire } from "./harness/json.ts";
import { geminiError, overflowBody, overflowEvents } from "./harness/overflow.ts";
import { eventsOf } from "./harness/own-events.ts";
import { clientOn, memoryBytes, OwnStage, type Step, socketsCount } from "./harness/own-stage.ts";
import { ENDS, lookUp, told, type Way, waysOf } from "./harness/own-told.ts";
import { modelHeaders, pathFor, textFor } from "./harness/raw-client.ts";
import { eventually, pause, within } from "./harness/waiting.ts";

const WAYS = waysOf("whole");

const CLOSED_LIMIT_MS = 2_000;
/** The service waits up to 2.5 s for connections that a client opened and has not used. */
const STOP_LIMIT_MS = 4_000;
const MEBIBYTE = 1024 * 1024;

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const TOO_LONG = { inputTokens: 250_000, maxOutputTokens: 1_000, windowTokens: 200_000 };
/** A pattern that comes to no end in time, and what it comes to no end with. */
const SLOW_TO_MATCH = `${"a".repeat(40)}!`;
const SLOW_PATTERN = "(a+)+$";
/** After so long the service gives a pattern up. */
const SLOW_LIMIT_MS = 2_500;
const GOING_ON_REQUESTS = 3;
const NOTES_COUNT = 12;
const LOOKING = "Let me look. ";

function failure(wire: Wire, status: number): Answer {
  const error = { type: "scripted_error", message: `Scripted ${status}.` };
  const openai = { error: { ...error, param: null, code: `scripted_${status}` } };
  const bodies: Readonly<Record<Wire, JsonObject>> = {
    anthropic: { type: "error", error },
    "openai-chat": openai,
    "openai-responses": openai,
    gemini: geminiError(status, error.message),
  };
  return { kind: "failure", status, body: bodies[wire], headers: { "retry-after": "7" } };
}

function early(kind: "cut" | "end" | "hang", afterEvents = 5): Reply {
  const words = text(
    "The first ",
    "and second ",
    "and third ",
    "and fourth ",
    "and fifth ",
    "and the last.",
  );
  return { ...reply(words), early: { kind, afterEvents } };
}

/** One body that breaks off. */
function half(): RawBytes {
  const pieces = function* (): Generator<Uint8Array> {
    yield Buffer.from('{"id": "half", ');
    throw new Error("This is where the answer breaks off.");
  };
  return { kind: "raw", headers: { "content-type": "application/json" }, pieces: pieces() };
}

/** What was thrown; undefined where nothing was. */
function failureOf(asked: Promise<unknown>): Promise<unknown> {
  return asked.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
}

const ERRORS = {
  anthropic: Anthropic.AnthropicError,
  "openai-chat": OpenAI.OpenAIError,
  "openai-responses": OpenAI.OpenAIError,
  gemini: ApiError,
} as const;

/** An SDK's own error, whatever was thrown. */
function isOfSdk(wire: Wire, error: unknown): boolean {
  return error instanceof ERRORS[wire];
}

describe("a turn that does not end well", () => {
  const stage = new OwnStage();
  let socketsBefore = 0;
  /** By key: what reached the provider before a lookup was given up, and after. */
  const sentCounts = new Map<string, number>();

  beforeAll(async () => {
    for (const { wire, isStreamed } of WAYS) {
      const { client, key } = clientOn(stage, { wire });
      client.say("Are you there?");
      stage.script(key, reply(lookUp("recall", { query: "a" })), reply(text("Yes.")));
      await client.ask({ isStreamed });
    }
    socketsBefore = await socketsCount(stage.service.pid);
  });

  /** The same request again: now it is answered, after one more lookup. */
  async function goOn(
    client: ReturnType<typeof clientOn>["client"],
    key: string,
    { wire, isStreamed }: Way,
  ): Promise<void> {
    stage.script(
      key,
      reply(text("Again. "), lookUp("recall", { query: "b" })),
      reply(text("Here.")),
    );
    const heard = await client.ask({ isStreamed });
    expect(told(wire, heard)).toEqual({ text: "Again. Here.", calls: [], end: ENDS[wire] });
    client.say("And on.");
    stage.script(key, reply(text("On it goes.")));
    expect(told(wire, await client.ask({ isStreamed })).text).toBe("On it goes.");
    expect(stage.upstream.refusals.invalid).toEqual([]);
  }

  /** A client that has had one good turn with a lookup. */
  async function warm(way: Way): Promise<ReturnType<typeof clientOn>> {
    const { wire, isStreamed } = way;
    const on = clientOn(stage, { wire });
    on.client.say(`What do the tides do? ${SLOW_TO_MATCH}`);
    stage.script(on.key, reply(lookUp("recall", { query: "tides" })), reply(text("They come.")));
    await on.client.ask({ isStreamed });
    on.client.say("And then?");
    return on;
  }

  describe.each(WAYS)("$name", (way) => {
    const { wire, isStreamed } = way;

    test.each([500, 429, 529])("the provider answers %i in an inner round", async (status) => {
      const { client, key } = await warm(way);
      stage.script(
        key,
        reply(text(LOOKING), lookUp("recall", { query: "b" })),
        failure(wire, status),
      );
      const error = await failureOf(client.ask({ isStreamed }));
      expect(isOfSdk(wire, error)).toBe(true);
      expect(String(error)).toContain(`Scripted ${status}.`);
      if (!isStreamed) expect(error).toMatchObject({ status });
      await goOn(client, key, way);
    });

    test("before the model has said a word, the provider's refusal is the answer, status and all", async () => {
      const { client, key } = await warm(way);
      stage.script(key, reply(lookUp("recall", { query: "b" })), failure(wire, 429));
      const error = await failureOf(client.ask({ isStreamed }));
      expect(error).toMatchObject({ status: 429 });
      await goOn(client, key, way);
    });

    test("the provider finds an inner round too long, and nothing can be taken out", async () => {
      const { client, key } = await warm(way);
      const tooLong: Answer = { kind: "failure", status: 400, body: overflowBody(wire, TOO_LONG) };
      const looking = reply(text(LOOKING), lookUp("recall", { query: "b" }));
      // Where it says no figures, a shorter answer is tried as well.
      stage.script(key, looking, tooLong, tooLong, tooLong);
      const error = await failureOf(client.ask({ isStreamed }));
      expect(isOfSdk(wire, error)).toBe(true);
      const { error: said } = overflowBody(wire, TOO_LONG) as { readonly error: JsonObject };
      expect(String(error)).toContain(said["message"]);
      if (!isStreamed) expect(error).toMatchObject({ status: 400 });
    });

    test("the answer of an inner round breaks off", async () => {
      const { client, key } = await warm(way);
      const broken = isStreamed ? early("cut") : half();
      stage.script(key, reply(text(LOOKING), lookUp("recall", { query: "b" })), broken);
      const error = await failureOf(client.ask({ isStreamed }));
      expect(isOfSdk(wire, error)).toBe(true);
      expect(String(error)).toContain("The upstream could not be reached");
      if (!isStreamed) expect(error).toMatchObject({ status: 502 });
      await goOn(client, key, way);
    });

    test("the client leaves while an inner round hangs", async () => {
      const { client, key } = await warm(way);
      const leaving = new AbortController();
      stage.script(key, reply(text(LOOKING), lookUp("recall", { query: "b" })), { kind: "hang" });
      const asked = client.ask({ isStreamed, signal: leaving.signal });
      const hanging = await stage.upstream.received(stage.upstream.requests.length + 2);
      leaving.abort();
      await expect(asked).rejects.toThrow(/abort/i);
      await within(CLOSED_LIMIT_MS, "the end of the upstream connection", hanging.closed);
      await goOn(client, key, way);
    });

    test("the client leaves while the first round hangs", async () => {
      const { client, key } = await warm(way);
      const leaving = new AbortController();
      stage.script(key, isStreamed ? early("hang") : { kind: "hang" });
      const asked = client.ask({ isStreamed, signal: leaving.signal });
      const hanging = await stage.upstream.received(stage.upstream.requests.length + 1);
      leaving.abort();
      await expect(asked).rejects.toThrow(/abort/i);
      await within(CLOSED_LIMIT_MS, "the end of the upstream connection", hanging.closed);
      await goOn(client, key, way);
    });

    test("the client leaves while its lookup is answered: nothing more is sent", async () => {
      const { client, key } = await warm(way);
      const leaving = new AbortController();
      const slow = lookUp("read_result", { ref_id: "#1", grep: SLOW_PATTERN });
      stage.script(key, reply(text(LOOKING), slow), reply(text("Too late.")));
      const asked = client.ask({ isStreamed, signal: leaving.signal });
      const first = await stage.upstream.received(stage.upstream.requests.length + 1);
      await within(CLOSED_LIMIT_MS, "the end of the first round", first.closed);
      expect(stage.requestsOf(key).at(-1)).toBe(first);
      leaving.abort();
      await expect(asked).rejects.toThrow(/abort/i);
      // Long before the lookup would have come to an end.
      await eventsOf(stage.service, client.headers.get("x-plimsoll-session") ?? "", {
        limitMs: SLOW_LIMIT_MS / 2,
        isEnough: (seen) => seen.some(({ status }) => status === "aborted"),
      });
      const before = stage.requestsOf(key).length;
      await goOn(client, key, way);
      sentCounts.set(key, before + GOING_ON_REQUESTS);
    });

    test.each([
      { which: "the first round", at: 0 },
      { which: "an inner round", at: 1 },
    ])("$which is too long, and is sent again, smaller", async ({ at }) => {
      const { client, key } = await warm(way);
      client.messages.pop();
      for (let number = 0; number < NOTES_COUNT; number += 1) {
        client.say(`Note ${number}: ${"the gauge of the tank reads so much. ".repeat(60)}`);
        stage.script(key, reply(text(`Noted ${number}.`)));
        await client.ask({ isStreamed });
      }
      client.say("And then?");
      const before = stage.requestsOf(key).length;
      const looking = reply(text(LOOKING), lookUp("recall", { query: "b" }));
      const steps: readonly Step[] = [looking, reply(text("Done."))];
      stage.script(key, ...steps.toSpliced(at, 0, tooLongAs(way)));
      const heard = await client.ask({ isStreamed });
      expect(told(wire, heard)).toEqual({ text: `${LOOKING}Done.`, calls: [], end: ENDS[wire] });
      const sent = stage.requestsOf(key).slice(before);
      expect(sent).toHaveLength(3);
      const sizes = sent.map(({ body }) => body.length);
      expect(sizes[at + 1]).toBeLessThan(0.9 * (sizes[at] ?? 0));
      // Nobody has heard of the round that was taken back.
      expect(heard["id"] ?? heard["responseId"]).toMatch(new RegExp(`${sent[1 - at]?.number}$`));
      client.say("And on.");
      await goOn(client, key, way);
    });

    if (!isStreamed) return;

    test("an inner round ends without its last event", async () => {
      const { client, key } = await warm(way);
      stage.script(key, reply(text(LOOKING), lookUp("recall", { query: "b" })), early("end"));
      await expect(client.ask({ isStreamed })).rejects.toThrow();
      await goOn(client, key, way);
    });

    test("the first round ends without its last event", async () => {
      const { client, key } = await warm(way);
      stage.script(key, early("end"));
      await expect(client.ask({ isStreamed })).rejects.toThrow();
      await goOn(client, key, way);
    });

    test("an inner round ends before its very last event", async () => {
      const { client, key } = await warm(way);
      const whole = reply(text("All but ", "the end."));
      const almost: Step = ({ body }) => {
        const events = renderEvents(whole, frameOf(wire, body));
        return { ...whole, early: { kind: "end", afterEvents: events.length - 1 } };
      };
      stage.script(key, reply(text(LOOKING), lookUp("recall", { query: "b" })), almost);
      const asked = client.ask({ isStreamed });
      // On the Chat wire the reason for the end has been said by then.
      if (wire === "openai-chat") expect(told(wire, await asked).end).toBe(ENDS[wire]);
      else await expect(asked).rejects.toThrow();
      if (wire === "openai-chat") client.say("Go on.");
      await goOn(client, key, way);
    });

    test("an inner round says inside its stream that it is too long", async () => {
      const { client, key } = await warm(way);
      const tooLong = tooLongAs(way);
      const looking = reply(text(LOOKING), lookUp("recall", { query: "b" }));
      // Where it says no figures, a shorter answer is tried as well.
      stage.script(key, looking, tooLong, tooLong, tooLong);
      await expect(client.ask({ isStreamed })).rejects.toThrow(
        /too long|maximum context|exceeds the (?:context window|maximum number of tokens)/,
      );
    });
  });

  test("what was given up sent nothing more, also later", async () => {
    await pause(SLOW_LIMIT_MS);
    for (const [key, count] of sentCounts) expect(stage.requestsOf(key)).toHaveLength(count);
    expect(sentCounts.size).toBe(WAYS.length);
  });

  test("nothing is left of all this: no socket, and the service ends at once", async () => {
    const { pid } = stage.service;
    await eventually(15_000, "the sockets of before", async () =>
      (await socketsCount(pid)) <= socketsBefore ? true : undefined,
    );
    expect(stage.service.stderr).toBe("");
    await within(STOP_LIMIT_MS, "the end of the service", stage.service.kill("SIGTERM"));
  });
});

/** Inside the stream, or as an answer of its own. */
function tooLongAs({ wire, isStreamed }: Way): Step {
  if (!isStreamed) return { kind: "failure", status: 400, body: overflowBody(wire, TOO_LONG) };
  return ({ body }) => ({
    kind: "raw",
    headers: { "content-type": "text/event-stream" },
    pieces: overflowEvents(frameOf(wire, body), TOO_LONG).map((event) => Buffer.from(event)),
  });
}

function frameOf(wire: Wire, body: JsonObject): Frame {
  return { wire, body, model: String(body["model"]), requestNumber: 1, includeUsage: false };
}

/** A stream of this size, made as it is taken. */
function* longStream(wire: Wire, body: JsonObject, bytes: number): Generator<Uint8Array> {
  const word = "x".repeat(LONG_WORD_BYTES);
  const events = renderEvents(reply(text("@")), frameOf(wire, body));
  for (const event of events) {
    const isDelta =
      event.includes('"@"') && /delta|"parts"/.test(event) && !/done|added|completed/.test(event);
    if (!isDelta) {
      yield Buffer.from(event);
      continue;
    }
    const long = Buffer.from(event.replace('"@"', `"${word}"`));
    for (let sent = 0; sent < bytes; sent += long.length) yield long;
  }
}

const LONG_WORD_BYTES = 64 * 1024;
const LONG_STREAM_BYTES = 200 * MEBIBYTE;
const MEMORY_MAX_BYTES = 256 * 1024 * 1024;

/** How much more memory a process had than before while something was done. */
async function growthDuring(pid: number, work: () => Promise<void>): Promise<number> {
  const before = await memoryBytes(pid);
  let peak = 0;
  const timer = setInterval(() => {
    void memoryBytes(pid).then((bytes) => {
      peak = Math.max(peak, bytes);
    });
  }, 20);
  await work().finally(() => clearInterval(timer));
  return Math.max(peak, await memoryBytes(pid)) - before;
}

/** Below the SDKs: they read as fast as they can. */
function postRaw(
  stage: OwnStage,
  wire: Wire,
  key: string,
  body: JsonObject,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(`${stage.service.url}${pathFor(wire, body)}`, {
      method: "POST",
      headers: modelHeaders(wire, key),
      agent: false,
    });
    outgoing.on("error", reject);
    outgoing.on("response", resolve);
    outgoing.end(textFor(wire, body));
  });
}

describe("answers that are far too large", () => {
  const stage = new OwnStage();

  beforeAll(async () => {
    for (const { wire, isStreamed } of WAYS) {
      const { client, key } = clientOn(stage, { wire });
      client.say("Are you there?");
      stage.script(key, reply(lookUp("recall", { query: "a" })), reply(text("Yes.")));
      await client.ask({ isStreamed });
    }
  });

  test.each(WAYS)("$name: a packed answer is unpacked, though none was asked for", async (way) => {
    const { wire, isStreamed } = way;
    const { client, key } = clientOn(stage, { wire });
    client.say("What do the tides do?");
    let packedCount = 0;
    const packed =
      (answer: Reply): Step =>
      ({ body }) => {
        packedCount += 1;
        const frame = { ...frameOf(wire, body), requestNumber: packedCount };
        const plain = isStreamed ? renderEvents(answer, frame).join("") : renderJson(answer, frame);
        const type = isStreamed ? "text/event-stream" : "application/json";
        const headers = { "content-type": type, "content-encoding": "gzip" };
        const said = { reply: answer, frame };
        return { kind: "raw", headers, pieces: [gzipSync(plain)], said };
      };
    stage.script(
      key,
      packed(reply(text(LOOKING), lookUp("recall", { query: "b" }))),
      packed(reply(text("They come."))),
    );
    const heard = await client.ask({ isStreamed });
    expect(told(wire, heard)).toEqual({ text: `${LOOKING}They come.`, calls: [], end: ENDS[wire] });
  });

  test.each(WAYS)("$name: a packed answer that unpacks to 512 MiB is given up", async (way) => {
    const { wire, isStreamed } = way;
    const { client, key } = clientOn(stage, { wire });
    client.say("What do the tides do?");
    const member = gzipSync(Buffer.alloc(16 * MEBIBYTE, " "));
    const type = isStreamed ? "text/event-stream" : "application/json";
    const bomb: RawBytes = {
      kind: "raw",
      headers: { "content-type": type, "content-encoding": "gzip" },
      pieces: Array.from({ length: 32 }, () => member),
    };
    stage.script(key, reply(text(LOOKING), lookUp("recall", { query: "b" })), bomb);
    const growth = await growthDuring(stage.service.pid, async () => {
      await expect(client.ask({ isStreamed })).rejects.toThrow();
    });
    expect(growth).toBeLessThan(MEMORY_MAX_BYTES);
    stage.script(key, reply(text("They come.")));
    expect(told(wire, await client.ask({ isStreamed })).text).toBe("They come.");
  });

  test.each(WIRES)("%s: a reader that stops slows the provider down", async (wire) => {
    const { client, key } = clientOn(stage, { wire });
    client.say("Tell me everything.");
    let taken = 0;
    const long: Step = ({ body }) => ({
      kind: "raw",
      headers: { "content-type": "text/event-stream" },
      pieces: (function* () {
        for (const piece of longStream(wire, body, LONG_STREAM_BYTES)) {
          taken += piece.length;
          yield piece;
        }
      })(),
    });
    stage.script(key, reply(text(LOOKING), lookUp("recall", { query: "b" })), long);
    const growth = await growthDuring(stage.service.pid, async () => {
      const response = await postRaw(stage, wire, key, { ...client.body(), stream: true });
      let heard = 0;
      let last = "";
      const take = (chunk: Buffer): void => {
        heard += chunk.length;
        last = chunk.toString("latin1").slice(-200);
      };
      response.on("data", take);
      await eventually(5_000, "the beginning", async () => (heard > MEBIBYTE ? true : undefined));
      response.pause();
      // As long as somebody is at work, more is taken.
      let before = -1;
      await eventually(10_000, "a provider that waits", async () => {
        const isStill = taken === before;
        before = taken;
        await pause(200);
        return isStill ? true : undefined;
      });
      expect(taken).toBeLessThan(LONG_STREAM_BYTES / 4);
      response.resume();
      await within(30_000, "the end", new Promise((resolve) => response.once("end", resolve)));
      expect(heard).toBeGreaterThan(LONG_STREAM_BYTES);
      expect(last).toMatch(/message_stop|\[DONE\]|"sequence_number"|"responseId"/);
    });
    expect(growth).toBeLessThan(MEMORY_MAX_BYTES);
  });
});
