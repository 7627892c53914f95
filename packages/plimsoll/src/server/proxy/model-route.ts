/** The model routes: Plimsoll receives a conversation, records it, measures it, makes it fit, and sends it on. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Agent, Dispatcher } from "undici";
import type { Engine } from "../../engine.ts";
import { errorMessage, PlimsollError } from "../../message/error.ts";
import type { AskAgain } from "../../session/models/session-summariser.ts";
import { overloadedStatuses } from "../../session/turn/next-provider.ts";
import type { ReceivedTurn, Turn } from "../../session/turn/turn.ts";
import { credentialsOf } from "../../wire/format/credentials.ts";
import { applySplices } from "../../wire/format/splice.ts";
import type { Wire } from "../../wire/format/wire.ts";
import { type Overflow, overloaded } from "../../wire/overflow.ts";
import { pathWithModel } from "../../wire/vendors.ts";
import { wires } from "../../wire/wires.ts";
import { type Caller, checkJson } from "../http/checks.ts";
import { type ReadBody, readBody } from "../http/read-body.ts";
import { sendJson } from "../http/reply.ts";
import type { Destination } from "../http/route.ts";
import { askAgainAt } from "./ask-again.ts";
import { bufferForOverflow } from "./buffer-for-overflow.ts";
import { converse } from "./converse.ts";
import { countTokensAt } from "./count-tokens.ts";
import {
  type FailedOver,
  type FailOverWorld,
  failOver,
  failOverHeader,
  heldBack,
} from "./fail-over.ts";
import { readHints, readSwitches } from "./hints.ts";
import { type Answering, type Call, framingOf, relay, upstreamHeaders } from "./relay.ts";
import { upstreamPolicy, withRetries } from "./retry-upstream.ts";
import { type UpstreamAnswer, watchAnswer } from "./watch-answer.ts";

export interface Gateway {
  readonly engine: Engine;
  readonly agent: Agent;
  /** Returns the URL for a path of a provider. The address comes only from the user's configuration. */
  readonly upstream: (provider: string, path: string) => URL;
  /** Reports a problem to the operator of the service. */
  readonly warn: (message: string) => void;
  readonly observeOverhead: (seconds: number) => void;
  /** What another provider needs in order to answer. */
  readonly failOver: FailOverWorld;
}

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly caller: Caller;
}

export async function handleModel(
  gateway: Gateway,
  { request, response, caller }: Exchange,
  route: Extract<Destination, { kind: "model" }>,
): Promise<void> {
  checkJson(request);
  const body = await readBody(request);
  const receivedAt = performance.now();
  const turn = await receive(gateway, { request, caller, body, route });
  gateway.observeOverhead((performance.now() - receivedAt) / 1000);
  try {
    await answer(gateway, { request, response, body, turn }, route);
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

interface Sending {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: ReadBody;
  readonly turn: ReceivedTurn | undefined;
}

/**
 * If no view fits into the provider's window, another provider may answer. If none does, the request is refused, or goes out as
 * the final turn.
 */
async function answer(
  gateway: Gateway,
  sending: Sending,
  route: Extract<Destination, { kind: "model" }>,
): Promise<void> {
  const { turn, response } = sending;
  const wire = wires[route.wire];
  const next = nextAnswerer(gateway, sending, wire);
  const isFull = turn !== undefined && (turn.fitted.refusal !== undefined || turn.fitted.isFinal);
  if (isFull && (await next.ask()) === "answered") return;
  if (turn?.fitted.refusal === undefined) await send(gateway, sending, route, next);
  else await refuse(turn, wire, response, next);
}

/** Sends the request. If the provider says "too long", sends a smaller one. The client sees only one answer. */
async function send(
  gateway: Gateway,
  sending: Sending,
  route: Extract<Destination, { kind: "model" }>,
  next: NextAnswerer,
): Promise<void> {
  const { request, response, body, turn } = sending;
  const agent = askingAgain(gateway, request);
  const call = (): Call => ({
    url: upstreamFor(gateway, route, turn?.fitted.target.model),
    method: "POST",
    ...outgoing(request, body, turn?.body),
  });
  if (turn?.rounds !== undefined) {
    const { wire, framing = "events" } = route;
    const headers = (): Record<string, string> => ({ ...turnHeaders(turn), ...next.headers() });
    const talk = { agent, turn, rounds: turn.rounds, wire: wires[wire], framing, response };
    return converse({ ...talk, call, headers, failOver: next.ask });
  }
  for (;;) {
    const relayed = await relay(agent, call(), response, (status, headers) =>
      turn === undefined ? { headers: {} } : answeringOf(turn, route, next, { status, headers }),
    );
    if (relayed.kind === "done") return;
    if (!(await isSmallerNow(turn, relayed.overflow))) {
      if ((await next.ask()) === "answered") relayed.drop();
      else await relayed.pass(next.headers());
      return;
    }
    relayed.drop();
    if (response.destroyed)
      throw new PlimsollError("CLIENT_LEFT", "The client went away.", { status: 499 });
  }
}

/** An overloaded provider has said nothing about the size of the request. */
async function isSmallerNow(turn: ReceivedTurn | undefined, overflow: Overflow): Promise<boolean> {
  return turn !== undefined && overflow !== overloaded && (await turn.overflowed(overflow));
}

/** How to pass an answer on: with which headers, watched, and checked before the client sees any of it. */
function answeringOf(
  turn: ReceivedTurn,
  { wire: name, framing }: Extract<Destination, { kind: "model" }>,
  next: NextAnswerer,
  { status, headers }: Pick<UpstreamAnswer, "status" | "headers">,
): Answering {
  const wire = wires[name];
  const begun = { status, headers, framing: framingOf(status, headers, framing ?? "events") };
  const hasNext = turn.nextTargets.length > 0;
  const isOverloaded = overloadedStatuses.has(status) && hasNext;
  const overflowCheck = isOverloaded ? heldBack : bufferForOverflow(wire, begun, hasNext);
  return {
    headers: { ...turnHeaders(turn), ...next.headers() },
    watch: watchAnswer(turn, wire, begun),
    ...(overflowCheck === undefined ? {} : { overflowCheck }),
  };
}

/** Another provider, which may answer a turn at most once. */
interface NextAnswerer {
  readonly ask: () => Promise<FailedOver["kind"]>;
  /** Says why no other provider has answered, once they were asked. */
  readonly headers: () => Record<string, string>;
}

function nextAnswerer(
  { failOver: world }: Gateway,
  { turn, response }: Sending,
  wire: Wire,
): NextAnswerer {
  let reasons: readonly string[] | undefined;
  return {
    ask: async () => {
      if (turn === undefined || reasons !== undefined) return "nobody";
      const headers = (): Record<string, string> => turnHeaders(turn);
      const failed = await failOver(world, { turn, wire, response, headers });
      if (failed.kind === "nobody") ({ reasons } = failed);
      return failed.kind;
    },
    headers: () => failOverHeader(reasons ?? []),
  };
}

/** The upstream connection for this request, which tries again if the configuration and the client call for it. */
function askingAgain({ agent, engine, warn }: Gateway, request: IncomingMessage): Dispatcher {
  const { headers } = request;
  const { isBypassed } = readSwitches(headers);
  const { client } = readHints(headers);
  const policy = upstreamPolicy(engine.settings.now(), headers, client);
  return policy === undefined || isBypassed === true
    ? agent
    : withRetries(agent, { policy, tell: warn });
}

/** The address to send to. If the path names the model, it names the model that Plimsoll chose. */
function upstreamFor(
  gateway: Gateway,
  { provider, path, model }: Extract<Destination, { kind: "model" }>,
  chosen: string | undefined,
): URL {
  const isOther = model !== undefined && chosen !== undefined && chosen !== model;
  return gateway.upstream(provider, isOther ? pathWithModel(path, chosen) : path);
}

/** The body to send: the client's own bytes, compressed or not, or an edited body, which is never compressed. */
function outgoing(
  request: IncomingMessage,
  { raw }: ReadBody,
  edited: Uint8Array | undefined,
): Pick<Call, "headers" | "body"> {
  const body = edited ?? raw;
  const headers = upstreamHeaders(
    request,
    new Map([
      // Plimsoll could not read a compressed answer while it streams.
      ["accept-encoding", "identity"],
      ["content-length", String(body.length)],
    ]),
  );
  if (edited === undefined) return { headers, body };
  const isPacking = (index: number): boolean =>
    (headers[index - (index % 2)] ?? "").toLowerCase() === "content-encoding";
  return { headers: headers.filter((_, index) => !isPacking(index)), body };
}

/** Uses the provider's own error format, because clients recognise it and compact their conversation when they see it. */
async function refuse(
  turn: ReceivedTurn,
  wire: Wire,
  response: ServerResponse,
  next: NextAnswerer,
): Promise<void> {
  const { needTokens = 0, limitTokens = 0 } = turn.fitted.refusal ?? {};
  await turn.end({
    status: "failed",
    error: `The request needs ${needTokens} tokens, but the window has only ${limitTokens}, and nothing more can be removed.`,
  });
  const headers = { ...turnHeaders(turn), ...next.headers() };
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.setHeader("x-should-retry", "false");
  sendJson(response, 400, wire.errors.tooLong(needTokens, limitTokens));
}

interface Receiving {
  readonly request: IncomingMessage;
  readonly caller: Caller;
  readonly body: ReadBody & { release(): void };
  readonly route: Extract<Destination, { kind: "model" }>;
}

/**
 * If the body is wrong, the client gets an error. If Plimsoll itself fails, the request is sent on anyway, unless the service is
 * shutting down, because the client has then gone.
 */
async function receive(
  gateway: Gateway,
  { request, caller, body, route }: Receiving,
): Promise<ReceivedTurn | undefined> {
  const counting = {
    agent: gateway.agent,
    request,
    url: () => gateway.upstream(route.provider, route.path),
    wire: wires[route.wire],
  };
  try {
    const switches = readSwitches(request.headers);
    return await gateway.engine.receive({
      tenant: caller.tenant,
      provider: route.provider,
      wire: wires[route.wire],
      body: body.json,
      ...(route.model === undefined ? {} : { model: route.model }),
      hints: {
        ...readHints(request.headers),
        ...(route.run === undefined ? {} : { folder: route.run.folder }),
      },
      ...switches,
      ...(route.run === undefined ? {} : { run: route.run.id }),
      headers: decidingHeaders(wires[route.wire], request),
      credentials: () => credentialsOf(request.rawHeaders, request.url ?? ""),
      isRefreshable: caller.isByCredential === true,
      ...(switches.isBypassed === true
        ? {}
        : {
            countTokens: countTokensAt(counting),
            askAgainAs: askAgainOn(gateway, request, route),
          }),
    });
  } catch (error) {
    if (PlimsollError.is(error) && (error.status < 500 || error.code === "CLOSED")) {
      body.release();
      throw error;
    }
    gateway.warn(`A request was sent on without being recorded: ${errorMessage(error)}`);
    return undefined;
  }
}

/** A way to ask a model of the same upstream once more, after the turn. */
function askAgainOn(
  gateway: Gateway,
  request: IncomingMessage,
  route: Extract<Destination, { kind: "model" }>,
): (model: string) => AskAgain {
  const { framing = "events" } = route;
  const wire = wires[route.wire];
  return (model) =>
    askAgainAt({
      agent: gateway.agent,
      request,
      url: upstreamFor(gateway, route, model),
      wire,
      framing,
    });
}

/** The client's headers that determine which content a body may have. */
function decidingHeaders(
  wire: Wire,
  { headers }: IncomingMessage,
): Readonly<Record<string, string>> {
  const given = wire.body.headers.flatMap((name) => {
    const value = headers[name];
    return typeof value === "string" ? [[name, value] as const] : [];
  });
  return Object.fromEntries(given);
}

function turnHeaders({ session, fitted, shortened }: Turn): Record<string, string> {
  const { asked, sent } = shortened ?? {};
  return {
    ...(asked && sent ? { "x-plimsoll-max-tokens": `${asked.maxTokens};${sent.maxTokens}` } : {}),
    "x-plimsoll-session": session,
    "x-plimsoll-action": fitted.outcome,
    "x-plimsoll-tokens": `${fitted.tokensBefore};${fitted.tokensAfter}`,
  };
}

/**
 * Counts the tokens of the request that Plimsoll would send, so that a client that watches its window sees the size that the
 * model gets.
 */
export async function handleCount(
  gateway: Gateway,
  { request, response, caller }: Exchange,
  route: Extract<Destination, { kind: "count" }>,
): Promise<void> {
  checkJson(request);
  const body = await readBody(request);
  const { inside, asked } = countedRequest(wires[route.wire], body.json);
  try {
    const edited = await gateway.engine
      .peek({
        tenant: caller.tenant,
        provider: route.provider,
        wire: wires[route.wire],
        body: asked,
        ...(route.model === undefined ? {} : { model: route.model }),
        hints: readHints(request.headers),
        isRefreshable: caller.isByCredential === true,
      })
      .catch((error: unknown) => {
        gateway.warn(
          `The tokens of a request were counted without Plimsoll's edits: ${errorMessage(error)}`,
        );
        return undefined;
      });
    await relay(
      gateway.agent,
      {
        url: gateway.upstream(route.provider, route.path),
        method: "POST",
        ...outgoing(request, body, inside(edited)),
      },
      response,
      () => ({ headers: {} }),
    );
  } finally {
    body.release();
  }
}

interface CountedRequest {
  /** The request to count. */
  readonly asked: Uint8Array;
  /** The body that asks for the count of an edited request. */
  readonly inside: (edited: Uint8Array | undefined) => Uint8Array | undefined;
}

function countedRequest(wire: Wire, body: Uint8Array): CountedRequest {
  const place = wire.body.counting?.inside?.(body);
  if (place === undefined) return { asked: body, inside: (edited) => edited };
  return {
    asked: body.subarray(place.start, place.end),
    inside: (edited) => edited && applySplices(body, [{ ...place, text: edited }]),
  };
}

/** Handles all other requests to a provider, which are not conversations. */
export async function handleRelay(
  gateway: Gateway,
  { request, response }: Exchange,
  route: Extract<Destination, { kind: "relay" }>,
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
