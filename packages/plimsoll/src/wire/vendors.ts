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
 * model. A tuned model has its kind in its name.
 */
const geminiPath = (method: string): RegExp =>
  new RegExp(
    `^/v\\d\\w*/(?:projects/[^/]+/locations/[^/]+/publishers/[^/]+/)?(?:models/([^/:]+)|(tunedModels/[^/:]+)):${method}$`,
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

/** Reads a path of a vendor. Undefined if the path is not for conversations. */
export function readModelPath(
  vendor: Vendor,
  path: string,
  query: URLSearchParams,
): AskedPath | undefined {
  for (const known of modelPaths) {
    if (known.vendor !== vendor) continue;
    const match = known.pattern?.exec(path);
    if (known.pattern === undefined ? known.path !== path : match === null) continue;
    const model = match?.[1] ?? match?.[2];
    const isArray = path.endsWith(":streamGenerateContent") && query.get("alt") !== "sse";
    return {
      wire: known.wire,
      isCount: known.isCount === true,
      ...(model === undefined ? {} : { model: decodeURIComponent(model) }),
      ...(isArray ? { framing: "json-array" } : {}),
    };
  }
  return undefined;
}

/** The path with another model. Only for paths that contain their model. */
export function pathWithModel(path: string, model: string): string {
  const name = model.startsWith("tunedModels/") ? model : `models/${model}`;
  return path.replace(/(?:models|tunedModels)\/[^/:?]+(?=:)/, () => name);
}

/**
 * Whether Plimsoll may put `/v1` before a path without a version. Every path of Google has a version of its own.
 */
export function hasVersionedPaths(vendor: Vendor): boolean {
  return vendor !== "gemini";
}

const geminiMethod = /:(?:generateContent|streamGenerateContent|countTokens)$/;

/** The vendor for a path that names no vendor, with or without a version. The names in `headers` are in lower case. */
export function vendorOfPath(
  segments: readonly string[],
  headers: Readonly<Record<string, unknown>>,
): Vendor | undefined {
  const isVersioned = segments[0] === "v1";
  const [first = "", second = ""] = isVersioned ? segments.slice(1) : segments;
  if (first === "messages") return "anthropic";
  if (first === "responses" || (first === "chat" && second === "completions")) return "openai";
  if (segments[0] === "v1beta" || geminiMethod.test(segments.at(-1) ?? "")) return "gemini";
  if (!isVersioned && first !== "models") return undefined;
  return headers["anthropic-version"] === undefined ? "openai" : "anthropic";
}
