/**
 * A conversation through the service, with an SDK as the client and a model that looks things up. For each turn it records
 * the object that the SDK assembled, the expected object, and every request that reached the provider.
 */

import { between, type Dice, diceOf } from "../../demo/dice.ts";
import type { Answer } from "./answer.ts";
import type { CallPart } from "./answer-parts.ts";
import type { UpstreamRequest } from "./answer-writer.ts";
import { type JsonObject, parseJson, type Wire } from "./json.ts";
import type { Stage } from "./long-talk.ts";
import { isOwnName } from "./own-judge.ts";
import { referenceOf, type SaidRound } from "./own-reference.ts";
import { CLIENT_TOOLS, type Lookup, LookupScript, type TurnPlan } from "./own-script.ts";
import { askSdk, historyOf, requestBody, resultMessages, spoken } from "./own-sdk.ts";
import { keyIn } from "./raw-client.ts";
import { recordingFetch } from "./recording-fetch.ts";
import { reportedUsage, type ScriptRequest } from "./upstream.ts";
import { prose, toolOutput } from "./words.ts";

export interface OwnTalkOptions {
  readonly name: string;
  readonly wire: Wire;
  readonly seed: number;
  readonly model: string;
  readonly outputTokensMax: number;
  /** Maximum size of a question or a result. */
  readonly resultTokensMax: number;
}

export interface OwnTurn {
  /** Turn number, from 0. */
  readonly number: number;
  readonly plan: TurnPlan;
  readonly isStreamed: boolean;
  /** The client's own request, byte for byte. */
  readonly clientBody: string;
  readonly session: string;
  readonly action: string;
  /** The service's token count of the first request. */
  readonly tokensAfter: number;
  /** In milliseconds since 1970. */
  readonly startedAt: number;
  /** The object that the SDK assembled, and the expected one. */
  readonly heard: JsonObject;
  readonly expected: JsonObject;
  /** The answer on the wire. */
  readonly raw: string;
  readonly rounds: readonly SaidRound[];
  /** The lookups, by round. */
  readonly lookups: readonly (readonly Lookup[])[];
  /** The requests that reached the provider, in order. */
  readonly sent: readonly UpstreamRequest[];
}

interface RunningRound {
  readonly number: number;
  readonly reply: SaidRound["reply"];
  readonly lookups: readonly Lookup[];
}

/** Most answers with calls in a row before the user speaks again. */
const CALL_TURNS_MAX = 40;
const TURNS_MAX = 1_000;

export class OwnTalk {
  readonly options: OwnTalkOptions;
  readonly turns: OwnTurn[] = [];
  failure: unknown;
  readonly #random: Dice;
  readonly #script: LookupScript;
  readonly #messages: JsonObject[] = [];
  #plan: TurnPlan | undefined;
  #running: RunningRound[] = [];
  #callTurns = 0;

  constructor(options: OwnTalkOptions) {
    this.options = options;
    this.#random = diceOf(options.seed);
    this.#script = new LookupScript(options.seed, diceOf(options.seed + 1));
  }

  get apiKey(): string {
    return `key-of-${this.options.name.replaceAll(" ", "-")}`;
  }

  /** The provider's side of the current turn. */
  answer({ wire, body }: ScriptRequest, requestNumber: number): Answer {
    const asked = { wire, body, turn: this.turns.length, round: this.#running.length };
    this.#plan ??= this.#script.plan(asked, CALL_TURNS_MAX - this.#callTurns);
    const { reply, lookups } = this.#script.answer(asked, this.#plan);
    this.#running.push({ number: requestNumber, reply, lookups });
    return reply;
  }

  /** Makes turns until `isEnough`, or until the client gets an error. */
  async goOn(stage: Stage, isEnough: () => boolean): Promise<void> {
    while (this.failure === undefined && !isEnough()) {
      try {
        if (this.turns.length >= TURNS_MAX) throw new Error(`${TURNS_MAX} turns are too many.`);
        this.turns.push(await this.#takeTurn(stage));
      } catch (error) {
        this.failure = error;
      }
    }
  }

  async #takeTurn({ service, upstream }: Stage): Promise<OwnTurn> {
    const { wire, model, outputTokensMax } = this.options;
    this.#plan = undefined;
    this.#running = [];
    this.#messages.push(...this.#nextMessages());
    const isStreamed = this.#random() < 0.6;
    const wantsUsage = isStreamed && wire === "openai-chat" && this.#random() < 0.8;
    const body = requestBody(
      wire,
      { model, messages: [...this.#messages], toolNames: CLIENT_TOOLS, outputTokensMax },
      wantsUsage ? { stream_options: { include_usage: true } } : {},
    );
    const startedAt = Date.now();
    const requestsBefore = upstream.requests.length;
    const { fetch, exchanges } = recordingFetch();
    const target = { baseUrl: service.url, apiKey: this.apiKey, fetch };
    const heard = await askSdk(target, { wire, body, isStreamed });
    const [exchange] = exchanges;
    this.#messages.push(...historyOf(wire, heard));
    const sent = upstream.requests
      .slice(requestsBefore)
      .filter(({ headers }) => keyIn(headers) === this.apiKey);
    const rounds = this.#running.map(({ number, reply }) => ({
      number,
      reply,
      usage: reportedUsage(wire, upstream.requests[number - 1]?.tokens ?? 0, reply),
    }));
    const [firstRound, ...otherRounds] = rounds;
    if (firstRound === undefined) throw new Error("The client got an answer that nobody gave.");
    return {
      number: this.turns.length,
      plan: this.#plan ?? { innerRounds: 0, ending: "text" },
      isStreamed,
      clientBody: exchange?.requestBody.toString() ?? "",
      session: exchange?.headers.get("x-plimsoll-session") ?? "",
      action: exchange?.headers.get("x-plimsoll-action") ?? "",
      tokensAfter: Number((exchange?.headers.get("x-plimsoll-tokens") ?? "").split(";")[1]),
      startedAt,
      heard,
      expected: await referenceOf({
        wire,
        body: { ...body, stream: isStreamed },
        isStreamed,
        rounds: [firstRound, ...otherRounds],
        isOwn: isOwnName,
      }),
      raw: (await exchange?.answer)?.toString() ?? "",
      rounds,
      lookups: this.#running.map(({ lookups }) => lookups),
      sent,
    };
  }

  /** The results of the last answer's calls, or the user's next words. */
  #nextMessages(): readonly JsonObject[] {
    const { wire, resultTokensMax } = this.options;
    const random = this.#random;
    const last = this.turns.at(-1);
    const calls = (last?.rounds ?? []).flatMap(({ reply }) =>
      reply.parts.filter((part): part is CallPart => part.kind === "call" && !isOwnName(part.name)),
    );
    if (calls.length === 0) {
      this.#callTurns = 0;
      const words = `Question ${this.turns.length}: ${prose(random, between(random, 10, 40))}?`;
      this.#script.hear(words);
      return [spoken(wire, words)];
    }
    this.#callTurns += 1;
    const most = Math.floor(resultTokensMax / calls.length);
    const results = calls.map(({ id, name, input }) => {
      const title = `${String(input["path"])} of ${id}`;
      this.#script.hear(title);
      return { id, name, text: toolOutput(random, title, between(random, 20, most)) };
    });
    return resultMessages(wire, results);
  }
}

/** The provider's side of all these talks. It recognises each talk by its client's key. */
export function lookupsOf(
  talks: readonly OwnTalk[],
): (request: ScriptRequest, context: { readonly requestNumber: number }) => Answer {
  return (request, { requestNumber }) => {
    const talk = talks.find(({ apiKey }) => apiKey === keyIn(request.headers));
    if (talk === undefined) throw new Error("A request came with the key of no talk.");
    return talk.answer(request, requestNumber);
  };
}

/** The body of a request that reached the provider. */
export function bodyIn({ body }: Pick<UpstreamRequest, "body">): JsonObject {
  return parseJson(body.toString()) as JsonObject;
}
