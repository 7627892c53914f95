import { expect, test } from "vitest";
import type { PlimsollEvent } from "../message/event.ts";
import {
  type Connection,
  type EventStreamOptions,
  openEvents,
  waitBefore,
} from "./event-stream.ts";

test("waits grow to five seconds and stay there, each a quarter around", () => {
  expect([0, 1, 2, 3, 4, 9].map((attempt) => waitBefore(attempt))).toEqual([
    500, 1000, 2000, 4000, 5000, 5000,
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

type Answer = (signal: AbortSignal) => Response;

/** Gives these answers in order, then closes the stream. */
async function listenTo(
  answers: readonly Answer[],
  options: Partial<Pick<EventStreamOptions, "locate" | "later" | "whenRefused">> = {},
) {
  const events: PlimsollEvent[] = [];
  const states: Connection[] = [];
  const asked: Headers[] = [];
  const addresses: string[] = [];
  const left = [...answers];
  const done = Promise.withResolvers<void>();
  const stream = openEvents({
    locate: () => "http://here",
    whenRefused: "stops",
    token: () => "secret",
    onEvent: (given) => events.push(given),
    onState: (state) => {
      states.push(state);
      const isOver =
        state.kind === "waiting" || (state.kind === "refused" && options.whenRefused !== undefined)
          ? left.length === 0
          : state.kind === "refused";
      if (!isOver) return;
      stream.close();
      done.resolve();
    },
    fetch: async (address, { headers, signal }) => {
      addresses.push(address);
      asked.push(new Headers(headers));
      const answer = left.shift();
      if (answer === undefined) throw new TypeError("no more");
      return answer(signal);
    },
    // No stream is silent for long here, so only waits before a reconnection are run.
    later: (work, ms) => {
      let isOff = ms > 10_000;
      queueMicrotask(() => isOff || work());
      return () => {
        isOff = true;
      };
    },
    ...options,
  });
  await done.promise;
  // Nothing may come after the end.
  await new Promise((resolve) => setTimeout(resolve, 0));
  return { events, states, asked, addresses };
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
    500, 1000, 2000, 4000,
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

test("a token that is not known is asked with again, less and less often, where that is wanted", async () => {
  const refused = (): Response => new Response("no JSON", { status: 403 });
  const { states, asked } = await listenTo([refused, refused, () => streamOf("")], {
    whenRefused: "tries-again",
  });
  const sentence = "The service does not know this token.";
  expect(states.filter(({ kind }) => kind !== "connecting")).toEqual([
    { kind: "refused", sentence },
    { kind: "refused", sentence },
    { kind: "live" },
    { kind: "waiting", retryMs: 500 },
  ]);
  expect(asked).toHaveLength(3);
});

test("a service is looked for before each try, where it is then", async () => {
  const places = [undefined, "http://one", "http://two"];
  const { states, addresses } = await listenTo([() => streamOf(""), () => streamOf("")], {
    locate: async () => places.shift(),
  });
  expect(addresses).toEqual(["http://one/events", "http://two/events"]);
  expect(states.map(({ kind }) => kind)).toEqual([
    ...["connecting", "waiting"],
    ...["connecting", "live", "waiting"],
    ...["connecting", "live", "waiting"],
  ]);
});

test("a stream that says nothing for long is given up, and opened again", async () => {
  const silent: Answer = (signal) =>
    new Response(
      new ReadableStream({
        start: (controller) =>
          signal.addEventListener("abort", () => controller.error(signal.reason)),
      }),
    );
  const { states } = await listenTo([silent, () => streamOf("")], {
    // Every wait ends at once, including the silence timeout.
    later: (work) => {
      let isOff = false;
      setTimeout(() => isOff || work(), 0);
      return () => {
        isOff = true;
      };
    },
  });
  expect(states.filter(({ kind }) => kind === "live")).toHaveLength(2);
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

test("events are read wherever the stream is cut, also between the halves of a line end and of a letter", async () => {
  const bytes = new TextEncoder().encode(
    `: hello\r\n\r\nid: 7\r\ndata: ${event("größer")}\r\n\r\n: still here\r\n\r\n`,
  );
  for (let at = 0; at <= bytes.length; at++) {
    const pieces = new ReadableStream<Uint8Array>({
      start: (controller) => {
        controller.enqueue(bytes.slice(0, at));
        controller.enqueue(bytes.slice(at));
        controller.close();
      },
    });
    const { events, asked } = await listenTo([() => new Response(pieces), () => streamOf("")]);
    expect(events.map((one) => "turn" in one && one.turn)).toEqual(["größer"]);
    expect(asked.at(-1)?.get("last-event-id")).toBe("7");
  }
});

test("an event without an end is not told, and one that is too long ends the stream", async () => {
  const { events } = await listenTo([
    () => streamOf(`data: ${event("unfinished")}\n`),
    () => streamOf(`data: ${"x".repeat(9_000_000)}`, `\n\ndata: ${event("behind")}\n\n`),
    () => streamOf(`data: ${event("next")}\n\n`),
  ]);
  expect(events.map((one) => "turn" in one && one.turn)).toEqual(["next"]);
});
