/**
 * Asks a model one question, without tools and without history. Writes the request in the server's format, and reads the text of
 * the answer.
 */

import type { JsonValue } from "../message/json.ts";
import type { Usage } from "../message/message.ts";
import { anthropicWire } from "./anthropic/anthropic.ts";
import type { Wire } from "./format/wire.ts";
import { geminiWire } from "./gemini/gemini.ts";
import { textOf } from "./one-more-question.ts";
import { openaiChatWire } from "./openai-chat/openai-chat.ts";
import { baseUrls } from "./vendors.ts";

/** The servers that can be asked. "compatible" is any server with OpenAI's API. */
export type AskedServer = "anthropic" | "openai" | "gemini" | "compatible" | "ollama";

export interface OneQuestion {
  readonly model: string;
  readonly system: string;
  readonly prompt: string;
  readonly maxTokens: number;
}

export interface OneAnswer {
  readonly text: string;
  /** The error that the server reported. Some servers report an error with a success status. */
  readonly error?: string;
  /** Token usage. Undefined if the server did not report it. */
  readonly usage?: Usage;
}

interface Server {
  readonly wire: Wire;
  /** The default base address. Absent for servers whose address only the user knows. */
  readonly baseUrl?: string;
  /** Path of the endpoint, appended to the base address. */
  path(model: string): string;
  /** Whether the server requires a key. Servers on the user's own machine often do not. */
  readonly needsKey: boolean;
  /** Name of the field that limits the answer, if the server does not know the wire's default field. */
  readonly outputField?: string;
  headers(key: string): Readonly<Record<string, string>>;
}

const bearer = (key: string): Readonly<Record<string, string>> => ({
  authorization: `Bearer ${key}`,
});

const likeOpenai = {
  wire: openaiChatWire,
  path: () => "/chat/completions",
  headers: bearer,
} as const;

/** Compatible servers know the older name of the field that limits the answer, and many know only that name. */
const onlyLikeOpenai = { ...likeOpenai, needsKey: false, outputField: "max_tokens" } as const;

const servers: Readonly<Record<AskedServer, Server>> = {
  anthropic: {
    wire: anthropicWire,
    baseUrl: `${baseUrls.anthropic}/v1`,
    path: () => "/messages",
    needsKey: true,
    headers: (key) => ({ "x-api-key": key, "anthropic-version": "2023-06-01" }),
  },
  openai: { ...likeOpenai, baseUrl: baseUrls.openai, needsKey: true },
  gemini: {
    wire: geminiWire,
    baseUrl: `${baseUrls.gemini}/v1beta`,
    path: (model) => `/models/${encodeURIComponent(model)}:generateContent`,
    needsKey: true,
    headers: (key) => ({ "x-goog-api-key": key }),
  },
  compatible: onlyLikeOpenai,
  ollama: { ...onlyLikeOpenai, baseUrl: "http://127.0.0.1:11434/v1" },
};

export function needsKey(server: AskedServer): boolean {
  return servers[server].needsKey;
}

/** The address to send the question to. Undefined if the server has no default address and none is configured. */
export function questionUrl(
  server: AskedServer,
  { baseUrl, model }: { readonly baseUrl?: string | undefined; readonly model: string },
): URL | undefined {
  const base = baseUrl ?? servers[server].baseUrl;
  if (base === undefined) return undefined;
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/\/+$/, "")}${servers[server].path(model)}`;
  return url;
}

export function questionHeaders(
  server: AskedServer,
  key: string | undefined,
): Readonly<Record<string, string>> {
  const json = { "content-type": "application/json", accept: "application/json" };
  return key === undefined ? json : { ...json, ...servers[server].headers(key) };
}

export function questionBody(server: AskedServer, question: OneQuestion): string {
  const { wire, outputField } = servers[server];
  const { model, system, prompt, maxTokens } = question;
  const body = wire.body.compose({
    model,
    system,
    messages: wire.messages.encode([{ role: "user", parts: [{ kind: "text", text: prompt }] }]),
    tools: [],
    maxOutputTokens: maxTokens,
    ...(outputField === undefined ? {} : { outputField }),
  });
  const { [wire.fields.model]: _model, ...withoutModel } = body;
  return JSON.stringify(wire.modelPlace === "path" ? withoutModel : body);
}

export function readAnswer(server: AskedServer, response: JsonValue): OneAnswer {
  const { wire } = servers[server];
  const answer = wire.answer.read(response);
  const { usage, error } = answer;
  return {
    text: textOf(wire, answer),
    ...(usage === undefined ? {} : { usage }),
    ...(error === undefined ? {} : { error: error.message || error.type }),
  };
}
