/**
 * Unpacks compressed bodies piece by piece, so that an oversized body is refused before all of it is in memory. At most one piece
 * is unpacked beyond the limit.
 */

import type { IncomingHttpHeaders } from "node:http";
import { type Duplex, pipeline, type Readable, Transform } from "node:stream";
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
} from "node:zlib";
import { PlimsollError } from "../../message/error.ts";
import type { BufferedBytes } from "./buffered-bytes.ts";

/** Size of the pieces that an unpacker returns. */
export const pieceBytes: number = 64 * 1024;
const options = { chunkSize: pieceBytes };
/**
 * 8 MiB is the largest window that RFC 9659 allows on HTTP. Without this limit, zstd would allocate 128 MiB if a body asks for
 * it.
 */
const zstdOptions = { ...options, params: { [constants.ZSTD_d_windowLogMax]: 23 } };

const unpackers: ReadonlyMap<string, () => Duplex> = new Map<string, () => Duplex>([
  ["gzip", () => createGunzip(options)],
  ["x-gzip", () => createGunzip(options)],
  ["deflate", () => createInflate(options)],
  ["br", () => createBrotliDecompress(options)],
  ["zstd", () => createZstdDecompress(zstdOptions)],
]);

/**
 * Maximum ratio of unpacked to packed size (threat T13: a few kilobytes must not become gigabytes). Real conversations unpack to
 * 3 to 30 times their size, or to more if they contain, for example, a million equal lines. So the first `freeUnpackedBytes` are
 * allowed at any ratio: a window of a million tokens has about 5 MB.
 */
export const maxUnpackRatio = 100;
export const freeUnpackedBytes: number = 8 * 1024 * 1024;

/** The name of the encoding of an uncompressed body. */
export const plain = "identity";

/** The encoding in the headers of a body. */
export function encodingOf(headers: IncomingHttpHeaders): string {
  return String(headers["content-encoding"] ?? plain).toLowerCase();
}

/** Whether `unpackPieces` supports the encoding. */
export function isUnpackable(encoding: string): boolean {
  return unpackers.has(encoding);
}

function isOverpacked(unpackedBytes: number, packedBytes: number): boolean {
  return unpackedBytes > freeUnpackedBytes && unpackedBytes > maxUnpackRatio * packedBytes;
}

export interface UnpackBound {
  readonly maxBytes: number;
  /** Counts the bytes of every piece before the piece is returned. */
  readonly buffered: BufferedBytes;
}

/** Contract: throws BODY_INVALID, BODY_TOO_LARGE, or the error of `buffered`. Unpacking stops when the caller stops reading. */
export async function* unpackPieces(
  packed: Uint8Array,
  encoding: string,
  { maxBytes, buffered }: UnpackBound,
): AsyncGenerator<Uint8Array, void> {
  const unpacker = unpackers.get(encoding)?.();
  if (unpacker === undefined) throw notValid(encoding);
  unpacker.end(packed);
  let size = 0;
  try {
    for await (const piece of unpacker as AsyncIterable<Uint8Array>) {
      size += piece.length;
      buffered.take(piece.length);
      if (isOverpacked(size, packed.length)) throw overpacked();
      if (size > maxBytes) throw tooLarge(maxBytes);
      yield piece;
    }
  } catch (error) {
    throw PlimsollError.is(error) ? error : notValid(encoding, error);
  } finally {
    unpacker.destroy();
  }
}

/**
 * Unpacks an answer that is compressed although Plimsoll asked for an uncompressed one. Unpacks only as fast as the client reads,
 * so only a small buffer is in memory. If the answer unpacks to too many bytes, the stream ends with an error.
 */
export function plainBody(body: Readable, headers: IncomingHttpHeaders): Readable {
  const unpacker = unpackers.get(encodingOf(headers))?.();
  if (unpacker === undefined) return body;
  let packedBytes = 0;
  let unpackedBytes = 0;
  const countPacked = new Transform({
    transform: (chunk: Uint8Array, _encoding, done) => {
      packedBytes += chunk.length;
      done(null, chunk);
    },
  });
  const countUnpacked = new Transform({
    transform: (piece: Uint8Array, _encoding, done) => {
      unpackedBytes += piece.length;
      if (isOverpacked(unpackedBytes, packedBytes)) done(tooFar());
      else done(null, piece);
    },
  });
  // The reader of the last stream receives any error.
  pipeline(body, countPacked, unpacker, countUnpacked, () => undefined);
  return countUnpacked;
}

export function tooLarge(maxBytes: number): PlimsollError {
  return new PlimsollError(
    "BODY_TOO_LARGE",
    `The body is larger than ${maxBytes} bytes. Send a smaller one.`,
    { status: 413 },
  );
}

function overpacked(): PlimsollError {
  return new PlimsollError(
    "BODY_TOO_LARGE",
    `The body unpacks to more than ${maxUnpackRatio} times its size. Send it uncompressed.`,
    { status: 413 },
  );
}

function notValid(encoding: string, cause?: unknown): PlimsollError {
  return new PlimsollError("BODY_INVALID", `The body is not valid ${encoding}.`, {
    status: 400,
    cause,
  });
}

function tooFar(): PlimsollError {
  return new PlimsollError(
    "UPSTREAM_FAILED",
    `The upstream's answer unpacks to more than ${maxUnpackRatio} times its size.`,
    { status: 502 },
  );
}
