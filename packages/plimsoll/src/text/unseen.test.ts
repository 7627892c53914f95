import { expect, test } from "vitest";
import { harmless, harmlessJson, oneSeenLine, visible } from "./unseen.ts";

test("a page shows escape sequences and obeys none", () => {
  expect(visible("\u001b[31mred\u0007\u0000\u007f")).toBe("␛[31mred␇␀␡");
});

test("on a page, text cannot reorder its neighbours", () => {
  expect(visible("user\u202Egnp.exe\u2066x\u2069\u200f\u061c")).toBe(
    "user⟦U+202E⟧gnp.exe⟦U+2066⟧x⟦U+2069⟧⟦U+200F⟧⟦U+061C⟧",
  );
});

test("a page shows what takes no room: zero-width, fillers, tags, annotations, separators", () => {
  expect(visible("a\u200bb\u200dc\ufeffd\u00ade\u3164f\u{e0041}g\ufff9h\u2028i\u0085j")).toBe(
    "a⟦U+200B⟧b⟦U+200D⟧c⟦U+FEFF⟧d⟦U+00AD⟧e⟦U+3164⟧f⟦U+E0041⟧g⟦U+FFF9⟧h⟦U+2028⟧i⟦U+0085⟧j",
  );
});

test("halves of characters are seen", () => {
  expect(visible("a\ud83db")).toBe("a⟦U+D83D⟧b");
});

test("ordinary text of any script stays as it is", () => {
  const text = "line\n\ttabbed — naïve 中文 عربى हिन्दी 🚢 ❤️ <b>&amp;";
  expect(visible(text)).toBe(text);
});

test("a terminal shows escape sequences and reordering as text", () => {
  expect(harmless("\u001b[31mred\u0007\r\u009b\u202e\u2028\ufeff\u{e0041}")).toBe(
    "\\x1b[31mred\\x07\\x0d\\x9b\\u{202e}\\u{2028}\\u{feff}\\u{e0041}",
  );
});

test("a terminal shows lines, tabs, and the joiners of scripts and emoji as they are", () => {
  const text = "line\n\ttabbed 👩\u200d👧 می\u200cخواهم ❤\ufe0f";
  expect(harmless(text)).toBe(text);
});

test("JSON for a terminal says the same", () => {
  const value = { "a\u202e": "\u001b[2J\u{e0041}\u2028", list: ["\n"] };
  const written = harmlessJson(value);
  expect(JSON.parse(written)).toEqual(value);
  expect(harmless(written)).toBe(written);
});

test("of a text that is repeated, one line of what can be seen is left", () => {
  expect(
    oneSeenLine("  a\n\n b\u200b\u202ec\u{e0041}\ufe0f\u3164\u2800\ue000\ud800\u0085d\u034f "),
  ).toBe("a bc d");
});
