/** Stores bytes compressed, if that saves space, and checks them against their hash on every read. */

import { hash } from "node:crypto";
import { promisify } from "node:util";
import {
  inflateRawSync,
  zstdCompress,
  zstdCompressSync,
  zstdDecompress,
  zstdDecompressSync,
} from "node:zlib";
import { PlimsollError } from "../message/error.ts";
import { createPacer } from "../workers/pacer.ts";
import type { StoredBody } from "./store.ts";

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/** Below this size, compressing takes more time than writing the bytes to disk. */
const compressFromBytes = 1024;
/**
 * From this size on, a thread compresses the bytes. Handing smaller ones to a thread would take longer than compressing them, which
 * takes about 0.05 ms for a few kilobytes.
 */
const threadFromBytes = 32 * 1024;
/** Stores of earlier versions have small bodies in this form. No such body is larger. */
const deflatedBytesMax = 4096;
/** In one turn of the event loop, so many bytes are compressed. That takes a few milliseconds. */
const pacer = createPacer({ costPerTurn: 128 * 1024 });
/** Maximum size of a stored body. No body is larger, because the limit for requests is 256 MiB. */
const maxBodyBytes = 512 * 1024 * 1024;
/**
 * Maximum packed and unpacked size of a body that is unpacked synchronously. For such small bodies, a stream takes several times
 * the work.
 */
const atOnce = { packedBytes: 32 * 1024, bytes: 256 * 1024 } as const;

/**
 * Contract: never rejects. Bytes that cannot be compressed are kept as they are. Sessions take turns, so that none waits for all
 * bodies of another.
 */
export async function packBody(bytes: Uint8Array, session = ""): Promise<StoredBody> {
  if (bytes.length < compressFromBytes) return { codec: "raw", bytes: ownBytes(bytes) };
  if (bytes.length >= threadFromBytes)
    return smallerOf(bytes, await compress(bytes).catch(() => bytes));
  // Lets the caller continue first. The bytes need not be compressed before the turn ends.
  await pacer.passLater(bytes.length, session);
  return smallerOf(bytes, zstdCompressSync(bytes));
}

function smallerOf(bytes: Uint8Array, packed: Uint8Array): StoredBody {
  return packed.length < bytes.length
    ? { codec: "zstd", bytes: ownBytes(packed) }
    : { codec: "raw", bytes: ownBytes(bytes) };
}

/** Copies the bytes. A view would keep the whole request in memory, and the whole request would be sent to the store's thread. */
function ownBytes(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes);
}

export interface BodyToRead extends StoredBody {
  /** SHA-256 of the unpacked bytes. */
  readonly hash: string;
  /** Name of the body for error messages: a handle, or session and number. */
  readonly name: string;
  readonly session: string;
}

/** Unpacks a body and checks its hash, because SQLite does not notice flipped bytes in a blob. */
export async function unpackBody(stored: BodyToRead): Promise<Uint8Array> {
  const bytes = await unpack(stored);
  if (bytes === undefined || sha256(bytes) !== stored.hash) {
    throw new PlimsollError(
      "STORE_CORRUPT",
      `The stored bytes of ${stored.name} do not match their hash, so the disk has changed them.`,
      { fields: { name: stored.name, session: stored.session } },
    );
  }
  return bytes;
}

/** Returns no bytes if the block cannot be unpacked. The text that contains the block then does not match its hash. */
export async function unpackBlock(stored: StoredBody): Promise<Uint8Array> {
  return (await unpack(stored)) ?? new Uint8Array();
}

async function unpack(stored: StoredBody): Promise<Uint8Array | undefined> {
  if (stored.codec === "raw") return stored.bytes;
  try {
    if (stored.codec === "deflate")
      return inflateRawSync(stored.bytes, { maxOutputLength: deflatedBytesMax });
    const small = unpackAtOnce(stored.bytes);
    if (small !== undefined) return small;
    return await decompress(stored.bytes, { maxOutputLength: maxBodyBytes });
  } catch {
    return undefined;
  }
}

/** Undefined if the body is larger than `atOnce` allows, or broken. */
function unpackAtOnce(packed: Uint8Array): Uint8Array | undefined {
  if (packed.length > atOnce.packedBytes) return undefined;
  try {
    return zstdDecompressSync(packed, { maxOutputLength: atOnce.bytes });
  } catch {
    return undefined;
  }
}

export function sha256(bytes: Uint8Array | string): string {
  return hash("sha256", bytes, "hex");
}
