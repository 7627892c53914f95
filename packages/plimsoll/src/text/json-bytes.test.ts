import fc from "fast-check";
import { expect, test } from "vitest";
import { closingQuote } from "./json-bytes.ts";

const encoder = new TextEncoder();

test.each([
  ['"a"', 2],
  ['"a\\"b"', 5],
  ['"a\\\\"b"', 4],
  ['"a', -1],
  ['"a\\"', -1],
  [`"${"x".repeat(100)}\\\\" "`, 103],
  [`"${"x".repeat(100)}\\\\\\" "`, 106],
])("the string in %j is closed at %d", (text, end) => {
  expect(closingQuote(encoder.encode(text), 1)).toBe(end);
});

test("a string of any length is closed where JSON closes it", () => {
  const bits = fc.array(fc.constantFrom("x", '"', "\\", "\n", "日", " ".repeat(20)), {
    maxLength: 60,
  });
  fc.assert(
    fc.property(bits, (parts) => {
      const written = JSON.stringify(parts.join(""));
      const bytes = encoder.encode(`${written}, "more"`);
      expect(closingQuote(bytes, 1)).toBe(encoder.encode(written).length - 1);
    }),
  );
});
