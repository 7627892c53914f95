/**
 * The MCP server on two streams: requests that arrived before the input ended are answered, and nothing prevents it from ending.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test, vi } from "vitest";
import { memoryWork } from "../../../test/engine/memory-work.ts";
import { childEnvironment } from "../../../test/harness/child-environment.ts";
import { PlimsollError } from "../../message/error.ts";
import { mcpServerOver } from "../../server/mcp/mcp-server.ts";
import type { McpHome } from "../../server/mcp/tools.ts";
import { type ServedStreams, serveStreams } from "./mcp.ts";

const clientInfo = { name: "t", version: "1" };
const hello = {
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo },
};
const ready = { method: "notifications/initialized" };
const call = (id: number, query = "x"): object => ({
  id,
  method: "tools/call",
  params: { name: "recall", arguments: { query } },
});

function lines(...messages: readonly object[]): string {
  return messages.map((one) => `${JSON.stringify({ jsonrpc: "2.0", ...one })}\n`).join("");
}

function idsIn(output: string): readonly number[] {
  return output
    .split("\n")
    .filter(Boolean)
    .map((line) => (JSON.parse(line) as { readonly id?: number }).id ?? 0)
    .toSorted((one, other) => one - other);
}

/** Longer than any test takes. */
const forEver = 10 * 60_000;
const never = new Promise<McpHome>(() => undefined);

/** The ids of all answers, once the server has ended. */
async function served(
  input: Readable,
  open: () => Promise<McpHome>,
  changes: Partial<ServedStreams> = {},
): Promise<readonly number[]> {
  const output = new PassThrough();
  const written = text(output);
  await serveStreams({
    input,
    output,
    server: () => mcpServerOver(open, { tenant: undefined, version: "1", work: memoryWork() }),
    stopped: new AbortController().signal,
    lastAnswersMs: forEver,
    ...changes,
  });
  output.end();
  return idsIn(await written);
}

describe("when the input has ended", () => {
  test("calls that are under way are answered first", async () => {
    const asked = Promise.withResolvers<void>();
    const home = Promise.withResolvers<McpHome>();
    const ids = served(Readable.from([lines(hello, ready, call(2), call(3))]), () => {
      asked.resolve();
      return home.promise;
    });
    await asked.promise;
    setImmediate(() => home.reject(new PlimsollError("STORE_FAILED", "Later.")));
    expect(await ids).toEqual([1, 2, 3]);
  });

  test("they are answered however large they are, and in whatever pieces they came", async () => {
    const all = Buffer.from(lines(hello, ready, call(2, "é".repeat(200_000)), call(3)));
    const pieces = Array.from({ length: Math.ceil(all.length / 70_001) }, (_, index) =>
      all.subarray(index * 70_001, (index + 1) * 70_001),
    );
    const open = () => Promise.reject(new PlimsollError("STORE_FAILED", "Later."));
    expect(await served(Readable.from(pieces), open)).toEqual([1, 2, 3]);
  });

  test("a call that never ends is given up after a while", async () => {
    const input = Readable.from([lines(hello, ready, call(2))]);
    expect(await served(input, () => never, { lastAnswersMs: 50 })).toEqual([1]);
  });

  test("a call that was cancelled is not waited for", async () => {
    const cancelled = { method: "notifications/cancelled", params: { requestId: 2 } };
    const input = Readable.from([lines(hello, ready, call(2), cancelled)]);
    expect(await served(input, () => never)).toEqual([1]);
  });

  test("being stopped ends it at once", async () => {
    const stop = new AbortController();
    const input = Readable.from([lines(hello, ready, call(2))]);
    const open = (): Promise<McpHome> => {
      setImmediate(() => stop.abort());
      return never;
    };
    expect(await served(input, open, { stopped: stop.signal })).toEqual([1]);
  });
});

test("an input that breaks off ends it, too", async () => {
  const told = vi.spyOn(console, "error").mockImplementation(() => undefined);
  const input = new PassThrough();
  const ids = served(input, () => never);
  input.write(lines(hello));
  setImmediate(() => input.destroy(new Error("gone")));
  await ids;
  expect(told.mock.calls).toEqual([["plimsoll: gone"]]);
  told.mockRestore();
});

const folder = mkdtempSync(join(tmpdir(), "plimsoll-mcp-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("lines that are piped into the program are all answered", async () => {
  const program = fileURLToPath(new URL("../../../bin/plimsoll.mjs", import.meta.url));
  const child = spawn(process.execPath, [program, "mcp", "--data", folder], {
    stdio: ["pipe", "pipe", "ignore"],
    env: childEnvironment({ HOME: folder }),
  });
  const gone = once(child, "exit");
  child.stdin.end(lines(hello, ready, call(2), call(3)));
  expect(idsIn(await text(child.stdout))).toEqual([1, 2, 3]);
  expect(await gone).toEqual([0, null]);
});
