import { inflateRawSync } from "node:zlib";
import { expect, test } from "vitest";
import { createShortDeflate, longestShort } from "./short-deflate.ts";

const dictionary = Buffer.from('{"kind":"turn","status":"complete","model":"claude"}'.repeat(40));
const pack = createShortDeflate(dictionary);

function unpacked(packed: Uint8Array): Buffer {
  return inflateRawSync(packed, { windowBits: 13, dictionary });
}

/** The same bytes in every run. */
function noise(length: number, values: number): Buffer {
  let state = length + 1;
  return Buffer.from(
    Array.from({ length }, () => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
      return (state >>> 8) % values;
    }),
  );
}

const lengths = [
  0,
  1,
  2,
  3,
  4,
  5,
  31,
  256,
  257,
  258,
  259,
  515,
  1000,
  longestShort - 1,
  longestShort,
];
const texts = {
  "all bytes": (length: number): Buffer => noise(length, 256),
  "two bytes": (length: number): Buffer => noise(length, 2),
  "one byte": (length: number): Buffer => Buffer.alloc(length, 0xff),
  "the dictionary": (length: number): Buffer =>
    Buffer.concat([dictionary, dictionary, dictionary]).subarray(0, length),
  "the dictionary's beginning, far behind": (length: number): Buffer =>
    Buffer.concat([noise(2000, 256), dictionary]).subarray(0, length),
};

for (const [name, make] of Object.entries(texts))
  test(`zlib reads what was packed: ${name}`, () => {
    for (const length of lengths) {
      const text = make(length);
      expect(unpacked(pack(text)).equals(text)).toBe(true);
    }
  });

test("what is in the dictionary takes next to nothing, and one text leaves nothing behind for the next", () => {
  const text = Buffer.from('{"kind":"turn","status":"failed","model":"claude"}');
  const packed = pack(text);
  expect(packed.length).toBeLessThan(20);
  pack(noise(3000, 3));
  expect(pack(text)).toEqual(packed);
});
