/** The Gemini wire. Each part of it has its own file. */

import type { JsonObject } from "../../message/json.ts";
import type { Wire } from "../format/wire.ts";
import { geminiAnswer } from "./answer.ts";
import { geminiBody } from "./body.ts";
import { geminiCache } from "./cache.ts";
import { geminiEdit } from "./edit.ts";
import { geminiMessages } from "./messages.ts";
import { geminiRounds } from "./rounds.ts";
import { geminiTools } from "./tools.ts";

export const geminiWire: Wire = {
  name: "gemini",
  vendor: "gemini",
  modelPlace: "path",
  fields: {
    model: "model",
    messages: "contents",
    tools: "tools",
    system: "systemInstruction",
  },
  body: geminiBody,
  messages: geminiMessages,
  edit: geminiEdit,
  cache: geminiCache,
  tools: geminiTools,
  answer: geminiAnswer,
  rounds: geminiRounds,
  errors: {
    body: errorBody,
    event: (status, message) => ({ name: "", data: JSON.stringify(errorBody(status, message)) }),
    tooLong: (needTokens, limitTokens) =>
      errorBody(
        400,
        `The input token count (${needTokens}) exceeds the maximum number of tokens allowed (${limitTokens}).`,
      ),
  },
};

function errorBody(status: number, message: string): JsonObject {
  return { error: { code: status, message, status: statusName(status) } };
}

/** Google's names for HTTP statuses. */
function statusName(status: number): string {
  switch (status) {
    case 401:
      return "UNAUTHENTICATED";
    case 403:
      return "PERMISSION_DENIED";
    case 404:
      return "NOT_FOUND";
    case 429:
      return "RESOURCE_EXHAUSTED";
    case 499:
      return "CANCELLED";
    case 503:
      return "UNAVAILABLE";
    case 504:
      return "DEADLINE_EXCEEDED";
    default:
      return status < 500 ? "INVALID_ARGUMENT" : "INTERNAL";
  }
}
