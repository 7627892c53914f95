/** Answers that come packed although we ask for plain ones. */

import type { IncomingHttpHeaders } from "node:http";
import { type Duplex, pipeline, type Readable } from "node:stream";
import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
} from "node:zlib";

const unpackers: ReadonlyMap<string, () => Duplex> = new Map<string, () => Duplex>([
  ["gzip", createGunzip],
  ["x-gzip", createGunzip],
  ["deflate", createInflate],
  ["br", createBrotliDecompress],
  ["zstd", createZstdDecompress],
]);

/** Piece by piece, as fast as it is read: however far it unpacks, only a buffer of it is in memory. */
export function plainBody(body: Readable, headers: IncomingHttpHeaders): Readable {
  const encoding = String(headers["content-encoding"] ?? "identity").toLowerCase();
  const unpacker = unpackers.get(encoding)?.();
  if (unpacker === undefined) return body;
  // Whoever reads the plain end meets the error there.
  pipeline(body, unpacker, () => undefined);
  return unpacker;
}
