/** How bytes lie in the store: compressed when that pays, and checked against their hash on every read. */

import { hash } from "node:crypto";
import { promisify } from "node:util";
import { zstdCompress, zstdDecompress, zstdDecompressSync } from "node:zlib";
import { PlimsollError } from "../message/error.ts";
import type { StoredBody } from "./store.ts";

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/** Below this, compressing costs more time than the disk would. */
const compressFromBytes = 4096;
/** Nothing larger was ever stored: the inbound limit is 256 MiB. */
const maxBodyBytes = 512 * 1024 * 1024;
/** What is this small, packed and unpacked, is unpacked at once: a stream for it costs several times the work. */
const atOnce = { packedBytes: 32 * 1024, bytes: 256 * 1024 } as const;

/** Contract: never rejects; what cannot be packed is kept as it is. */
export async function packBody(bytes: Uint8Array): Promise<StoredBody> {
  if (bytes.length < compressFromBytes) return { codec: "raw", bytes: ownBytes(bytes) };
  const packed = await compress(bytes).catch(() => bytes);
  return {
    codec: packed.length < bytes.length ? "zstd" : "raw",
    bytes: ownBytes(packed.length < bytes.length ? packed : bytes),
  };
}

/** A view would hold on to the whole request that it is cut from, and carry it along to the store's thread. */
function ownBytes(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes);
}

export interface BodyToRead extends StoredBody {
  /** SHA-256 of the unpacked bytes. */
  readonly hash: string;
  /** Says what it is in the error: a handle, or session and number. */
  readonly name: string;
}

/** SQLite does not notice flipped bytes in a blob; this does. */
export async function unpackBody(stored: BodyToRead): Promise<Uint8Array> {
  const bytes = await unpack(stored);
  if (bytes === undefined || sha256(bytes) !== stored.hash) {
    throw new PlimsollError(
      "STORE_CORRUPT",
      `The stored bytes of ${stored.name} do not match their hash: restore the database from a backup.`,
      { fields: { name: stored.name } },
    );
  }
  return bytes;
}

async function unpack(stored: BodyToRead): Promise<Uint8Array | undefined> {
  if (stored.codec === "raw") return stored.bytes;
  try {
    const small = unpackAtOnce(stored.bytes);
    if (small !== undefined) return small;
    return await decompress(stored.bytes, { maxOutputLength: maxBodyBytes });
  } catch {
    return undefined;
  }
}

/** Undefined: it is larger than that, or broken. */
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
