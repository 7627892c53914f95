/** The OpenAI Chat Completions wire. Each part of it has its own file. */

import type { JsonObject } from "../../message/json.ts";
import type { Wire } from "../format/wire.ts";
import { chatAnswer } from "./answer.ts";
import { chatBody } from "./body.ts";
import { chatCache } from "./cache.ts";
import { chatEdit } from "./edit.ts";
import { chatMessages } from "./messages.ts";
import { chatRounds } from "./rounds.ts";
import { chatTools } from "./tools.ts";

export const openaiChatWire: Wire = {
  name: "openai-chat",
  vendor: "openai",
  modelPlace: "body",
  fields: { model: "model", messages: "messages", tools: "tools" },
  body: chatBody,
  messages: chatMessages,
  edit: chatEdit,
  cache: chatCache,
  tools: chatTools,
  answer: chatAnswer,
  rounds: chatRounds,
  errors: {
    body: errorBody,
    event: (status, message) => ({ name: "", data: JSON.stringify(errorBody(status, message)) }),
    tooLong: (needTokens, limitTokens) => ({
      error: {
        message: `This model's maximum context length is ${limitTokens} tokens. However, your messages resulted in ${needTokens} tokens. Please reduce the length of the messages.`,
        type: "invalid_request_error",
        param: "messages",
        code: "context_length_exceeded",
      },
    }),
  },
};

function errorBody(status: number, message: string): JsonObject {
  return {
    error: {
      message,
      type: status < 500 ? "invalid_request_error" : "server_error",
      param: null,
      code: null,
    },
  };
}
