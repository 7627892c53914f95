/** The demo's client: an agent that sends its whole conversation with every turn. It does not know about Plimsoll. */

import { setTimeout as wait } from "node:timers/promises";
import { receivedEvents } from "./event-stream.ts";
import { type SessionScript, sessionHeader } from "./script.ts";
import type { Reply, WireEvent } from "./wires/form.ts";
import { wireForms } from "./wires/forms.ts";
import type { Step } from "./work.ts";

export interface PlayOptions {
  readonly url: string;
  /** Shortest time from one turn to the next. */
  readonly paceMs: number;
  readonly maxTokens: number;
  readonly signal: AbortSignal;
  /** The first turn waits for this. */
  readonly mayBegin?: Promise<void>;
  /** The other turns wait for this. */
  readonly mayGoOn?: Promise<void>;
  /** Called with the service's session id. */
  onTurn(id: string): void;
}

export interface PlayedSession {
  readonly script: SessionScript;
  /** The service's session id. */
  readonly id: string;
}

/** Contract: rejects with a sentence if the service's answer differs from the model's. */
export async function playSession(
  script: SessionScript,
  options: PlayOptions,
): Promise<PlayedSession> {
  const { client } = wireForms[script.wire];
  const messages: object[] = [];
  let [id, before]: [string, Step | undefined] = ["", undefined];
  await options.mayBegin;
  for (const [index, step] of script.steps.entries()) {
    const started = performance.now();
    messages.push(...client.messagesOf({ calls: before?.calls ?? [], user: step.user }));
    const response = await send(script, messages, options);
    const answer = await answerIn(response, script);
    const reply = client.reply(answer);
    if (!isAsScripted(reply, step))
      throw new Error(
        `Turn ${index + 1} of "${script.name}" brought another answer than the model gave: ${JSON.stringify(reply).slice(0, 400)}`,
      );
    messages.push(...client.kept(answer));
    id = response.headers.get("x-plimsoll-session") ?? id;
    before = step;
    options.onTurn(id);
    await options.mayGoOn;
    const rest = options.paceMs - (performance.now() - started);
    if (rest > 0) await wait(rest, undefined, { signal: options.signal });
  }
  return { script, id };
}

async function send(
  script: SessionScript,
  messages: readonly object[],
  { url, maxTokens, signal }: PlayOptions,
): Promise<Response> {
  const { name, agent, wire, model, priority, isStreamed, system } = script;
  const { client } = wireForms[wire];
  const response = await fetch(`${url}${client.path(model, isStreamed)}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...client.headers,
      [sessionHeader]: name,
      "x-plimsoll-session": name,
      "x-plimsoll-agent": agent,
      ...(priority === undefined ? {} : { "x-plimsoll-priority": String(priority) }),
    },
    body: JSON.stringify(client.body({ model, maxTokens, isStreamed, system, messages })),
    signal,
  });
  if (response.ok) return response;
  throw new Error(
    `The service answered ${response.status} to "${name}": ${(await response.text()).slice(0, 400)}`,
  );
}

async function answerIn(response: Response, { wire, isStreamed }: SessionScript): Promise<object> {
  if (!isStreamed) return (await response.json()) as object;
  const events: WireEvent[] = [];
  for await (const event of receivedEvents(response)) events.push(event);
  return wireForms[wire].client.joined(events);
}

/** Checks that the client sees no trace of Plimsoll's own tools. */
function isAsScripted(reply: Reply, { text, calls }: Step): boolean {
  const expected = { text, calls: calls.map(({ id, name, input }) => ({ id, name, input })) };
  return JSON.stringify(reply) === JSON.stringify(expected);
}
