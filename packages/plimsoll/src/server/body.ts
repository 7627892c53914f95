/** Reads a request body: bounded, and unpacked if need be. */

import type { IncomingMessage } from "node:http";
import { promisify } from "node:util";
import { gunzip, zstdDecompress } from "node:zlib";
import { PlimsollError } from "../message/error.ts";

export interface ReadBody {
  /** As it came: what goes upstream when nothing is edited. */
  readonly raw: Uint8Array;
  /** The JSON itself. */
  readonly json: Uint8Array;
}

const maxBodyBytes: number = 256 * 1024 * 1024;
/** All bodies being read or held at once. */
const maxBytesInFlight = 1024 * 1024 * 1024;
/** What a client declares is not yet sent: the buffer grows with what arrives. */
const firstBufferBytes = 1024 * 1024;

type Unpack = (bytes: Uint8Array, options: { maxOutputLength: number }) => Promise<Buffer>;
const unpackers: ReadonlyMap<string, Unpack> = new Map<string, Unpack>([
  ["gzip", promisify(gunzip)],
  ["zstd", promisify(zstdDecompress)],
]);

let bytesInFlight = 0;

/** Contract: call `release` when the body is no longer needed; it counts against what others may hold. */
export async function readBody(request: IncomingMessage): Promise<ReadBody & { release(): void }> {
  const declared = Number(request.headers["content-length"] ?? 0);
  if (declared > maxBodyBytes) throw tooLarge();
  const encoding = (request.headers["content-encoding"] ?? "identity").toLowerCase();
  if (encoding !== "identity" && !unpackers.has(encoding)) {
    throw new PlimsollError(
      "UNSUPPORTED_MEDIA_TYPE",
      "Send the body as it is, or packed by gzip or zstd.",
      {
        status: 415,
      },
    );
  }
  const held = holdBytes();
  try {
    const raw = await collect(request, declared, held);
    const json = encoding === "identity" ? raw : await unpack(raw, encoding);
    if (json !== raw) held.take(json.length);
    return { raw, json, release: held.release };
  } catch (error) {
    held.release();
    throw error;
  }
}

interface HeldBytes {
  take(bytes: number): void;
  release(): void;
}

function holdBytes(): HeldBytes {
  let own = 0;
  return {
    take: (bytes) => {
      own += bytes;
      bytesInFlight += bytes;
      if (bytesInFlight > maxBytesInFlight) {
        throw new PlimsollError(
          "OVERLOADED",
          "Too many large requests at once: try again shortly.",
          {
            status: 503,
          },
        );
      }
    },
    release: () => {
      bytesInFlight -= own;
      own = 0;
    },
  };
}

async function collect(
  request: IncomingMessage,
  declared: number,
  held: HeldBytes,
): Promise<Uint8Array> {
  let buffer = Buffer.allocUnsafe(Math.min(declared || 64 * 1024, firstBufferBytes));
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    if (length + chunk.length > maxBodyBytes) throw tooLarge();
    held.take(chunk.length);
    if (length + chunk.length > buffer.length) {
      const larger = Buffer.allocUnsafe(Math.min(maxBodyBytes, (length + chunk.length) * 2));
      buffer.copy(larger, 0, 0, length);
      buffer = larger;
    }
    chunk.copy(buffer, length);
    length += chunk.length;
  }
  return buffer.subarray(0, length);
}

async function unpack(raw: Uint8Array, encoding: string): Promise<Uint8Array> {
  try {
    return (await unpackers.get(encoding)?.(raw, { maxOutputLength: maxBodyBytes })) ?? raw;
  } catch (cause) {
    const isBomb =
      cause instanceof Error && "code" in cause && cause.code === "ERR_BUFFER_TOO_LARGE";
    if (isBomb) throw tooLarge();
    throw new PlimsollError("BODY_INVALID", `The body is not valid ${encoding}.`, {
      status: 400,
      cause,
    });
  }
}

function tooLarge(): PlimsollError {
  return new PlimsollError(
    "BODY_TOO_LARGE",
    `The body is larger than ${maxBodyBytes} bytes: send less.`,
    {
      status: 413,
    },
  );
}
