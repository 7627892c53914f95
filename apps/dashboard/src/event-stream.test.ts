import type { PlimsollEvent } from "plimsoll/events";
import { expect, test } from "vitest";
import { type Connection, createSseReader, openEvents, waitBefore } from "./event-stream.ts";

const text =
  ': plimsoll events\n\nid: 7\nevent: turn-start\ndata: {"a":1}\n\n: keep-alive\n\ndata: one\ndata:two\n\n';
const messages = [{ id: "7", data: '{"a":1}' }, { data: "one\ntwo" }];

function readIn(pieces: readonly string[]) {
  const reader = createSseReader();
  return pieces.flatMap((piece) => {
    const read = reader.push(piece);
    return read === "too-long" ? [] : read;
  });
}

test("a stream is read the same wherever its chunks are split", () => {
  for (let at = 0; at <= text.length; at++)
    expect(readIn([text.slice(0, at), text.slice(at)])).toEqual(messages);
  expect(readIn([...text])).toEqual(messages);
});

test("lines end with any of the three ends, also when a chunk ends between CR and LF", () => {
  const ended = text.replaceAll("\n", "\r\n");
  expect(readIn([...ended])).toEqual(messages);
  expect(readIn([ended])).toEqual(messages);
  // The last line end may be half of one: it counts when the next character is there.
  expect(readIn([...text.replaceAll("\n", "\r"), ":"])).toEqual(messages);
});

test("a message that is not complete is not told", () => {
  expect(readIn(["data: one\n"])).toEqual([]);
});

test("an event longer than the bound ends the reading, in one line or in many", () => {
  const line = createSseReader(100);
  expect(line.push(`data: ${"x".repeat(50)}`)).toEqual([]);
  expect(line.push("x".repeat(60))).toBe("too-long");
  const many = createSseReader(100);
  const answers = Array.from({ length: 4 }, () => many.push(`data: ${"x".repeat(40)}\n`));
  expect(answers).toContain("too-long");
});

test("waits grow to five seconds and stay there, each a quarter around", () => {
  expect([0, 1, 2, 3, 9].map((attempt) => waitBefore(attempt, 0.5))).toEqual([
    500, 1000, 2000, 5000, 5000,
  ]);
  expect([waitBefore(0, 0), waitBefore(0, 1)]).toEqual([375, 625]);
});

const event = (turn: string): string =>
  JSON.stringify({ type: "context-warning", session: "s", at: 1, turn, filled: 0.8, limit: 10 });

function streamOf(...chunks: readonly string[]): Response {
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk));
      controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

/** Answers in order; then the stream is closed. */
async function listenTo(answers: readonly (() => Response)[]) {
  const events: PlimsollEvent[] = [];
  const states: Connection[] = [];
  const asked: Headers[] = [];
  const left = [...answers];
  const done = Promise.withResolvers<void>();
  const stream = openEvents({
    token: () => "secret",
    onEvent: (given) => events.push(given),
    onState: (state) => {
      states.push(state);
      if (state.kind !== "refused" && (state.kind !== "waiting" || left.length > 0)) return;
      stream.close();
      done.resolve();
    },
    fetch: async (_, init) => {
      asked.push(new Headers(init?.headers));
      const answer = left.shift();
      if (answer === undefined) throw new TypeError("no more");
      return answer();
    },
    // Nothing is silent for long here: only what waits to come back is called.
    later: (work, ms) => {
      let isOff = ms > 10_000;
      queueMicrotask(() => isOff || work());
      return () => {
        isOff = true;
      };
    },
    random: () => 0.5,
  });
  await done.promise;
  // Nothing comes after the end.
  await new Promise((resolve) => setTimeout(resolve, 0));
  return { events, states, asked };
}

test("a stream that ends is opened again, from the last numbered event on", async () => {
  const { events, states, asked } = await listenTo([
    () => streamOf(`id: 41\ndata: ${event("a")}\n\n`, `data: ${event("b")}\n\n`),
    () => streamOf(`id: 42\ndata: ${event("c")}\n\n`),
  ]);
  expect(events.map((given) => "turn" in given && given.turn)).toEqual(["a", "b", "c"]);
  expect(asked.map((headers) => headers.get("last-event-id"))).toEqual([null, "41"]);
  expect(asked.map((headers) => headers.get("authorization"))).toEqual([
    "Bearer secret",
    "Bearer secret",
  ]);
  expect(states).toEqual([
    { kind: "connecting" },
    { kind: "live" },
    { kind: "waiting", retryMs: 500 },
    { kind: "connecting" },
    { kind: "live" },
    { kind: "waiting", retryMs: 500 },
  ]);
});

test("a service that is away is asked less and less often", async () => {
  const away = (): Response => {
    throw new TypeError("Failed to fetch");
  };
  const { states } = await listenTo([away, () => new Response("", { status: 503 }), away, away]);
  expect(states.flatMap((state) => (state.kind === "waiting" ? state.retryMs : []))).toEqual([
    500, 1000, 2000, 5000,
  ]);
});

test("a token that is not known is asked with once, and the service's sentence is told", async () => {
  const message = "Send the token as `Authorization: Bearer …`.";
  const { states, asked } = await listenTo([
    () => Response.json({ error: { code: "UNAUTHORIZED", message } }, { status: 401 }),
  ]);
  expect(states).toEqual([{ kind: "connecting" }, { kind: "refused", sentence: message }]);
  expect(asked).toHaveLength(1);
});

test("what is no event is passed over, and the stream goes on", async () => {
  const { events } = await listenTo([
    () => streamOf("data: {broken\n\n", "data: null\n\n", "data: 7\n\n", `data: ${event("a")}\n\n`),
  ]);
  expect(events).toHaveLength(1);
});

test("characters that a chunk cuts in two arrive whole", async () => {
  const bytes = new TextEncoder().encode(`data: ${event("é🚢")}\n\n`);
  const { events } = await listenTo([
    () =>
      new Response(
        new ReadableStream<Uint8Array>({
          start: (controller) => {
            for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
            controller.close();
          },
        }),
      ),
  ]);
  expect(events).toMatchObject([{ turn: "é🚢" }]);
});
