/** The vendors of the wires: the addresses of their own servers, and the paths for conversations. */

import type { Vendor, WireName } from "./format/wire.ts";

/** Plimsoll passes Gemini's conversations on without reading them. */
export type ServedVendor = Vendor | "gemini";

export const baseUrls: Readonly<Record<ServedVendor, string>> = {
  anthropic: "https://api.anthropic.com",
  openai: "https://api.openai.com/v1",
  gemini: "https://generativelanguage.googleapis.com",
};

export function isVendor(name: string): name is ServedVendor {
  return Object.hasOwn(baseUrls, name);
}

export interface ModelPath {
  readonly vendor: ServedVendor;
  readonly path: string;
  readonly wire: WireName;
  /** Set if the request only asks for a token count. */
  readonly isCount?: true;
}

export const modelPaths: readonly ModelPath[] = [
  { vendor: "anthropic", path: "/v1/messages", wire: "anthropic" },
  { vendor: "anthropic", path: "/v1/messages/count_tokens", wire: "anthropic", isCount: true },
  { vendor: "openai", path: "/v1/chat/completions", wire: "openai-chat" },
  { vendor: "openai", path: "/v1/responses", wire: "openai-responses" },
];

/** Whether the vendor's paths begin with a version that clients may leave out. */
export function hasVersionedPaths(vendor: ServedVendor): boolean {
  return vendor !== "gemini";
}

/** The vendor for a path that names no vendor, with or without a version. The names in `headers` are in lower case. */
export function vendorOfPath(
  segments: readonly string[],
  headers: Readonly<Record<string, unknown>>,
): ServedVendor | undefined {
  const isVersioned = segments[0] === "v1";
  const [first = "", second = ""] = isVersioned ? segments.slice(1) : segments;
  if (first === "messages") return "anthropic";
  if (first === "responses" || (first === "chat" && second === "completions")) return "openai";
  if (segments[0] === "v1beta") return "gemini";
  if (!isVersioned && first !== "models") return undefined;
  return headers["anthropic-version"] === undefined ? "openai" : "anthropic";
}
