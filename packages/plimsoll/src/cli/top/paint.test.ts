import { expect, test } from "vitest";
import { span } from "./lines.ts";
import { changes, rowText } from "./paint.ts";

test("a row clears what was behind it, but for a full one, whose last cell would go", () => {
  expect(rowText([span("ab")], 4, true)).toBe("ab\u001b[K");
  expect(rowText([], 4, true)).toBe("\u001b[K");
  expect(rowText([span("日本")], 4, true)).toBe("日本");
});

test("a tone is a colour, a weight, or a background, and nothing where colours are not wanted", () => {
  const line = [
    span("a", "warning"),
    span("b", "strong"),
    { text: "c", tone: "user", isBlock: true } as const,
    { text: "d", tone: "dim", isBlock: true } as const,
    span("e"),
  ];
  expect(rowText(line, 5, true)).toBe(
    "\u001b[33ma\u001b[0m\u001b[1mb\u001b[0m\u001b[30;42mc\u001b[0m\u001b[2md\u001b[0me",
  );
  expect(rowText(line, 5, false)).toBe("abcde");
});

test("of a frame only the rows that differ are written, and all of them on an unknown screen", () => {
  expect(changes(["a", "b", "c"], ["a", "B", "c"])).toBe("\u001b[2HB");
  expect(changes(["a", "b"], ["a", "b"])).toBe("");
  expect(changes(undefined, ["a", "b"])).toBe("\u001b[1Ha\u001b[2Hb");
  expect(changes(["a"], ["a", "b"])).toBe("\u001b[2Hb");
});
