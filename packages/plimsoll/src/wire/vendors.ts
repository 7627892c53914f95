/** Who speaks the wires: where the vendors' own servers are, and under which paths a conversation is held there. */

import type { Vendor, WireName } from "./format/wire.ts";

/** Gemini's conversations are passed on, and not read. */
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
  /** How many tokens would it be? */
  readonly isCount?: true;
}

export const modelPaths: readonly ModelPath[] = [
  { vendor: "anthropic", path: "/v1/messages", wire: "anthropic" },
  { vendor: "anthropic", path: "/v1/messages/count_tokens", wire: "anthropic", isCount: true },
  { vendor: "openai", path: "/v1/chat/completions", wire: "openai-chat" },
  { vendor: "openai", path: "/v1/responses", wire: "openai-responses" },
];

/** Whether its paths begin with a version that may be left out. */
export function hasVersionedPaths(vendor: ServedVendor): boolean {
  return vendor !== "gemini";
}

/** Who is meant by a path that names nobody, with or without its version; `headers` have names in small letters. */
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
