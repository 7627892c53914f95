/** The short conversation that was recorded of one agent, sent through the service request by request, as the agent sent it. */

import { reply } from "../harness/answer.ts";
import type { JsonObject } from "../harness/json.ts";
import { modelHeaders } from "../harness/raw-client.ts";
import { OWNER_TOKEN, type Service, startService } from "../harness/service.ts";
import { startUpstream } from "../harness/upstream.ts";
import { type AgentShape, loadShape, type RecordedTurn } from "./shape.ts";

export interface ReplayOptions {
  readonly agent: string;
  readonly windowTokens: number;
  readonly config?: JsonObject;
  /** Called with the number of requests sent so far, after each of them. */
  readonly after?: (sent: number, replay: Replay) => Promise<void>;
}

export interface Replay {
  readonly service: Service;
  readonly token: string;
  /** The id of the session that the service recorded. */
  readonly session: string;
  close(): Promise<void>;
}

const NAME = "7d9f2f0e-1c5b-4e0e-9a51-3f6f5d2b8c01";

export async function replayAgent(options: ReplayOptions): Promise<Replay> {
  const shape = loadShape(options.agent);
  let turn = shape.recorded[0];
  const upstream = await startUpstream({
    script: () => reply(...(turn?.answer ?? [])),
    window: { tokens: options.windowTokens },
  });
  const provider = { contextWindow: options.windowTokens };
  const service = await startService({
    upstreams: {},
    config: {
      providers: {
        anthropic: { baseUrl: upstream.url, ...provider },
        openai: { baseUrl: `${upstream.url}/v1`, ...provider },
      },
      ...options.config,
    },
  });
  const close = async (): Promise<void> => {
    await service.stop();
    await upstream.close();
  };
  const replay = { service, token: OWNER_TOKEN, session: "", close };
  for (const [index, recorded] of shape.recorded.entries()) {
    turn = recorded;
    const response = await send(service, shape, recorded);
    await response.text();
    replay.session = response.headers.get("x-plimsoll-session") ?? "";
    await options.after?.(index + 1, replay);
  }
  return replay;
}

function send(service: Service, shape: AgentShape, turn: RecordedTurn): Promise<Response> {
  const { wire, path, fields, opening } = shape;
  const messages = turn.conversation.map((message) =>
    typeof message["opening"] === "number" ? (opening[message["opening"]] ?? message) : message,
  );
  const name = wire === "openai-responses" ? "input" : "messages";
  const body = present({ ...fields, ...turn.changedFields, [name]: messages });
  const headers = present({
    ...modelHeaders(wire, `key-of-${shape.agent}`),
    ...shape.headers,
    ...turn.changedHeaders,
  });
  return fetch(`${service.url}${path}`, {
    method: "POST",
    headers: JSON.parse(named(JSON.stringify(headers))) as Record<string, string>,
    body: named(JSON.stringify(body)),
  });
}

function present(fields: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== null),
  );
}

function named(text: string): string {
  return text.replaceAll("{session}", NAME);
}
