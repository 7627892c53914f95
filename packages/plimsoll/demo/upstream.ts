/** The scripted upstream. It speaks all wires on 127.0.0.1, refuses invalid requests, and simulates a cache. */

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { WireName } from "../src/wire/format/wire.ts";
import { judge } from "./judge.ts";
import { createModel, type OwnLookup, type ScriptedModel } from "./model.ts";
import { createPromptCache, roughTokens } from "./prompt-cache.ts";
import { type SessionScript, sessionHeader } from "./script.ts";
import type { PathFields, Reply, WireForm } from "./wires/form.ts";
import { formOfPath } from "./wires/forms.ts";

export interface Upstream {
  readonly url: string;
  /** The number of requests that it answered, for each wire. */
  readonly answered: ReadonlyMap<WireName, number>;
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

interface Received {
  readonly form: WireForm;
  readonly fields: PathFields;
  readonly session: string;
  readonly body: unknown;
}

type Answered =
  | { readonly kind: "answer"; readonly answer: object; readonly isStreamed: boolean }
  | { readonly kind: "refused"; readonly sentence: string };

export async function startUpstream(options: UpstreamOptions): Promise<Upstream> {
  const refusals: string[] = [];
  const answered = new Map<WireName, number>();
  const models = new Map(options.scripts.map((script) => [script.name, createModel(script)]));
  const answer = answering(models, options.windows);
  const server = createServer((request, response) => {
    receive(request)
      .then((received) => {
        const { wire } = received.form;
        const result = answer(received);
        if (result.kind === "refused") refusals.push(`${wire}: ${result.sentence}`);
        else answered.set(wire, (answered.get(wire) ?? 0) + 1);
        send(response, received.form, result);
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
    answered,
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

async function receive(request: IncomingMessage): Promise<Received> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const found = formOfPath(request.url ?? "");
  if (found === undefined)
    throw new Error(`The upstream was asked for ${request.url}, which it does not have.`);
  const body: unknown = JSON.parse(Buffer.concat(chunks).toString("utf8"));
  return { ...found, session: String(request.headers[sessionHeader]), body };
}

function answering(
  models: ReadonlyMap<string, ScriptedModel>,
  windows: ReadonlyMap<string, number>,
): (received: Received) => Answered {
  const cache = createPromptCache();
  // Each session has numbers of its own, so that ids do not depend on which session was faster.
  const numbers = new Map([...models.keys()].map((name, index) => [name, index * 10_000]));
  return ({ form, fields, session, body }) => {
    const judged = judge(form, body, fields);
    if (judged.kind === "fault") return { kind: "refused", sentence: judged.sentence };
    const { asked } = judged;
    const script = models.get(session);
    if (script === undefined) return { kind: "refused", sentence: `${sessionHeader}: unknown` };
    const input = cache.take(form, asked.model, body as object);
    const tokens = input.fresh + input.cacheRead + input.cacheWrite;
    const { model, maxTokens, isStreamed } = asked;
    const window = windows.get(model) ?? 0;
    if (tokens + maxTokens > window)
      return { kind: "refused", sentence: form.upstream.tooLong({ tokens, maxTokens, window }) };
    const reply = script.answer(asked);
    const number = (numbers.get(session) ?? 0) + 1;
    numbers.set(session, number);
    const usage = { ...input, output: outputTokens(reply) };
    return {
      kind: "answer",
      answer: form.upstream.answer(reply, { number, model, usage }),
      isStreamed,
    };
  };
}

function outputTokens({ text, calls }: Reply): number {
  return calls.reduce(
    (sum, { input }) => sum + roughTokens(JSON.stringify(input)),
    roughTokens(text),
  );
}

function send(response: ServerResponse, { upstream }: WireForm, answered: Answered): void {
  if (answered.kind === "refused") {
    response.writeHead(400, { "content-type": "application/json" });
    response.end(JSON.stringify(upstream.refusal(answered.sentence)));
    return;
  }
  if (!answered.isStreamed) {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(answered.answer));
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  for (const { type, data } of upstream.events(answered.answer))
    response.write(`${type === "" ? "" : `event: ${type}\n`}data: ${data}\n\n`);
  response.end();
}
