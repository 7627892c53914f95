/** A picture like a tool's screenshot: a small bar chart, as PNG in base64. */

import { crc32, deflateSync } from "node:zlib";
import { between, type Dice, times } from "./dice.ts";

const size = { width: 320, height: 200 };
const barWidth = 32;

export function chartPicture(dice: Dice): string {
  const heights = times(size.width / barWidth, () => between(dice, 20, size.height - 10));
  const rows = times(size.height, (row) =>
    Uint8Array.from([0, ...times(size.width, (column) => shadeAt(heights, row, column))]),
  );
  const head = Buffer.alloc(13);
  head.writeUInt32BE(size.width, 0);
  head.writeUInt32BE(size.height, 4);
  // Eight-bit greyscale.
  head.set([8, 0, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk("IHDR", head),
    chunk("IDAT", deflateSync(Buffer.concat(rows))),
    chunk("IEND", Buffer.alloc(0)),
  ]).toString("base64");
}

function shadeAt(heights: readonly number[], row: number, column: number): number {
  const height = heights[Math.floor(column / barWidth)] ?? 0;
  const isBar = column % barWidth > 6 && size.height - row <= height;
  return isBar ? 60 + Math.floor(column / barWidth) * 12 : 240;
}

function chunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, "latin1"), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}
