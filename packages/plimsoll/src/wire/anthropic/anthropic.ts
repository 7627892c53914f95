/** The Anthropic Messages wire. Each part of it has its own file. */

import type { JsonObject } from "../../message/json.ts";
import type { Wire } from "../format/wire.ts";
import { anthropicAnswer } from "./answer.ts";
import { anthropicBody } from "./body.ts";
import { anthropicCache } from "./cache.ts";
import { anthropicEdit } from "./edit.ts";
import { anthropicMessages } from "./messages.ts";
import { anthropicRounds } from "./rounds.ts";
import { anthropicTools } from "./tools.ts";

export const anthropicWire: Wire = {
  name: "anthropic",
  vendor: "anthropic",
  modelPlace: "body",
  fields: {
    model: "model",
    messages: "messages",
    tools: "tools",
    system: "system",
  },
  body: anthropicBody,
  messages: anthropicMessages,
  edit: anthropicEdit,
  cache: anthropicCache,
  tools: anthropicTools,
  answer: anthropicAnswer,
  rounds: anthropicRounds,
  errors: {
    body: errorBody,
    event: (status, message) => ({
      name: "error",
      data: JSON.stringify(errorBody(status, message)),
    }),
    tooLong: (needTokens, limitTokens) =>
      errorBody(400, `prompt is too long: ${needTokens} tokens > ${limitTokens} maximum`),
  },
};

function errorBody(status: number, message: string): JsonObject {
  return { type: "error", error: { type: errorType(status), message } };
}

function errorType(status: number): string {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 529:
      return "overloaded_error";
    default:
      return status < 500 ? "invalid_request_error" : "api_error";
  }
}
