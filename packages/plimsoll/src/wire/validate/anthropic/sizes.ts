/** Anthropic Messages: counts and sizes that the server refuses. */
import type { JsonObject } from "../../../message/json.ts";
import { objectOf, objectsOf } from "../rules/fields.ts";
import type { Finding, RuleInput, Rules } from "../rules/rule.ts";
import { isKnownModel, isModelIn, window200k } from "./models.ts";
import { turnsOf } from "./turns.ts";

const mostMessages = 100_000;
const mostCharacters = 32 * 1024 * 1024;
const mostPixels = 8000;
/** If a request has more images than this, a lower pixel limit applies to each image. */
const manyImages = 20;
const mostPixelsOfMany = 2000;
const mediaTypes = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/**
 * A25: at most 100,000 messages, 32 MB, 100 or 600 images, and 8000 or 2000 pixels per side. Only four media types are accepted.
 */
function* sizesFit({ body, bodyText }: RuleInput): Generator<Finding> {
  const turns = turnsOf(body);
  if (turns.length > mostMessages)
    yield { rule: "A25", message: "there are more than 100,000 messages" };
  if (bodyText !== undefined && bodyText.length > mostCharacters)
    yield { rule: "A25", message: "the body is larger than 32 MB" };
  const images = turns.flatMap((turn) => turn.blocks.flatMap(imagesOf));
  const mostImages = isModelIn(body["model"], window200k) ? 100 : 600;
  if (isKnownModel(body["model"]) && images.length > mostImages)
    yield { rule: "A25", message: `there are more than ${mostImages} images` };
  const most = images.length > manyImages ? mostPixelsOfMany : mostPixels;
  for (const source of images.map((image) => objectOf(image["source"])))
    if (source["type"] === "base64") yield* imageFits(source, most);
}

function* imageFits(source: JsonObject, most: number): Generator<Finding> {
  if (!mediaTypes.includes(String(source["media_type"])))
    yield { rule: "A25", message: `media type ${source["media_type"]} is not accepted` };
  if (longestSide(String(source["data"])) > most)
    yield { rule: "A25", message: `an image is larger than ${most} pixels` };
}

function imagesOf(block: JsonObject): readonly JsonObject[] {
  if (block["type"] === "image") return [block];
  if (block["type"] !== "tool_result") return [];
  return objectsOf(block["content"]).filter((item) => item["type"] === "image");
}

/** The longer side of a PNG or GIF image in pixels, read from a fixed position of the data. 0 for all other formats. */
function longestSide(data: string): number {
  const bytes = firstBytes(data, 24);
  const at = (index: number) => bytes[index] ?? 0;
  const big = (start: number) =>
    at(start) * 2 ** 24 + (at(start + 1) << 16) + at(start + 2) * 256 + at(start + 3);
  if (data.startsWith("iVBORw0KGgo")) return Math.max(big(16), big(20));
  if (data.startsWith("R0lGOD")) return Math.max(at(6) + at(7) * 256, at(8) + at(9) * 256);
  return 0;
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

function firstBytes(base64: string, count: number): readonly number[] {
  const digits = [...base64.slice(0, Math.ceil((count * 4) / 3))].map((digit) =>
    alphabet.indexOf(digit),
  );
  const bits = digits.map((digit) => Math.max(digit, 0).toString(2).padStart(6, "0")).join("");
  const bytes = bits.match(/.{8}/g) ?? [];
  return bytes.map((byte) => Number.parseInt(byte, 2));
}

export const anthropicSizeRules: Rules = { A25: sizesFit };
