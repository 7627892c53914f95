/** Document A, "Status Messages" and "Progress Bar": its icons and its four colours. */

import { readFileSync } from "node:fs";
import { phases } from "plimsoll/watch/phase-words";
import { describe, expect, test } from "vitest";
import { iconDrawings } from "./icons.ts";
import { phaseIcons } from "./phase-icons.ts";

test.each([
  ["detection", "sync~spin"],
  ["summarize-old", "compress"],
  ["prioritize-recent", "star"],
  ["content-chunking", "code"],
  ["discard-low-rel", "clear-all"],
  ["hybrid", "layers"],
  ["success", "check"],
  ["recovery", "refresh"],
  ["handover", "sync~complete"],
] as const)("%s has the icon %s", (phase, codicon) => {
  expect(phaseIcons[phase].codicon).toBe(codicon);
  expect(phaseIcons[phase].isSpinning === true).toBe(codicon.endsWith("~spin"));
});

test("every phase has a drawing of its own", () => {
  const drawings = phases.map(({ phase }) => iconDrawings[phaseIcons[phase].name]);
  expect(new Set(drawings).size).toBe(phases.length);
});

describe("the four colours", () => {
  const theme = readFileSync(new URL("../theme.css", import.meta.url), "utf8");
  const dark = theme.slice(theme.indexOf("prefers-color-scheme: dark"));
  const valueIn = (css: string, name: string): string =>
    new RegExp(`--${name}: (#[0-9a-f]{6});`).exec(css)?.[1] ?? "";

  test.each([
    ["normal", "#007acc"],
    ["p1", "#4caf50"],
    ["warning", "#ff9800"],
    ["recovery", "#f44336"],
  ])("%s is the document's %s", (name, colour) => {
    expect(valueIn(theme, `${name}-fill`)).toBe(colour);
  });

  /** WCAG 1.4.11: what a user must see has a contrast of 3 to 1 to what is next to it. */
  test.each(["normal", "p1", "warning", "recovery"])(
    "the edge of %s can be seen on the page and on the track, light and dark",
    (name) => {
      for (const css of [theme, dark])
        for (const beside of ["surface", "track"])
          expect(contrast(valueIn(css, name), valueIn(css, beside))).toBeGreaterThanOrEqual(3);
    },
  );
});

function contrast(one: string, other: string): number {
  const [light = 0, dim = 0] = [luminance(one), luminance(other)].toSorted((a, b) => b - a);
  return (light + 0.05) / (dim + 0.05);
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
