/** Reads a request body up to a maximum size, and unpacks it if necessary. */

import type { IncomingMessage } from "node:http";
import { PlimsollError } from "../../message/error.ts";
import { type BufferedBytes, type BytesInFlight, bytesInFlight } from "./buffered-bytes.ts";
import { encodingOf, isUnpackable, plain, tooLarge, unpackPieces } from "./unpack.ts";

export interface ReadBody {
  /** The bytes as they came. Plimsoll sends them upstream if it edits nothing. */
  readonly raw: Uint8Array;
  /** The unpacked JSON. */
  readonly json: Uint8Array;
}

export interface BodyBounds {
  /** Maximum size of one body, both compressed and unpacked. */
  readonly maxBytes: number;
  /** Counts the bytes of all bodies that are in memory. */
  readonly inFlight: BytesInFlight;
}

const bodyBounds: BodyBounds = { maxBytes: 256 * 1024 * 1024, inFlight: bytesInFlight };
/** Initial size of the buffer. The buffer grows with the data that arrives, because a declared length proves nothing. */
const firstBufferBytes = 1024 * 1024;

/**
 * Contract: call `release` when the body is no longer needed. Until then, the body's bytes count towards the limit for all
 * bodies.
 */
export async function readBody(
  request: IncomingMessage,
  { maxBytes, inFlight }: BodyBounds = bodyBounds,
): Promise<ReadBody & { release(): void }> {
  const declared = Number(request.headers["content-length"] ?? 0);
  if (declared > maxBytes) throw tooLarge(maxBytes);
  const encoding = encodingOf(request.headers);
  if (encoding !== plain && !isUnpackable(encoding)) {
    throw new PlimsollError(
      "UNSUPPORTED_MEDIA_TYPE",
      "Send the body uncompressed, or compressed with gzip, deflate, br or zstd.",
      { status: 415 },
    );
  }
  const buffered = inFlight.startBuffer();
  try {
    const raw = await collect(request, { declared, maxBytes, buffered });
    if (encoding === plain) return { raw, json: raw, release: buffered.release };
    const pieces: Uint8Array[] = [];
    for await (const piece of unpackPieces(raw, encoding, { maxBytes, buffered }))
      pieces.push(piece);
    return { raw, json: Buffer.concat(pieces), release: buffered.release };
  } catch (error) {
    buffered.release();
    throw error;
  }
}

interface Collecting {
  readonly declared: number;
  readonly maxBytes: number;
  readonly buffered: BufferedBytes;
}

async function collect(
  request: IncomingMessage,
  { declared, maxBytes, buffered }: Collecting,
): Promise<Uint8Array> {
  let buffer = Buffer.allocUnsafe(Math.min(declared || 64 * 1024, firstBufferBytes));
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    if (length + chunk.length > maxBytes) throw tooLarge(maxBytes);
    buffered.take(chunk.length);
    if (length + chunk.length > buffer.length) {
      const larger = Buffer.allocUnsafe(Math.min(maxBytes, (length + chunk.length) * 2));
      buffer.copy(larger, 0, 0, length);
      buffer = larger;
    }
    chunk.copy(buffer, length);
    length += chunk.length;
  }
  return buffer.subarray(0, length);
}
