/** The OpenAI Responses wire. Each part of it has its own file. One item of `input` is one message. */

import type { Wire } from "../format/wire.ts";
import { responsesAnswer } from "./answer.ts";
import { responsesBody } from "./body.ts";
import { responsesCache } from "./cache.ts";
import { responsesEdit } from "./edit.ts";
import { responsesMessages } from "./messages.ts";
import { responsesRounds } from "./rounds.ts";
import { responsesTools } from "./tools.ts";

export const openaiResponsesWire: Wire = {
  name: "openai-responses",
  vendor: "openai",
  modelPlace: "body",
  fields: {
    model: "model",
    messages: "input",
    tools: "tools",
    system: "instructions",
  },
  body: responsesBody,
  messages: responsesMessages,
  edit: responsesEdit,
  cache: responsesCache,
  tools: responsesTools,
  answer: responsesAnswer,
  rounds: responsesRounds,
  errors: {
    body: (status, message) => ({
      error: { message, type: errorType(status), param: null, code: null },
    }),
    event: (status, message) => ({
      name: "error",
      data: JSON.stringify({ type: "error", code: errorType(status), message, param: null }),
    }),
    tooLong: (needTokens, limitTokens) => ({
      error: {
        message: `Your input exceeds the context window of this model. The maximum context length is ${limitTokens} tokens. However, your input resulted in ${needTokens} tokens. Please adjust your input and try again.`,
        type: "invalid_request_error",
        param: "input",
        code: "context_length_exceeded",
      },
    }),
  },
};

function errorType(status: number): string {
  return status < 500 ? "invalid_request_error" : "server_error";
}
