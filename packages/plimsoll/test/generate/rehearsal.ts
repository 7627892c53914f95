/** Conversations held with the product in one process: each request received, answered and ended, and what went out. */

import type { Config } from "../../src/config/schema.ts";
import { type Engine, type EngineOptions, openEngine } from "../../src/engine.ts";
import type { Edit } from "../../src/message/edit.ts";
import type { Incoming } from "../../src/session/turn/context.ts";
import type { ReceivedTurn } from "../../src/session/turn/turn.ts";
import { newViolations } from "../../src/wire/validate/validate.ts";
import { wires } from "../../src/wire/wires.ts";
import type { JsonObject, Wire } from "../harness/json.ts";
import { memberText } from "../harness/raw-json.ts";
import type { Request } from "./conversations.ts";
import { MAX_OUTPUT_TOKENS } from "./writer.ts";

export const BUFFER_TOKENS = 300;
/** Ends the name of a model whose window holds every generated conversation. */
const ROOMY = "-roomy";
const ROOMY_TOKENS = 900_000;

export const MODELS: Readonly<Record<Wire, string>> = {
  anthropic: "claude-sonnet-4-5",
  "openai-chat": "gpt-5.1",
  "openai-responses": "gpt-5.1",
  gemini: "gemini-3-pro-preview",
};

export function roomyModel(wire: Wire): string {
  return `${MODELS[wire]}${ROOMY}`;
}

/** Windows that leave so much for a conversation, once the answer and the buffer have their room. */
function configWith(limitTokens: number, config: Config = {}): Config {
  const settings = {
    contextWindow: limitTokens + BUFFER_TOKENS + MAX_OUTPUT_TOKENS,
    contextWindowBufferTokens: BUFFER_TOKENS,
    tokenizer: "approximate",
    // So what may be too much is too much: the counts of these tests are the provider's own.
    cuts_silently: true,
  };
  const roomy = { contextWindow: ROOMY_TOKENS };
  return {
    ...config,
    providers: {
      anthropic: { ...settings, models: { [roomyModel("anthropic")]: roomy } },
      openai: { ...settings, models: { [roomyModel("openai-chat")]: roomy } },
      gemini: { ...settings, models: { [roomyModel("gemini")]: roomy } },
    },
  };
}

export function openWith(
  limitTokens: number,
  { config, ...options }: Omit<EngineOptions, "store"> = {},
): Promise<Engine> {
  return openEngine({
    ...(options.data === undefined ? { store: "memory" } : {}),
    ...options,
    config: configWith(limitTokens, config),
  });
}

export function providerOf(wire: Wire): string {
  return wire === "anthropic" || wire === "gemini" ? wire : "openai";
}

export type Wishes = Partial<
  Pick<
    Incoming,
    "hints" | "priority" | "isBypassed" | "tenant" | "provider" | "headers" | "isRefreshable"
  >
>;

export function receive(
  engine: Engine,
  wire: Wire,
  body: Uint8Array,
  wishes: Wishes = {},
): Promise<ReceivedTurn> {
  return engine.receive({
    tenant: "t",
    provider: providerOf(wire),
    wire: wires[wire],
    body,
    hints: { clientKey: "test:talk", isCompacted: false },
    ...wishes,
  });
}

/** A request on its way through the product. */
export interface Passed {
  readonly wire: Wire;
  readonly request: Request;
  readonly turn: ReceivedTurn;
  readonly clientText: string;
  readonly sentText: string;
  /** Those that this turn made. */
  readonly newEdits: readonly Edit[];
  /** All, up to this turn. */
  readonly edits: readonly Edit[];
}

export interface Ending {
  /** What the provider reports for one token that we count; nothing is reported without it. */
  readonly reportedFactor?: number;
  readonly wishes?: Wishes;
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Sends one request, and answers it. */
export async function pass(
  engine: Engine,
  wire: Wire,
  request: Request,
  { reportedFactor, wishes = {} }: Ending = {},
): Promise<Passed> {
  const turn = await receive(engine, wire, request.body, wishes);
  const sent = turn.body ?? request.body;
  const edits = await engine.store.edits(turn.session);
  const { total } = turn.fitted.measured;
  const usage =
    reportedFactor === undefined
      ? {}
      : { usage: { inputTokens: Math.ceil(total * reportedFactor), outputTokens: 10 } };
  await turn.end(
    turn.fitted.refusal === undefined
      ? {
          status: "complete",
          answer: { outcome: "message", choices: [request.answer], ...usage },
        }
      : { status: "failed", error: "refused" },
  );
  return {
    wire,
    request,
    turn,
    clientText: decoder.decode(request.body),
    sentText: decoder.decode(sent),
    edits,
    newEdits: edits.filter(({ step }) => step === turn.id),
  };
}

/** Sends one request after the other. A refused request is what ends a conversation. */
export async function passAll(
  engine: Engine,
  wire: Wire,
  requests: readonly Request[],
  ending: Ending = {},
): Promise<readonly Passed[]> {
  const passed: Passed[] = [];
  for (const request of requests) {
    const next = await pass(engine, wire, request, ending);
    passed.push(next);
    if (next.turn.fitted.refusal !== undefined) break;
  }
  return passed;
}

/** What the sent body breaks that the client's own did not. */
export function violationsOf({
  wire,
  clientText,
  sentText,
  turn,
}: Pick<Passed, "wire" | "clientText" | "sentText" | "turn">): readonly unknown[] {
  return newViolations({
    wire,
    body: JSON.parse(sentText) as JsonObject,
    bodyText: sentText,
    original: JSON.parse(clientText) as JsonObject,
    originalText: clientText,
    model: turn.fitted.target.model,
    ...(turn.fitted.target.profile === undefined ? {} : { profile: turn.fitted.target.profile }),
    editedCalls: [],
    synthetic: [],
  });
}

/** How large a body is when it is counted as a whole, by somebody who knows nothing of it. */
export async function recount(engine: Engine, wire: Wire, body: string): Promise<number> {
  const turn = await receive(engine, wire, new TextEncoder().encode(body), {
    tenant: "somebody else",
    hints: { clientKey: `test:${body.length}`, isCompacted: false },
    isBypassed: true,
  });
  await turn.end({ status: "failed" });
  return turn.fitted.measured.total;
}

export const MESSAGES_FIELD: Readonly<Record<Wire, string>> = {
  anthropic: "messages",
  "openai-chat": "messages",
  "openai-responses": "input",
  gemini: "contents",
};

/** A body with another conversation in it. */
export function withMessages(wire: Wire, body: string, messages: readonly string[]): string {
  const conversation = memberText(body, MESSAGES_FIELD[wire]) ?? "";
  return body.replace(conversation, () => `[${messages.join()}]`);
}
