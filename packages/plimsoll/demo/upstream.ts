/** The scripted upstream. It speaks Anthropic Messages on 127.0.0.1, refuses invalid requests, and simulates a cache. */

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { eventsOf } from "./answer-events.ts";
import { faultIn } from "./judge.ts";
import { createModel, type OwnLookup, type Reply, type ScriptedModel } from "./model.ts";
import { createPromptCache, roughTokens } from "./prompt-cache.ts";
import type { SessionScript } from "./script.ts";
import type { WireAnswer, WireRequest } from "./wire-forms.ts";

export interface Upstream {
  readonly url: string;
  /** The errors with which it refused requests. Empty if all is well. */
  readonly refusals: readonly string[];
  readonly lookups: readonly OwnLookup[];
  close(): Promise<void>;
}

export interface UpstreamOptions {
  readonly scripts: readonly SessionScript[];
  /** Size of each model's window, in tokens. */
  readonly windows: ReadonlyMap<string, number>;
}

type Answered =
  | { readonly kind: "answer"; readonly answer: WireAnswer }
  | { readonly kind: "refused"; readonly sentence: string };

export async function startUpstream(options: UpstreamOptions): Promise<Upstream> {
  const refusals: string[] = [];
  const models = new Map(options.scripts.map((script) => [script.name, createModel(script)]));
  const answer = answering(models, options.windows);
  const server = createServer((request, response) => {
    takeBody(request)
      .then((body) => {
        const answered = answer(body);
        if (answered.kind === "refused") refusals.push(answered.sentence);
        send(response, answered, body);
      })
      .catch((error: unknown) => {
        refusals.push(String(error));
        response.destroy();
      });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    refusals,
    get lookups() {
      return [...models.values()].flatMap(({ lookups }) => lookups);
    },
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

async function takeBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  if (request.url?.split("?")[0] !== "/v1/messages")
    throw new Error(`The upstream was asked for ${request.url}, which it does not have.`);
  return JSON.parse(Buffer.concat(chunks).toString("utf8"));
}

function answering(
  models: ReadonlyMap<string, ScriptedModel>,
  windows: ReadonlyMap<string, number>,
): (body: unknown) => Answered {
  const cache = createPromptCache();
  let answers = 0;
  return (body) => {
    const fault = faultIn(body);
    if (fault !== undefined) return { kind: "refused", sentence: fault };
    const request = body as WireRequest;
    const model = models.get(request.metadata?.user_id ?? "");
    if (model === undefined) return { kind: "refused", sentence: "metadata.user_id: unknown" };
    const { tokens, cacheRead, cacheWritten } = cache.take(request);
    const window = windows.get(request.model) ?? 0;
    if (tokens + request.max_tokens > window)
      return {
        kind: "refused",
        sentence: `input length and \`max_tokens\` exceed context limit: ${tokens} + ${request.max_tokens} > ${window}`,
      };
    const content = model.answer(request);
    answers++;
    return {
      kind: "answer",
      answer: {
        id: `msg_demo_${answers}`,
        type: "message",
        role: "assistant",
        model: request.model,
        content,
        stop_reason: content.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn",
        stop_sequence: null,
        usage: {
          input_tokens: tokens - cacheRead - cacheWritten,
          cache_read_input_tokens: cacheRead,
          cache_creation_input_tokens: cacheWritten,
          output_tokens: outputTokens(content),
        },
      },
    };
  };
}

function outputTokens(content: Reply): number {
  return content.reduce(
    (sum, block) =>
      sum + roughTokens(block.type === "text" ? block.text : JSON.stringify(block.input)),
    0,
  );
}

function send(response: ServerResponse, answered: Answered, body: unknown): void {
  if (answered.kind === "refused") {
    const error = { type: "invalid_request_error", message: answered.sentence };
    response.writeHead(400, { "content-type": "application/json" });
    response.end(JSON.stringify({ type: "error", error }));
    return;
  }
  if ((body as WireRequest).stream !== true) {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(answered.answer));
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  for (const { type, data } of eventsOf(answered.answer))
    response.write(`event: ${type}\ndata: ${JSON.stringify(data)}\n\n`);
  response.end();
}
