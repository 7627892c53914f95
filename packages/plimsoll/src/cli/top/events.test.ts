import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import type { PlimsollEvent } from "../../message/event.ts";
import { createSseReader, followEvents, waitBefore } from "./events.ts";
import type { Link } from "./state.ts";

describe("a stream of events", () => {
  const text =
    ': plimsoll events\n\nid: 7\nevent: turn-end\ndata: {"a":1}\n\n: keep-alive\n\ndata: one\ndata: two\n\n';

  test("is read the same wherever it is split", () => {
    for (let length = 1; length <= text.length; length++) {
      const read = createSseReader();
      const messages = [];
      for (let from = 0; from < text.length; from += length)
        messages.push(...read(text.slice(from, from + length)));
      expect(messages).toEqual([{ id: "7", data: '{"a":1}' }, { data: "one\ntwo" }]);
    }
  });

  test("with an event that never ends is not read on", () => {
    const read = createSseReader(100);
    expect(read(`data: ${"x".repeat(50)}`)).toEqual([]);
    expect(read("x".repeat(50))).toBe("too-long");
  });

  test("is waited for 0.5, 1, 2, then 5 seconds", () => {
    expect([0, 1, 2, 3, 4, 99].map(waitBefore)).toEqual([500, 1000, 2000, 5000, 5000, 5000]);
  });
});

describe("a service that comes and goes", () => {
  const closing: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
  });

  /** Answers each request to /events by the next of these. */
  async function serve(
    ...answers: readonly ((request: IncomingMessage, response: ServerResponse) => void)[]
  ): Promise<{ readonly url: string; readonly requests: IncomingMessage[] }> {
    const requests: IncomingMessage[] = [];
    const server = createServer((request, response) => {
      const answer = answers[requests.push(request) - 1];
      if (answer === undefined) response.writeHead(500).end();
      else answer(request, response);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    closing.push(async () => {
      server.closeAllConnections();
      server.close();
    });
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
  }

  /** Follows until this many changes of the link were told. */
  async function follow(
    locate: () => Promise<string | undefined>,
    links: number,
  ): Promise<{ readonly links: readonly Link[]; readonly events: readonly PlimsollEvent[] }> {
    const heard = { links: [] as Link[], events: [] as PlimsollEvent[] };
    const stop = new AbortController();
    await followEvents({
      locate,
      token: "secret",
      signal: stop.signal,
      onEvent: (event) => heard.events.push(event),
      onLink: (link) => {
        heard.links.push(link);
        if (heard.links.length === links) stop.abort();
      },
    });
    return heard;
  }

  const stream = (text: string) => (_: IncomingMessage, response: ServerResponse) => {
    response.writeHead(200, { "content-type": "text/event-stream" }).end(text);
  };

  test("is asked again from the last event that was heard, with the token", async () => {
    const { url, requests } = await serve(
      stream('id: 41\ndata: {"type":"turn-end","session":"a"}\n\ndata: not json\n\n'),
      stream(""),
    );
    const { links, events } = await follow(async () => url, 3);
    expect(links.map(({ kind }) => kind)).toEqual(["live", "waiting", "live"]);
    expect(events).toEqual([{ type: "turn-end", session: "a" }]);
    expect(requests.map(({ headers }) => headers["last-event-id"])).toEqual([undefined, "41"]);
    expect(requests[1]?.headers.authorization).toBe("Bearer secret");
  });

  test("is looked for where it is then", async () => {
    const { url } = await serve(stream(""));
    const places = [undefined, url];
    const { links } = await follow(async () => places.shift(), 2);
    expect(links).toEqual([{ kind: "waiting", retryMs: 500 }, { kind: "live" }]);
  });

  test("says in its own words that it does not know the token", async () => {
    const { url } = await serve((_, response) =>
      response.writeHead(401).end(JSON.stringify({ error: { message: "Who are you?" } })),
    );
    const { links } = await follow(async () => url, 1);
    expect(links).toEqual([{ kind: "refused", sentence: "Who are you?" }]);
  });
});
