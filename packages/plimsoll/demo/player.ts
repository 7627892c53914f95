/** The demo's client: an agent that sends its whole conversation with every turn. It does not know about Plimsoll. */

import { setTimeout as wait } from "node:timers/promises";
import { answerOf, type WireEvent } from "./answer-events.ts";
import { receivedEvents } from "./event-stream.ts";
import type { SessionScript } from "./script.ts";
import { demoTools } from "./tools.ts";
import type {
  Block,
  CacheMark,
  ResultBlock,
  WireAnswer,
  WireMessage,
  WireRequest,
} from "./wire-forms.ts";
import type { ScriptedCall, Step } from "./work.ts";

export interface PlayOptions {
  readonly url: string;
  /** Shortest time from one turn to the next. */
  readonly paceMs: number;
  readonly maxTokens: number;
  readonly signal: AbortSignal;
  /** Called with the service's session id. */
  onTurn(id: string): void;
}

export interface PlayedSession {
  readonly script: SessionScript;
  /** The service's session id. */
  readonly id: string;
}

const mark: CacheMark = { type: "ephemeral" };

/** Contract: rejects with a sentence if the service's answer differs from the model's. */
export async function playSession(
  script: SessionScript,
  options: PlayOptions,
): Promise<PlayedSession> {
  const messages: WireMessage[] = [];
  let [id, before]: [string, Step | undefined] = ["", undefined];
  for (const [index, step] of script.steps.entries()) {
    const started = performance.now();
    messages.push({ role: "user", content: newsOf(before, step) });
    const response = await send(script, messages, options);
    const content = await contentOf(response, script);
    const place = `Turn ${index + 1} of "${script.name}"`;
    if (!isAsScripted(content, step))
      throw new Error(
        `${place} brought another answer than the model gave: ${JSON.stringify(content).slice(0, 400)}`,
      );
    messages.push({ role: "assistant", content });
    id = response.headers.get("x-plimsoll-session") ?? id;
    before = step;
    options.onTurn(id);
    const rest = options.paceMs - (performance.now() - started);
    if (rest > 0) await wait(rest, undefined, { signal: options.signal });
  }
  return { script, id };
}

/** The results of the last calls, followed by the user's words. */
function newsOf(before: Step | undefined, { user }: Step): readonly Block[] {
  return [
    ...(before?.calls ?? []).map(resultOf),
    ...(user === undefined ? [] : [{ type: "text", text: user } as const]),
  ];
}

function resultOf({ id, output }: ScriptedCall): ResultBlock {
  const { kind, content } = output;
  const source = { type: "base64", media_type: "image/png", data: content } as const;
  return {
    type: "tool_result",
    tool_use_id: id,
    content: kind === "image" ? [{ type: "image", source }] : content,
    ...(kind === "error" ? { is_error: true } : {}),
  };
}

async function send(
  script: SessionScript,
  messages: readonly WireMessage[],
  { url, maxTokens, signal }: PlayOptions,
): Promise<Response> {
  const body: WireRequest = {
    model: script.model,
    max_tokens: maxTokens,
    ...(script.isStreamed ? { stream: true } : {}),
    metadata: { user_id: script.name },
    system: [{ type: "text", text: script.system, cache_control: mark }],
    tools: demoTools,
    messages: withMark(messages),
  };
  const response = await fetch(`${url}/v1/messages`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "anthropic-version": "2023-06-01",
      "x-api-key": "no-key-is-needed-for-the-demo",
      "x-plimsoll-session": script.name,
      "x-plimsoll-agent": script.agent,
      ...(script.priority === undefined ? {} : { "x-plimsoll-priority": String(script.priority) }),
    },
    body: JSON.stringify(body),
    signal,
  });
  if (response.ok) return response;
  throw new Error(
    `The service answered ${response.status} to "${script.name}": ${(await response.text()).slice(0, 400)}`,
  );
}

/** Sets a cache mark at the end of the request, as agents do, so that the provider can cache it for the next request. */
function withMark(messages: readonly WireMessage[]): readonly WireMessage[] {
  const last = messages.at(-1);
  if (last === undefined || typeof last.content === "string") return messages;
  const content = last.content.map((block, index, all) =>
    index === all.length - 1 ? { ...block, cache_control: mark } : block,
  );
  return [...messages.slice(0, -1), { ...last, content }];
}

async function contentOf(
  response: Response,
  { isStreamed }: SessionScript,
): Promise<WireAnswer["content"]> {
  if (!isStreamed) return ((await response.json()) as WireAnswer).content;
  const events: WireEvent[] = [];
  for await (const { type, data } of receivedEvents(response))
    events.push({ type, data: JSON.parse(data) as WireEvent["data"] });
  return answerOf(events);
}

/** Checks that the client sees no trace of Plimsoll's own tools. */
function isAsScripted(content: WireAnswer["content"], { text, calls }: Step): boolean {
  const expected = [
    { type: "text", text },
    ...calls.map(({ id, name, input }) => ({ type: "tool_use", id, name, input })),
  ];
  return JSON.stringify(content) === JSON.stringify(expected);
}
