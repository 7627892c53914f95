import { describe, expect, it } from "vitest";
import type { ImagePart } from "../message/message.ts";
import { findModel, type ImageRule } from "./catalogue.ts";
import { imageSize } from "./image-size.ts";
import { documentTokens, imageTokens } from "./media.ts";

const base64 = (...bytes: readonly (number | string)[]): string =>
  btoa(bytes.map((part) => (typeof part === "string" ? part : String.fromCharCode(part))).join(""));
const big = (value: number, length: number): readonly number[] =>
  Array.from({ length }, (_, index) => (value >> (8 * (length - 1 - index))) & 255);
const little = (value: number, length: number): readonly number[] =>
  big(value, length).toReversed();

const png = (width: number, height: number): string =>
  base64(
    "\x89PNG\r\n\x1a\n",
    ...big(13, 4),
    "IHDR",
    ...big(width, 4),
    ...big(height, 4),
    "\x00".repeat(60),
  );
const gif = (width: number, height: number): string =>
  base64("GIF89a", ...little(width, 2), ...little(height, 2), "\x00".repeat(60));
const frame = (width: number, height: number): readonly (number | string)[] => [
  0xff,
  0xc2,
  ...big(17, 2),
  8,
  ...big(height, 2),
  ...big(width, 2),
  "\x00".repeat(20),
];
const segment = (marker: number, length: number): readonly (number | string)[] => [
  0xff,
  marker,
  ...big(length + 2, 2),
  "\xff".repeat(length),
];
const jpeg = (width: number, height: number, ...before: readonly (number | string)[]): string =>
  base64(0xff, 0xd8, ...before, ...frame(width, height));
const webp = (kind: string, ...body: readonly (number | string)[]): string =>
  base64("RIFF", ...little(1000, 4), "WEBP", kind, ...little(900, 4), ...body, "\x00".repeat(30));

describe("the size of an image", () => {
  it.each([
    ["PNG", png(640, 480)],
    ["GIF", gif(640, 480)],
    ["JPEG", jpeg(640, 480)],
    [
      "JPEG with a preview and tables before the frame",
      jpeg(640, 480, ...segment(0xe1, 60_000), ...segment(0xc4, 400)),
    ],
    ["JPEG with filler bytes", jpeg(640, 480, 0xff, 0xff)],
    ["WebP, lossy", webp("VP8 ", "\x00\x00\x00\x9d\x01\x2a", ...little(640, 2), ...little(480, 2))],
    ["WebP, lossless", webp("VP8L", 0x2f, ...little(639 | (479 << 14), 4))],
    ["WebP, extended", webp("VP8X", "\x10\x00\x00\x00", ...little(639, 3), ...little(479, 3))],
  ])("is read from a %s", (_, data) => {
    expect(imageSize(data)).toEqual({ width: 640, height: 480 });
  });

  it("is read from base64 with line ends", () => {
    expect(imageSize(png(640, 480).replace(/.{19}/g, "$&\r\n"))).toEqual({
      width: 640,
      height: 480,
    });
  });

  it.each([
    ["nothing", ""],
    ["no base64", "%%%not base64%%%"],
    ["another format", base64("BM", "\x00".repeat(200))],
    ["a cut PNG", base64("\x89PNG\r\n\x1a\n\x00\x00")],
    ["a PNG without width", png(0, 480)],
    ["a JPEG without frame", base64(0xff, 0xd8, ...segment(0xe0, 500))],
    ["a JPEG of zeros", base64(0xff, 0xd8, "\x00".repeat(300_000))],
  ])("is unknown for %s", (_, data) => {
    expect(imageSize(data)).toBeUndefined();
  });

  it("is read from an image whose rest is not base64 at all", () => {
    const data = `${png(640, 480)}${"A".repeat(1_000_000)}*not base64*`;
    expect(imageSize(data)).toEqual({ width: 640, height: 480 });
  });
});

const image = (width: number, height: number, detail?: ImagePart["detail"]): ImagePart => ({
  kind: "image",
  media: { kind: "base64", mediaType: "image/png", data: png(width, height) },
  ...(detail === undefined ? {} : { detail }),
});
const ruleOf = (model: string): ImageRule => findModel("any", model).media.image;

describe("tokens of an image", () => {
  it.each([
    ["claude-3-opus", 200, 200, 64],
    ["claude-3-opus", 1000, 1000, 1_334],
    ["claude-3-opus", 4000, 4000, 1_600],
    ["claude-3-opus", 8000, 80, 56],
    ["claude-opus-4-7", 2000, 1500, 4_000],
    ["claude-opus-4-7", 4000, 4000, 4_784],
    // The worked examples of OpenAI's guide to images.
    ["gpt-4o", 1024, 1024, 765],
    ["gpt-4o", 2048, 4096, 1_105],
    ["gpt-4o-mini", 1024, 1024, 25_501],
    ["gpt-5", 1024, 1024, 630],
    ["gpt-4.1-mini", 1024, 1024, Math.ceil(1024 * 1.62)],
    ["gpt-4.1-mini", 1800, 2400, Math.ceil(1452 * 1.62)],
    ["gemini-2.5-pro", 384, 384, 258],
    ["gemini-2.5-pro", 385, 100, 258],
    ["gemini-2.5-pro", 1600, 800, 6 * 258],
    ["gemini-3-pro", 1600, 800, 1_120],
  ])("%s, %i x %i", (model, width, height, tokens) => {
    expect(imageTokens(image(width, height), ruleOf(model))).toEqual({
      tokens,
      certainty: "estimate",
    });
  });

  it("at low detail are the base price of OpenAI's tile rule", () => {
    expect(imageTokens(image(4000, 4000, "low"), ruleOf("gpt-4o")).tokens).toBe(85);
    expect(imageTokens(image(4000, 4000, "low"), ruleOf("claude-3-opus")).tokens).toBe(1_600);
  });

  it.each([
    "claude-3-opus",
    "claude-opus-5",
    "gpt-4o",
    "gpt-4.1-nano",
    "gpt-5.4",
    "gemini-2.5-pro",
    "gemini-3-pro",
  ])("are bounded where the image cannot be seen: %s", (model) => {
    const rule = ruleOf(model);
    const unseen = imageTokens(
      { kind: "image", media: { kind: "url", url: "https://x/y.png" } },
      rule,
    );
    expect(unseen.certainty).toBe("bound");
    for (const [width, height] of [
      [1, 1],
      [10_000, 10],
      [768, 2048],
      [7000, 7000],
      [1500, 1600],
    ] as const) {
      expect(imageTokens(image(width, height), rule).tokens).toBeLessThanOrEqual(unseen.tokens);
    }
  });

  it("never grow with the bytes of the image", () => {
    const data = png(100, 100) + "A".repeat(4_000_000);
    const part: ImagePart = {
      kind: "image",
      media: { kind: "base64", mediaType: "image/png", data },
    };
    expect(imageTokens(part, ruleOf("claude-3-opus")).tokens).toBeLessThan(20);
  });
});

describe("tokens of a document", () => {
  const rule = findModel("any", "claude-3-opus").media;
  const pdf = (data: string): number =>
    documentTokens(
      { kind: "document", media: { kind: "base64", mediaType: "application/pdf", data } },
      rule,
    ).tokens / rule.pageTokens;

  it("are those of its pages, where they can be seen", () => {
    const page = "5 0 obj << /Type /Page /Parent 3 0 R >> endobj\n";
    expect(
      pdf(base64(`%PDF-1.4\n<< /Type /Pages /Count 3 >>\n${page.repeat(2)}<</Type/Page>>`)),
    ).toBe(3);
  });

  it("are taken from its size, where its pages are compressed", () => {
    expect(pdf(base64("%PDF-1.7", "\x00".repeat(10)))).toBe(1);
    expect(pdf(base64("%PDF-1.7", "\x00".repeat(320_000)))).toBe(10);
  });

  it("of a large file go on as it begins", () => {
    const body = `<</Type /Page>>${"x".repeat(10_000)}`.repeat(400);
    expect(pdf(base64(body))).toBeGreaterThan(380);
    expect(pdf(base64(body))).toBeLessThan(420);
  });

  it("that is elsewhere are a guess, and bounded for one that pretends", () => {
    const unseen = documentTokens({ kind: "document", media: { kind: "file", id: "f" } }, rule);
    expect(unseen).toEqual({ tokens: 10 * rule.pageTokens, certainty: "estimate" });
    expect(pdf(base64("/Type /Page ".repeat(50_000)))).toBe(1_000);
  });
});
