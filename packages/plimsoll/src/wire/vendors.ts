/** The vendors of the wires: the addresses of their own servers, and the paths for conversations. */

import type { FramingName } from "./format/framing.ts";
import type { Vendor, WireName } from "./format/wire.ts";

export const baseUrls: Readonly<Record<Vendor, string>> = {
  anthropic: "https://api.anthropic.com",
  openai: "https://api.openai.com/v1",
  gemini: "https://generativelanguage.googleapis.com",
};

export function isVendor(name: string): name is Vendor {
  return Object.hasOwn(baseUrls, name);
}

export interface ModelPath {
  readonly vendor: Vendor;
  /** The path, for people to read. A name in braces is a part that differs. */
  readonly path: string;
  readonly wire: WireName;
  /** Set if the request only asks for a token count. */
  readonly isCount?: true;
  /** Set if the path contains the model. Matches the path, with the model as its first group. */
  readonly pattern?: RegExp;
}

/**
 * Matches a path of Google's API: any version, then the model, then the method. Vertex AI has the project and the place before the
 * model, or only the publisher. A tuned model and an endpoint have their kind in their name.
 */
const geminiPath = (method: string): RegExp =>
  new RegExp(
    `^/v\\d\\w*/(?:projects/[^/]+/locations/[^/]+/)?(?:publishers/[^/]+/)?(?:models/([^/:]+)|((?:tunedModels|endpoints)/[^/:]+)):${method}$`,
  );

const geminiPaths: readonly ModelPath[] = ["generateContent", "streamGenerateContent"].map(
  (method) => ({
    vendor: "gemini",
    path: `/v1beta/models/{model}:${method}`,
    wire: "gemini",
    pattern: geminiPath(method),
  }),
);

export const modelPaths: readonly ModelPath[] = [
  { vendor: "anthropic", path: "/v1/messages", wire: "anthropic" },
  { vendor: "anthropic", path: "/v1/messages/count_tokens", wire: "anthropic", isCount: true },
  { vendor: "openai", path: "/v1/chat/completions", wire: "openai-chat" },
  { vendor: "openai", path: "/v1/responses", wire: "openai-responses" },
  ...geminiPaths,
  {
    vendor: "gemini",
    path: "/v1beta/models/{model}:countTokens",
    wire: "gemini",
    isCount: true,
    pattern: geminiPath("countTokens"),
  },
];

/** A path for conversations, as a client asked for it. */
export interface AskedPath {
  readonly wire: WireName;
  readonly isCount: boolean;
  /** The model, if the path contains it. */
  readonly model?: string;
  /** The framing of a streamed answer, if the client asked for another one than events. */
  readonly framing?: FramingName;
}

/** One model of each family that agents use most. The families differ in their windows or price steps. */
export const usualModels: Readonly<Record<Vendor, readonly string[]>> = {
  anthropic: ["claude-opus-5-5", "claude-sonnet-5", "claude-haiku-4-5"],
  openai: ["gpt-6-sol", "gpt-5.1"],
  gemini: ["gemini-3-pro"],
};

/** Reads a path of a vendor. Undefined if the path is not for conversations. */
export function readModelPath(
  vendor: Vendor,
  path: string,
  query: URLSearchParams,
): AskedPath | undefined {
  const isArray = path.endsWith(":streamGenerateContent") && query.get("alt") !== "sse";
  for (const known of modelPaths.filter((one) => one.vendor === vendor)) {
    const match = matchOf(known, path);
    if (match === undefined) continue;
    return {
      wire: known.wire,
      isCount: known.isCount === true,
      ...match,
      ...(isArray ? { framing: "json-array" } : {}),
    };
  }
  return undefined;
}

/** The model in this path, if it has one. Undefined if the path is another one. */
function matchOf(
  { path: known, pattern }: ModelPath,
  path: string,
): Pick<AskedPath, "model"> | undefined {
  if (pattern === undefined) return known === path ? {} : undefined;
  const match = pattern.exec(path);
  const model = match === null ? undefined : decoded(match[1] ?? match[2] ?? "");
  return model === undefined ? undefined : { model };
}

/** A part of a path without its percent escapes. Undefined if they are malformed. */
function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

/** The path with another model. Only for paths that contain their model. */
export function pathWithModel(path: string, model: string): string {
  const isWhole = /^(?:tunedModels|endpoints)\//.test(model);
  const name = isWhole ? model : `models/${model}`;
  return path.replace(/(?:models|tunedModels|endpoints)\/[^/:?]+(?=:)/, () => name);
}

/**
 * Whether Plimsoll may put `/v1` before a path without a version. Every path of Google has a version of its own.
 */
export function hasVersionedPaths(vendor: Vendor): boolean {
  return vendor !== "gemini";
}

const geminiMethod = /:(?:generateContent|streamGenerateContent|countTokens)$/;

/** Versions that only Google's paths have. */
const geminiVersion = /^v\d+(?:alpha|beta)\w*$/;
/** Google puts these before the version of a path. */
const geminiPrefixes = new Set(["upload", "download"]);
/** Paths that only Google has. */
const geminiAreas = new Set(["cachedContents", "tunedModels"]);

/** Whether a request without a vendor in its path is for Google, by its path or by the place of its key. */
function isForGemini(
  segments: readonly string[],
  headers: Readonly<Record<string, unknown>>,
  query: URLSearchParams,
): boolean {
  const [first = "", second = ""] = segments;
  const hasVersion =
    geminiVersion.test(first) || (geminiPrefixes.has(first) && /^v\d/.test(second));
  const hasKey = headers["x-goog-api-key"] !== undefined || query.has("key");
  return (
    hasVersion || geminiMethod.test(segments.at(-1) ?? "") || geminiAreas.has(second) || hasKey
  );
}

/** The vendor for a path that names no vendor, with or without a version. The names in `headers` are in lower case. */
export function vendorOfPath(
  segments: readonly string[],
  headers: Readonly<Record<string, unknown>>,
  query: URLSearchParams,
): Vendor | undefined {
  const isVersioned = segments[0] === "v1";
  const [first = "", second = ""] = isVersioned ? segments.slice(1) : segments;
  if (first === "messages") return "anthropic";
  if (first === "responses" || (first === "chat" && second === "completions")) return "openai";
  const isShared = isVersioned || first === "models" || geminiPrefixes.has(first);
  if ((isShared || geminiVersion.test(first)) && isForGemini(segments, headers, query))
    return "gemini";
  if (!isVersioned && first !== "models") return undefined;
  return headers["anthropic-version"] === undefined ? "openai" : "anthropic";
}

/** The path for conversations on this wire, for wires whose path does not contain the model. */
export function pathOfWire(wire: WireName): string {
  return modelPaths.find((known) => known.wire === wire && known.isCount !== true)?.path ?? "";
}
