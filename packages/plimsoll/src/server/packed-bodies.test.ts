/**
 * Compressed bodies and answers: refused by their unpacked size, counted while they arrive, and never unpacked beyond the limit.
 */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { PlimsollError } from "../message/error.ts";
import type { Turn, TurnResult } from "../session/turn/turn.ts";
import { wires } from "../wire/wires.ts";
import { type BytesInFlight, bytesInFlight, createBytesInFlight } from "./http/buffered-bytes.ts";
import { readBody } from "./http/read-body.ts";
import { sendError } from "./http/reply.ts";
import { freeUnpackedBytes, maxUnpackRatio, pieceBytes, plainBody } from "./http/unpack.ts";
import { watchAnswer } from "./proxy/watch-answer.ts";

const mebibyte = 1024 * 1024;
const fast = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } };
const packers = {
  gzip: (bytes: Uint8Array) => gzipSync(bytes),
  deflate: (bytes: Uint8Array) => deflateSync(bytes),
  br: (bytes: Uint8Array) => brotliCompressSync(bytes, fast),
  zstd: (bytes: Uint8Array) => zstdCompressSync(bytes),
};
type Encoding = keyof typeof packers;
const encodings = Object.keys(packers) as Encoding[];
const bombOf = (encoding: Encoding): Buffer<ArrayBuffer> =>
  packers[encoding](Buffer.alloc(32 * mebibyte, " "));

let server: Server;
let url: string;
let bounds: { maxBytes: number; inFlight: BytesInFlight };
/** All bytes ever held: compressed ones, and every unpacked piece. */
let taken = 0;

function boundsOf(maxBytes: number, maxInFlight: number): typeof bounds {
  const pool = createBytesInFlight(maxInFlight);
  const startBuffer: BytesInFlight["startBuffer"] = () => {
    const buffered = pool.startBuffer();
    return {
      ...buffered,
      take: (bytes) => {
        taken += bytes;
        buffered.take(bytes);
      },
    };
  };
  return {
    maxBytes,
    inFlight: {
      startBuffer,
      get count() {
        return pool.count;
      },
    },
  };
}

beforeAll(async () => {
  server = createServer(async (request, response) => {
    try {
      const { json, release } = await readBody(request, bounds);
      response.end(String(json.length));
      release();
    } catch (error) {
      sendError(response, error, wires.anthropic);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => void server.close());
beforeEach(() => {
  taken = 0;
  bounds = boundsOf(256 * mebibyte, 1024 * mebibyte);
});

async function send(body: Buffer<ArrayBuffer>, encoding: string): Promise<[number, string]> {
  const response = await fetch(url, {
    method: "POST",
    body,
    headers: { "content-encoding": encoding },
  });
  return [response.status, await response.text()];
}

test.each(encodings)("six small bodies of %s do not become gigabytes", async (encoding) => {
  const bomb = bombOf(encoding);
  const answers = await Promise.all(Array.from({ length: 6 }, () => send(bomb, encoding)));
  const message = `The body unpacks to more than ${maxUnpackRatio} times its size. Send it uncompressed.`;
  const refusal = { type: "error", error: { type: "request_too_large", message } };
  expect(answers.map(([status, text]) => [status, JSON.parse(text)])).toEqual(
    answers.map(() => [413, expect.objectContaining(refusal)]),
  );
  const allowed = Math.max(freeUnpackedBytes, maxUnpackRatio * bomb.length) + pieceBytes;
  expect(taken).toBeLessThanOrEqual(6 * (bomb.length + allowed));
  expect(bounds.inFlight.count).toBe(0);
});

test.each(encodings)("a body of a million equal lines is read from %s", async (encoding) => {
  const text = Buffer.alloc(freeUnpackedBytes, "same\n");
  const packed = packers[encoding](text);
  expect(text.length / packed.length).toBeGreaterThan(maxUnpackRatio);
  expect(await send(packed, encoding)).toEqual([200, String(text.length)]);
});

/** Hexadecimal digits compress to about half. */
function hardToPack(bytes: number): Buffer<ArrayBuffer> {
  let seed = 1;
  const words = new Uint32Array(bytes / 8).map(() => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return seed;
  });
  return Buffer.from(Buffer.from(words.buffer).toString("hex"));
}

test("a body larger than the limit is refused after one piece more", async () => {
  const packed = gzipSync(hardToPack(4 * mebibyte));
  bounds = boundsOf(3 * mebibyte, 1024 * mebibyte);
  const [status, text] = await send(packed, "gzip");
  expect([status, text]).toEqual([413, expect.stringContaining("larger than")]);
  expect(taken).toBeLessThanOrEqual(packed.length + 3 * mebibyte + pieceBytes);
});

test("bodies at once are refused as soon as they have unpacked to what all may hold", async () => {
  const packed = gzipSync(hardToPack(4 * mebibyte));
  const room = 4 * packed.length + 2 * mebibyte;
  bounds = boundsOf(256 * mebibyte, room);
  const answers = await Promise.all(Array.from({ length: 4 }, () => send(packed, "gzip")));
  const refused = answers.filter(([status]) => status === 503);
  expect(refused.length).toBeGreaterThan(0);
  expect(refused[0]?.[1]).toContain("Too many large requests at once");
  expect(bounds.inFlight.count).toBe(0);
  expect(await send(gzipSync("{}"), "gzip")).toEqual([200, "2"]);
});

test.each(encodings)("a body of %s that breaks off in the middle is no body", async (encoding) => {
  const packed = packers[encoding](hardToPack(mebibyte));
  const [status, text] = await send(packed.subarray(0, packed.length / 2), encoding);
  expect([status, text]).toEqual([400, expect.stringContaining(`not valid ${encoding}`)]);
});

test.each(encodings)("an answer that unpacks too far from %s breaks off", async (encoding) => {
  const bomb = bombOf(encoding);
  const plain = plainBody(Readable.from([bomb]), { "content-encoding": encoding });
  let read = 0;
  const reading = (async () => {
    for await (const piece of plain as AsyncIterable<Uint8Array>) read += piece.length;
  })();
  await expect(reading).rejects.toSatisfy(
    (error) => PlimsollError.is(error) && error.code === "UPSTREAM_FAILED",
  );
  const allowed = Math.max(freeUnpackedBytes, maxUnpackRatio * bomb.length);
  expect(read).toBeLessThanOrEqual(allowed);
});

test.each(encodings)("an answer of %s that passes by is read, but no bomb", async (encoding) => {
  const results: TurnResult[] = [];
  const turn = { end: async (result: TurnResult) => void results.push(result) };
  const headers = { "content-type": "application/json", "content-encoding": encoding };
  const said = { type: "message", role: "assistant", content: [{ type: "text", text: "Yes." }] };
  for (const body of [packers[encoding](Buffer.from(JSON.stringify(said))), bombOf(encoding)]) {
    const watch = watchAnswer(turn as unknown as Turn, wires.anthropic, {
      status: 200,
      headers,
      framing: undefined,
    });
    watch.push(body);
    await watch.end("end");
  }
  expect(results.map(({ answer }) => answer?.outcome)).toEqual(["message", "unread"]);
  expect(bytesInFlight.count).toBe(0);
});
