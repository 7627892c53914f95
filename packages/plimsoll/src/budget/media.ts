/** Counts the tokens of images and documents by the provider's rule. Base64 is never counted as text. */

import type { DocumentPart, ImagePart } from "../message/message.ts";
import type { ImageRule, MediaRule } from "./catalogue.ts";
import { decodeHead, type ImageSize, imageSize } from "./image-size.ts";
import type { Count } from "./tokenizer.ts";

/** Uses the worst case of the rule if the size of the image is unknown. */
export function imageTokens(part: ImagePart, rule: ImageRule): Count {
  const lowDetail = lowDetailTokens(rule);
  if (part.detail === "low" && lowDetail !== undefined) {
    return { tokens: lowDetail, certainty: "estimate" };
  }
  const size = part.media.kind === "base64" ? imageSize(part.media.data) : undefined;
  if (size === undefined) return { tokens: worstCase(rule), certainty: "bound" };
  return { tokens: Math.min(worstCase(rule), tokensOfSize(size, rule)), certainty: "estimate" };
}

function lowDetailTokens(rule: ImageRule): number | undefined {
  return rule.kind === "tiles-512" ? rule.base : undefined;
}

function worstCase(rule: ImageRule): number {
  switch (rule.kind) {
    case "patches-28":
      return rule.maxTokens;
    case "tiles-512":
      // The largest image after scaling is 2048 x 768 pixels.
      return rule.base + 8 * rule.perTile;
    case "patches-32":
      return Math.ceil(rule.maxPatches * rule.factor);
    case "tiles-768":
      // Gemini states no limit. 3840 x 2160 pixels are 15 tiles.
      return 16 * rule.perTile;
    case "fixed":
      return rule.tokens;
  }
}

function tokensOfSize({ width, height }: ImageSize, rule: ImageRule): number {
  switch (rule.kind) {
    case "patches-28": {
      const scale = Math.min(1, rule.maxEdge / Math.max(width, height));
      const patches = tilesIn(width * scale, 28) * tilesIn(height * scale, 28);
      return Math.max(patches, Math.ceil((width * scale * height * scale) / 750));
    }
    case "tiles-512": {
      const fit = Math.min(1, 2048 / Math.max(width, height));
      const scale = fit * Math.min(1, 768 / (Math.min(width, height) * fit));
      return rule.base + rule.perTile * tilesIn(width * scale, 512) * tilesIn(height * scale, 512);
    }
    case "patches-32":
      return Math.ceil(rule.factor * patches32({ width, height }, rule.maxPatches));
    case "tiles-768":
      if (width <= 384 && height <= 384) return rule.perTile;
      return rule.perTile * tilesIn(width, 768) * tilesIn(height, 768);
    case "fixed":
      return rule.tokens;
  }
}

/** Scaling can leave a fraction of a pixel. This fraction must not be counted as another tile. */
function tilesIn(pixels: number, tile: number): number {
  return Math.max(1, Math.ceil(pixels / tile - 1e-9));
}

/** OpenAI's guide to images: shrink the image to the budget, then shrink it until one side is a whole number of patches. */
function patches32({ width, height }: ImageSize, maxPatches: number): number {
  const whole = tilesIn(width, 32) * tilesIn(height, 32);
  if (whole <= maxPatches) return whole;
  const shrink = Math.sqrt((maxPatches * 32 * 32) / (width * height));
  const columns = (width * shrink) / 32;
  const rows = (height * shrink) / 32;
  const fit = Math.min(Math.floor(columns) / columns, Math.floor(rows) / rows);
  return Math.min(maxPatches, tilesIn(columns * fit, 1) * tilesIn(rows * fit, 1));
}

/**
 * To save time, Plimsoll searches only this many bytes of a PDF for pages. It assumes that the remaining bytes have pages of the
 * same size.
 */
const scannedBytes = 1_048_576;
/** Assumed size of a page if no page object was found. Scanned pages are larger and text pages are smaller. */
const bytesPerPage = 32_768;
const unseenPages = 10;
const pagesMax = 1_000;
const pageObject = /\/Type\s{0,8}\/Page(?![A-Za-z])/g;

/** The number of pages times the tokens per page. Text documents are not counted here but as text. */
export function documentTokens(part: DocumentPart, rule: MediaRule): Count {
  const pages = part.media.kind === "base64" ? pagesOf(part.media.data) : unseenPages;
  return { tokens: pages * rule.pageTokens, certainty: "estimate" };
}

function pagesOf(base64: string): number {
  const byteCount = Math.floor((base64.length * 3) / 4);
  const decoded = decodeHead(base64, scannedBytes) ?? "";
  const visible = decoded.match(pageObject)?.length ?? 0;
  const share = byteCount > scannedBytes ? decoded.length / byteCount : 1;
  const pages = visible > 0 ? visible / share : byteCount / bytesPerPage;
  return Math.min(pagesMax, Math.max(1, Math.ceil(pages)));
}
