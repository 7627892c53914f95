/** Reads the width and height of an image from the first bytes of its base64 text. */

export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/**
 * Number of bytes to decode at the first and at the second try. Most headers are short, but a JPEG may begin with a preview and
 * colour profiles.
 */
const headBytes = [64, 262_144] as const;

/** Reads PNG, JPEG, GIF and WebP. Returns undefined for any other format and for damaged images. */
export function imageSize(base64: string): ImageSize | undefined {
  for (const byteCount of headBytes) {
    const bytes = decodeHead(base64, byteCount);
    const size = bytes === undefined ? undefined : sizeInHeader(bytes);
    if (size !== undefined && size.width > 0 && size.height > 0) return size;
    if (bytes === undefined || bytes.length < byteCount) return undefined;
  }
  return undefined;
}

/** Decodes only the first `byteCount` bytes. Returns a string that has one character for each byte. */
export function decodeHead(base64: string, byteCount: number): string | undefined {
  const head = base64.slice(0, Math.ceil(byteCount / 3) * 4).replace(/\s+/g, "");
  try {
    return atob(head.slice(0, head.length & ~3));
  } catch {
    return undefined;
  }
}

function sizeInHeader(bytes: string): ImageSize | undefined {
  if (bytes.startsWith("\x89PNG\r\n\x1a\n")) return sizeAt(bytes, 16, bigEndian, 4);
  if (bytes.startsWith("GIF8")) return sizeAt(bytes, 6, littleEndian, 2);
  if (bytes.startsWith("RIFF") && bytes.startsWith("WEBP", 8)) return webpSize(bytes);
  if (bytes.startsWith("\xff\xd8")) return jpegSize(bytes);
  return undefined;
}

type ReadNumber = (bytes: string, at: number, length: number) => number;

function bigEndian(bytes: string, at: number, length: number): number {
  let value = 0;
  for (let index = 0; index < length; index++) value = value * 256 + bytes.charCodeAt(at + index);
  return value;
}

function littleEndian(bytes: string, at: number, length: number): number {
  let value = 0;
  for (let index = length - 1; index >= 0; index--) {
    value = value * 256 + bytes.charCodeAt(at + index);
  }
  return value;
}

function sizeAt(
  bytes: string,
  at: number,
  read: ReadNumber,
  length: number,
): ImageSize | undefined {
  if (bytes.length < at + 2 * length) return undefined;
  return { width: read(bytes, at, length), height: read(bytes, at + length, length) };
}

/**
 * There are three kinds of WebP, each with the size in a different place:
 * https://developers.google.com/speed/webp/docs/riff_container
 */
function webpSize(bytes: string): ImageSize | undefined {
  if (bytes.length < 30) return undefined;
  const kind = bytes.slice(12, 16);
  if (kind === "VP8X") {
    return { width: littleEndian(bytes, 24, 3) + 1, height: littleEndian(bytes, 27, 3) + 1 };
  }
  if (kind === "VP8L") {
    const packed = littleEndian(bytes, 21, 4);
    return { width: (packed & 0x3fff) + 1, height: ((packed >> 14) & 0x3fff) + 1 };
  }
  if (kind !== "VP8 ") return undefined;
  return {
    width: littleEndian(bytes, 26, 2) & 0x3fff,
    height: littleEndian(bytes, 28, 2) & 0x3fff,
  };
}

/** Walks over the segments up to the start of a frame (C0 to CF, except for the tables C4, C8 and CC). */
function jpegSize(bytes: string): ImageSize | undefined {
  let at = 2;
  while (at + 9 <= bytes.length) {
    if (bytes.charCodeAt(at) !== 0xff) return undefined;
    const marker = bytes.charCodeAt(at + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { height: bigEndian(bytes, at + 5, 2), width: bigEndian(bytes, at + 7, 2) };
    const isFiller = marker === 0xff;
    at += isFiller ? 1 : 2 + bigEndian(bytes, at + 2, 2);
  }
  return undefined;
}
