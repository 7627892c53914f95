/** The model routes: a conversation comes in, is recorded and measured, and goes on as it is. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Agent } from "undici";
import { errorMessage, PlimsollError } from "../message/error.ts";
import type { Plimsoll } from "../session/plimsoll.ts";
import type { Turn } from "../session/turn.ts";
import { wires } from "../wire/wires.ts";
import { type ReadBody, readBody } from "./body.ts";
import { type Caller, checkJson } from "./checks.ts";
import { readHints } from "./hints.ts";
import { type Answering, relay, upstreamHeaders } from "./relay.ts";
import type { Route } from "./route.ts";
import { watchAnswer } from "./watch.ts";

export interface Gateway {
  readonly plimsoll: Plimsoll;
  readonly agent: Agent;
  /** Where a provider's path lies; from the user's configuration only. */
  readonly upstream: (provider: string, path: string) => URL;
  /** Says what went wrong to whoever runs the service. */
  readonly warn: (message: string) => void;
  readonly observeOverhead: (seconds: number) => void;
}

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly caller: Caller;
}

export async function handleModel(
  gateway: Gateway,
  { request, response, caller }: Exchange,
  route: Extract<Route, { kind: "model" }>,
): Promise<void> {
  checkJson(request);
  const body = await readBody(request);
  const receivedAt = performance.now();
  const wire = wires[route.wire];
  const call = {
    url: gateway.upstream(route.provider, route.path),
    method: "POST",
    // An answer that comes packed could not be watched while it streams.
    headers: upstreamHeaders(
      request,
      new Map([
        ["accept-encoding", "identity"],
        ["content-length", String(body.raw.length)],
      ]),
    ),
    body: body.raw,
  };
  const turn = await receive(gateway, { request, caller, body, route });
  gateway.observeOverhead((performance.now() - receivedAt) / 1000);
  try {
    await relay(
      gateway.agent,
      call,
      response,
      (status, headers): Answering =>
        turn === undefined
          ? { headers: {} }
          : { headers: turnHeaders(turn), watch: watchAnswer(turn, wire, status, headers) },
    );
  } catch (error) {
    await turn?.end({
      status: response.destroyed ? "aborted" : "failed",
      error: errorMessage(error),
    });
    throw error;
  } finally {
    body.release();
  }
}

interface Receiving {
  readonly request: IncomingMessage;
  readonly caller: Caller;
  readonly body: ReadBody & { release(): void };
  readonly route: Extract<Route, { kind: "model" }>;
}

/** A body that the client got wrong is its own to mend; whatever fails of ours lets the request go on. */
async function receive(
  gateway: Gateway,
  { request, caller, body, route }: Receiving,
): Promise<Turn | undefined> {
  try {
    return await gateway.plimsoll.receive({
      tenant: caller.tenant,
      provider: route.provider,
      wire: wires[route.wire],
      body: body.json,
      hints: readHints(request.headers),
    });
  } catch (error) {
    if (PlimsollError.is(error) && error.status < 500) {
      body.release();
      throw error;
    }
    gateway.warn(`A request went on without being recorded: ${errorMessage(error)}`);
    return undefined;
  }
}

function turnHeaders(turn: Turn): Record<string, string> {
  const { total } = turn.measurement;
  return {
    "x-plimsoll-session": turn.session,
    "x-plimsoll-action": turn.outcome,
    "x-plimsoll-tokens": `${total};${total}`,
  };
}

/** Everything of a provider's that is not a conversation. */
export async function handleRelay(
  gateway: Gateway,
  { request, response }: Exchange,
  route: Extract<Route, { kind: "relay" }>,
): Promise<void> {
  const { method = "GET", headers } = request;
  const hasBody =
    headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined;
  const length = headers["content-length"];
  await relay(
    gateway.agent,
    {
      url: gateway.upstream(route.provider, route.path),
      method,
      headers: upstreamHeaders(
        request,
        new Map(length === undefined ? [] : [["content-length", length]]),
      ),
      body: hasBody ? request : null,
    },
    response,
    () => ({ headers: {} }),
  );
}
