import fc from "fast-check";
import { expect, test } from "vitest";
import { isRounded, repeatsKey } from "./odd-json.ts";

test.each([
  ["0.1", false],
  ["1.50", false],
  ["15e-1", false],
  ["-0.0", false],
  ["1E+2", false],
  ["9007199254740991", false],
  ["0.30000000000000004", false],
  ["9007199254740993", true],
  ["0.12345678901234567890", true],
  ["0.10000000000000001", true],
  ["1e400", true],
  ["1e-400", true],
])("%s is another number once it was parsed: %s", (source, expected) => {
  expect(isRounded(source)).toBe(expected);
});

test("no number that a double holds is taken for a rounded one", () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      expect(isRounded(JSON.stringify(value))).toBe(false);
    }),
  );
});

test.each([
  ['{"a":1,"a":2}', true],
  ['{"a":1,"\\u0061":2}', true],
  ['{"a":{"b":1},"b":[{"b":1},{"b":2}]}', false],
  ['{"a":"{\\"b\\":1,\\"b\\":2}"}', false],
  ['[{"x":[1,{"k":1,"l":2,"k":3}]}]', true],
  ['{"a,b":1,"a":2,"":3}', false],
])("%s has a key twice: %s", (text, expected) => {
  expect(repeatsKey(text)).toBe(expected);
});

test("what JSON.stringify writes never has a key twice", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(repeatsKey(JSON.stringify(value))).toBe(false);
    }),
  );
});
