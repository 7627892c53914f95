/**
 * Events as attributes. The names follow the GenAI conventions (open-telemetry/semantic-conventions-genai, in development), plus
 * Plimsoll's own names `plimsoll.*`.
 */

import type { Attributes } from "@opentelemetry/api";
import type { CompactionEndEvent, OwnCallEvent, TurnEndEvent } from "../../message/event.ts";

export type Upstreams = ReadonlyMap<string, { readonly baseUrl: string }>;

/** Provider names in the convention. Other providers keep their configured name, which the convention allows. */
const knownProviders: ReadonlyMap<string, string> = new Map([
  ["anthropic", "anthropic"],
  ["openai", "openai"],
  ["gemini", "gcp.gemini"],
]);

/**
 * Attributes that a turn's span and its figures have in common. Each has few possible values and contains no text of the
 * conversation.
 */
export function operationAttributes(
  { provider, model }: Pick<TurnEndEvent, "provider" | "model">,
  upstreams: Upstreams,
): Attributes {
  return {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": model,
    ...(provider === undefined
      ? {}
      : { "gen_ai.provider.name": knownProviders.get(provider) ?? provider }),
    ...serverOf(upstreams.get(provider ?? "")?.baseUrl),
  };
}

const usualPorts: Readonly<Record<string, number>> = { "http:": 80, "https:": 443 };

function serverOf(baseUrl: string | undefined): Attributes {
  if (baseUrl === undefined || !URL.canParse(baseUrl)) return {};
  const { hostname, port, protocol } = new URL(baseUrl);
  const number = port === "" ? usualPorts[protocol] : Number(port);
  return {
    "server.address": hostname,
    ...(number === undefined ? {} : { "server.port": number }),
  };
}

/** The kind of a turn's failure. The provider's own message is left out, because it may repeat the user's text. */
export function errorType({ outcome, status }: TurnEndEvent): string | undefined {
  if (outcome === "refused") return "refused";
  return status === "complete" ? undefined : status;
}

export function turnAttributes(event: TurnEndEvent, upstreams: Upstreams): Attributes {
  const { session, branch, turn, outcome, status, measurement, stopReason } = event;
  const error = errorType(event);
  return present({
    ...operationAttributes(event, upstreams),
    "gen_ai.conversation.id": session,
    "gen_ai.response.finish_reasons": stopReason === undefined ? undefined : [stopReason],
    ...usageAttributes(event),
    "error.type": error,
    "plimsoll.turn": turn,
    "plimsoll.branch": branch,
    "plimsoll.outcome": outcome,
    "plimsoll.status": status,
    "plimsoll.tokens_before": event.tokensBefore,
    "plimsoll.tokens_sent": measurement.total,
    "plimsoll.limit": event.limit,
    "plimsoll.window": event.window,
    "plimsoll.inner_rounds": event.innerRounds,
    "plimsoll.cost_usd": event.usd,
    "plimsoll.saved_usd": event.savedUsd,
  });
}

function usageAttributes({ usage }: TurnEndEvent): Attributes {
  return {
    "gen_ai.usage.input_tokens": usage?.inputTokens,
    "gen_ai.usage.output_tokens": usage?.outputTokens,
    "gen_ai.usage.cache_read.input_tokens": usage?.cacheReadTokens,
    "gen_ai.usage.cache_creation.input_tokens": usage?.cacheWriteTokens,
    "gen_ai.usage.reasoning.output_tokens": usage?.reasoningTokens,
  };
}

export function compactionAttributes(event: CompactionEndEvent): Attributes {
  const { session, branch, reason, strategies, receipt, worth } = event;
  return present({
    "gen_ai.conversation.id": session,
    "plimsoll.branch": branch,
    "plimsoll.compaction.reason": reason,
    "plimsoll.compaction.strategies": [...strategies],
    "plimsoll.compaction.tokens_before": event.tokensBefore,
    "plimsoll.compaction.tokens_after": event.tokensAfter,
    "plimsoll.compaction.messages_taken_out": event.messagesTakenOut,
    "plimsoll.compaction.edits": event.edits.length,
    "plimsoll.compaction.coherence": receipt.coherence,
    "plimsoll.compaction.price_usd": worth?.priceUsd,
  });
}

export function toolAttributes({ session, tool, tokens, isError }: OwnCallEvent): Attributes {
  return {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": tool,
    "gen_ai.tool.type": "function",
    "gen_ai.conversation.id": session,
    "plimsoll.tool.tokens": tokens,
    ...(isError ? { "error.type": "tool_error" } : {}),
  };
}

function present(attributes: Attributes): Attributes {
  return Object.fromEntries(
    Object.entries(attributes).filter(([, value]) => value !== undefined),
  ) as Attributes;
}
