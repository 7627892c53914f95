/**
 * Lets another provider answer a turn whose own provider is full or overloaded (docs/decisions/0019). The request goes out with
 * the key that the configuration names for that provider, and with none of the client's headers.
 */

import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import type { Agent } from "undici";
import { BoundedMap } from "../../bounds/bounded-map.ts";
import { keyFor, type NextTarget } from "../../config/next-providers.ts";
import { usualUsdPerDay } from "../../config/providers.ts";
import type { Config } from "../../config/schema.ts";
import { errorMessage } from "../../message/error.ts";
import { parseObject } from "../../message/json.ts";
import type { Usage } from "../../message/message.ts";
import { billedOf, costOf } from "../../prompt/bill.ts";
import type { PriceList } from "../../prompt/price-rows.ts";
import { newId } from "../../session/log/ids.ts";
import { type Allowance, createAllowance, type Leave } from "../../session/models/allowance.ts";
import type { NextRequest } from "../../session/turn/next-provider.ts";
import type { ReceivedTurn, TurnResult } from "../../session/turn/turn.ts";
import { withoutCredentials } from "../../wire/format/credentials.ts";
import { framings } from "../../wire/format/framing.ts";
import type { Answer, StreamEvent, Wire } from "../../wire/format/wire.ts";
import { questionHeaders } from "../../wire/one-question.ts";
import { overloaded } from "../../wire/overflow.ts";
import { AnswerTranslator } from "../../wire/translate/translate.ts";
import { pathOfWire } from "../../wire/vendors.ts";
import { plainBody } from "../http/unpack.ts";
import { readWhole } from "./read-rounds.ts";
import { clientLeft, type OverflowCheck } from "./relay.ts";

export interface FailOverWorld {
  readonly agent: Agent;
  readonly upstream: (provider: string, path: string) => URL;
  readonly pricesOf: (target: { readonly provider: string; readonly model: string }) => PriceList;
  readonly allowances: FailOverAllowances;
  readonly config: () => Config;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** What each tenant may still spend at each provider. */
export type FailOverAllowances = BoundedMap<string, Allowance>;

const maxAllowances = 10_000;
const maxCallsPerHour = 1000;

export function createFailOverAllowances(): FailOverAllowances {
  return new BoundedMap({ entries: maxAllowances });
}

export interface FailingOver {
  readonly turn: ReceivedTurn;
  readonly wire: Wire;
  readonly response: ServerResponse;
  /** Headers that describe the turn. They change when another provider takes it over. */
  readonly headers: () => Readonly<Record<string, string>>;
}

/** Either another provider has answered and the turn has ended, or nothing was sent and each target has its reason. */
export type FailedOver =
  | { readonly kind: "answered" }
  | { readonly kind: "nobody"; readonly reasons: readonly string[] };

type Ready = Extract<NextRequest, { readonly kind: "ready" }>;

/** Holds back an overloaded provider's answer until it has ended, because another provider may answer instead. */
export const heldBack: OverflowCheck = {
  push: () => "wait",
  end: () => ({ kind: "overflow", overflow: overloaded }),
};

/**
 * Asks the targets of other providers, one after the other. Contract: rejects only if nothing was sent to the client. Each target
 * is asked at most once.
 */
export async function failOver(world: FailOverWorld, failing: FailingOver): Promise<FailedOver> {
  const reasons: string[] = [];
  const aborting = new AbortController();
  const onClose = (): void => aborting.abort(clientLeft());
  failing.response.once("close", onClose);
  if (failing.response.destroyed) onClose();
  try {
    for (const next of failing.turn.nextTargets) {
      const reason = await askNext(world, failing, next, aborting.signal);
      if (reason === undefined) return { kind: "answered" };
      if (aborting.signal.aborted) throw clientLeft();
      reasons.push(`${next.key}: ${reason}`);
    }
  } finally {
    failing.response.off("close", onClose);
  }
  return { kind: "nobody", reasons };
}

/** Undefined if this target has answered. Otherwise the reason why not, as the end of a sentence. */
async function askNext(
  world: FailOverWorld,
  failing: FailingOver,
  next: NextTarget,
  signal: AbortSignal,
): Promise<string | undefined> {
  const key = keyFor(world.config(), next.provider, world.env);
  if (key.kind === "none") return key.reason;
  try {
    const made = await failing.turn.nextRequest(next);
    if (made.kind === "refused") return made.reason;
    const prices = world.pricesOf(made.target);
    const leave = leaveFor(world, failing.turn, made, prices);
    if (leave.kind === "refused") return leave.reason;
    const answered = await ask(world, failing, made, { key: key.key, signal });
    leave.settle(usdOf(answered.usage, answered.isCharged, prices));
    return answered.reason;
  } catch (error) {
    if (signal.aborted) throw clientLeft();
    return withoutCredentials(errorMessage(error), [key.key]);
  }
}

/** An answer that was refused costs nothing. If the cost of another one is unknown, the highest possible cost stays reserved. */
function usdOf(
  usage: Usage | undefined,
  isCharged: boolean,
  prices: PriceList,
): number | undefined {
  if (!isCharged) return 0;
  return usage && costOf(billedOf(usage), prices);
}

function leaveFor(
  { allowances, config }: FailOverWorld,
  { draft }: ReceivedTurn,
  { target, measured, maxTokens }: Ready,
  prices: PriceList,
): Leave {
  const { provider } = target;
  const name = `${draft.log.record.tenant}\0${provider}`;
  const maxUsdPerDay = config().providers?.[provider]?.maxUsdPerDay ?? usualUsdPerDay;
  const allowance =
    allowances.get(name) ??
    allowances.set(name, createAllowance({ maxUsdPerDay, maxCallsPerHour }, Date.now));
  const worst = { fresh: measured.total, cacheRead: 0, cacheWrite: 0, output: maxTokens };
  return allowance.ask(costOf(worst, prices));
}

interface Asked {
  /** Why the target has not answered. Undefined if it has. */
  readonly reason?: string;
  readonly usage?: Usage | undefined;
  /** Whether the provider may charge for the request. */
  readonly isCharged: boolean;
}

async function ask(
  { agent, upstream }: FailOverWorld,
  failing: FailingOver,
  made: Ready,
  { key, signal }: { readonly key: string; readonly signal: AbortSignal },
): Promise<Asked> {
  const { provider, wire } = made.target;
  const { origin, pathname, search } = upstream(provider, pathOfWire(wire.name));
  const answer = await agent.request({
    origin,
    path: pathname + search,
    method: "POST",
    headers: { ...questionHeaders(wire.vendor, key), accept: "*/*", "accept-encoding": "identity" },
    body: JSON.stringify(made.body),
    signal,
  });
  const plain = plainBody(answer.body, answer.headers as IncomingHttpHeaders);
  if (answer.statusCode >= 300) return refusedBy(wire, answer.statusCode, plain, key);
  const client = new ClientOfOther(failing, made);
  return made.isStream ? client.hearStream(plain) : client.hearBody(plain);
}

async function refusedBy(wire: Wire, status: number, body: Readable, key: string): Promise<Asked> {
  const json = parseObject(new TextDecoder().decode(await readWhole(body)));
  const words = json === undefined ? "" : (wire.answer.read(json).error?.message ?? "");
  const said = withoutCredentials(words, [key]);
  return { reason: `it answered ${status}${said === "" ? "" : `: ${said}`}`, isCharged: false };
}

/** The client of the turn, which hears the other provider's answer in its own wire. */
class ClientOfOther {
  readonly #failing: FailingOver;
  readonly #made: Ready;
  readonly #translator: AnswerTranslator;
  readonly #spoken: ReturnType<Wire["answer"]["open"]>;
  readonly #writer = framings.events.createWriter();
  #hasSpoken = false;

  constructor(failing: FailingOver, made: Ready) {
    this.#failing = failing;
    this.#made = made;
    this.#spoken = failing.wire.answer.open();
    const { target, wantsUsage } = made;
    this.#translator = new AnswerTranslator(
      { from: target.wire, to: failing.wire },
      {
        id: newId("turn").replace(/^turn_/, ""),
        model: target.model,
        createdAt: Math.floor(Date.now() / 1000),
        wantsUsage: wantsUsage || !made.isStream,
      },
    );
  }

  async hearBody(body: Readable): Promise<Asked> {
    const { failing, made } = { failing: this.#failing, made: this.#made };
    const json = parseObject(new TextDecoder().decode(await readWhole(body)));
    if (json === undefined) return { reason: "its answer could not be read", isCharged: true };
    const heard = made.target.wire.answer.read(json);
    const whole = this.#translator.translateWhole(json, made.target.wire);
    if (whole === undefined)
      return { reason: this.#reason(heard), usage: heard.usage, isCharged: true };
    const answer = failing.wire.answer.read(whole);
    failing.turn.moveTo(made);
    await failing.turn.end({ status: "complete", answer });
    const bytes = Buffer.from(JSON.stringify(whole));
    const { response } = failing;
    response.writeHead(200, {
      ...this.#headers("application/json"),
      "content-length": bytes.length,
    });
    response.end(bytes);
    return { usage: heard.usage, isCharged: true };
  }

  async hearStream(body: Readable): Promise<Asked> {
    const failure = await this.#relay(body);
    const { events, heard } = this.#translator.end();
    const isWhole = heard.outcome === "message" && this.#translator.problem === undefined;
    const asked = { usage: heard.usage, isCharged: true };
    const message = failure ?? this.#reason(heard);
    if (isWhole) await this.#close(events, { status: "complete" });
    else if (!this.#hasSpoken) return { ...asked, reason: message };
    else await this.#break(message);
    return asked;
  }

  /** Sends the answer on as it comes. Returns the error if the provider's connection broke. */
  async #relay(body: Readable): Promise<string | undefined> {
    let isOver = false;
    const pending: StreamEvent[] = [];
    const reader = framings.events.createReader((event) => {
      if (isOver) return;
      const taken = this.#translator.take(event);
      isOver = taken.isOver;
      pending.push(...taken.events);
    });
    try {
      for await (const chunk of body.iterator({ destroyOnReturn: true })) {
        reader.push(chunk as Uint8Array);
        await this.#say(pending.splice(0));
        if (isOver) break;
      }
      return undefined;
    } catch (error) {
      return errorMessage(error);
    }
  }

  /** Tells the client that the answer has failed, after it has received a part of it. */
  #break(message: string): Promise<void> {
    const { response, wire } = this.#failing;
    const status = response.destroyed ? "aborted" : "failed";
    return this.#close([wire.errors.event(502, message)], { status, error: message });
  }

  /** Stores the turn, and then sends the end of the answer. */
  async #close(events: readonly StreamEvent[], how: Omit<TurnResult, "answer">): Promise<void> {
    if (!this.#hasSpoken) this.#open();
    for (const event of events) this.#spoken.take(event);
    await this.#failing.turn.end({ ...how, answer: this.#spoken.finish() });
    this.#failing.response.end(this.#writer.write(events) + this.#writer.end());
  }

  #reason(heard: Answer): string {
    return (
      this.#translator.problem ?? heard.error?.message ?? "its answer broke off before its end"
    );
  }

  /** Waits until the client has received the data, so that a slow client slows down the provider. */
  async #say(events: readonly StreamEvent[]): Promise<void> {
    if (events.length === 0) return;
    if (!this.#hasSpoken) this.#open();
    for (const event of events) this.#spoken.take(event);
    const { response } = this.#failing;
    if (response.destroyed || response.write(this.#writer.write(events))) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        response.off("drain", done);
        response.off("close", done);
        resolve();
      };
      response.once("drain", done);
      response.once("close", done);
    });
  }

  #open(): void {
    this.#hasSpoken = true;
    this.#failing.turn.moveTo(this.#made);
    const { response } = this.#failing;
    response.writeHead(200, this.#headers("text/event-stream; charset=utf-8"));
    response.flushHeaders();
  }

  #headers(contentType: string): Record<string, string> {
    const { target, leftOut } = this.#made;
    return {
      "content-type": contentType,
      "cache-control": "no-cache",
      ...this.#failing.headers(),
      "x-plimsoll-target": target.key,
      ...(leftOut.length === 0 ? {} : { "x-plimsoll-left-out": leftOut.join(", ") }),
    };
  }
}

/** The header that says why no other provider has answered. */
export function failOverHeader(reasons: readonly string[]): Record<string, string> {
  if (reasons.length === 0) return {};
  const text = reasons.join("; ").replace(/[^\x20-\x7e]/g, "?");
  return { "x-plimsoll-failover": text.slice(0, maxHeaderChars) };
}

const maxHeaderChars = 1000;
