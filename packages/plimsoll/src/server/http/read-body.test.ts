/** Bodies through a real server: bounds, compression, and what is released when something fails. */

import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PlimsollError } from "../../message/error.ts";
import { readBody } from "./read-body.ts";
import { encodingOf, isUnpackable, plain } from "./unpack.ts";

let server: Server;
let url: string;

beforeAll(async () => {
  server = createServer(async (request, response) => {
    try {
      const { raw, json, release } = await readBody(request);
      response.end(JSON.stringify({ raw: raw.length, json: new TextDecoder().decode(json) }));
      release();
    } catch (error) {
      response.statusCode = PlimsollError.is(error) ? error.status : 500;
      response.end(PlimsollError.is(error) ? error.code : String(error));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => void server.close());

async function send(
  body: Uint8Array | string,
  encoding?: string,
): Promise<{ status: number; text: string }> {
  const response = await fetch(url, {
    method: "POST",
    body: Buffer.from(body),
    headers: encoding === undefined ? {} : { "content-encoding": encoding },
  });
  return { status: response.status, text: await response.text() };
}

test.each([
  ["as it is", (text: string) => Buffer.from(text), undefined],
  ["packed by gzip", (text: string) => gzipSync(text), "gzip"],
  ["packed by zstd", (text: string) => zstdCompressSync(text), "zstd"],
])("a body %s is read, and its own bytes are kept", async (_name, pack, encoding) => {
  const text = JSON.stringify({ words: "lorem ".repeat(500_000) });
  const packed = pack(text);
  const { status, text: answer } = await send(packed, encoding);
  expect([status, JSON.parse(answer)]).toEqual([200, { raw: packed.length, json: text }]);
});

test.each([
  ["an encoding that nobody knows", "{}", "rot13", 415],
  ["a name that every object has", "{}", "constructor", 415],
  ["what is not gzip at all", "{}", "gzip", 400],
])("%s is refused", async (_name, body, encoding, status) => {
  expect((await send(body, encoding)).status).toBe(status);
});

test("a bomb is refused before it has unfolded", async () => {
  const bomb = gzipSync(Buffer.alloc(300 * 1024 * 1024));
  expect(bomb.length).toBeLessThan(1024 * 1024);
  expect(await send(bomb, "gzip")).toEqual({ status: 413, text: "BODY_TOO_LARGE" });
});

test("a few kilobytes that unpack to 32 MiB are refused, six at once as well", async () => {
  const bomb = zstdCompressSync(Buffer.alloc(32 * 1024 * 1024, " "));
  expect(bomb.length).toBeLessThan(10_000);
  const answers = await Promise.all(Array.from({ length: 6 }, () => send(bomb, "zstd")));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 413));
});

test("what a client declares is refused at once when it is too much", async () => {
  const { port } = server.address() as AddressInfo;
  const socket = connect(port, "127.0.0.1");
  socket.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${300 * 1024 * 1024}\r\n\r\n`);
  const answer = await new Promise<string>((resolve) =>
    socket.once("data", (data) => resolve(data.toString())),
  );
  socket.destroy();
  expect(answer).toContain("413");
});

test("a body that breaks off is an error, and the next one is read", async () => {
  const { port } = server.address() as AddressInfo;
  const socket = connect(port, "127.0.0.1");
  socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{"half":', () =>
    socket.destroy(),
  );
  await new Promise((resolve) => socket.once("close", resolve));
  expect((await send("{}")).status).toBe(200);
});

test("how a body is packed is said in any case, and a body that says nothing is plain", () => {
  expect(encodingOf({ "content-encoding": "GZIP" })).toBe("gzip");
  expect(encodingOf({})).toBe(plain);
  expect(isUnpackable(plain)).toBe(false);
});
