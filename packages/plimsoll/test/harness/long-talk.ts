/**
 * A scripted agent's conversation through the service, turn by turn: the client's answers, the service's headers for each
 * turn, and the requests that reached the provider.
 */

import { AgentScript, replyOf } from "./agent.ts";
import { type AgentClient, type AgentOptions, createAgentClient } from "./agent-clients.ts";
import type { Reply } from "./answer-parts.ts";
import type { UpstreamRequest } from "./answer-writer.ts";
import { conversationOf, countRequest } from "./counting.ts";
import { type JsonObject, parseJson } from "./json.ts";
import { handlesIn } from "./kept.ts";
import { keyIn } from "./raw-client.ts";
import { recordingFetch } from "./recording-fetch.ts";
import { type Edit, readArchive, readEdits, type Service } from "./service.ts";
import type { ScriptRequest, Upstream } from "./upstream.ts";

type Answering = Pick<Service, "url" | "api">;

export interface Stage {
  readonly service: Answering;
  readonly upstream: Upstream;
}

export interface TalkOptions extends AgentOptions {
  readonly name: string;
  readonly seed: number;
  /** The sizes of questions and results depend on it. */
  readonly windowTokens: number;
}

export interface Turn {
  /** Turn number, from 0. */
  readonly number: number;
  /** The service's headers; empty or NaN if a header is missing. */
  readonly session: string;
  readonly action: string;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** The requests that reached the provider, in order. The provider answered the last one. */
  readonly sent: readonly UpstreamRequest[];
  /** The client's own request with its whole history: the number of messages, and of tokens by the provider's rule. */
  readonly historyLength: number;
  readonly historyTokens: number;
  readonly edits: readonly Edit[];
}

const TURNS_MAX = 1_000;
const ARCHIVE_PAGE_BYTES = 10_000;

export class LongTalk {
  readonly options: TalkOptions;
  readonly #script: AgentScript;
  readonly #client: AgentClient;
  readonly turns: Turn[] = [];
  /** The client's last request, byte for byte. */
  clientBody = "";
  /** The error that ended the talk. */
  failure: unknown;
  /** Contents of the handles, by handle. */
  readonly archive = new Map<string, string>();

  constructor(options: TalkOptions) {
    this.options = options;
    this.#script = new AgentScript(options.seed, options.windowTokens);
    this.#client = createAgentClient(options);
  }

  get apiKey(): string {
    return `key-of-${this.options.name.replaceAll(" ", "-")}`;
  }

  /** The model's answer in the current turn, however often it is asked. */
  answer(): Reply {
    return replyOf(this.options.wire, this.#script.step(this.turns.length));
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

  async #takeTurn(stage: Stage): Promise<Turn> {
    const { service, upstream } = stage;
    const step = this.#script.step(this.turns.length);
    if (step.question !== undefined) this.#client.hear(step.question);
    else this.#client.giveResults(this.#script.step(this.turns.length - 1).calls);
    const requestsBefore = upstream.requests.length;
    const { fetch, exchanges } = recordingFetch();
    const target = { baseUrl: service.url, apiKey: this.apiKey, fetch };
    const heard = await this.#client.ask(target);
    const expected = { text: step.text, callIds: step.calls.map(({ id }) => id) };
    if (JSON.stringify(heard) !== JSON.stringify(expected)) {
      throw new Error(`The client heard ${JSON.stringify(heard)}, not what the model said.`);
    }
    const [exchange] = exchanges;
    this.clientBody = exchange?.requestBody.toString() ?? "";
    const headers = exchange?.headers ?? new Headers();
    const [before, after] = (headers.get("x-plimsoll-tokens") ?? "").split(";");
    const session = headers.get("x-plimsoll-session") ?? "";
    const action = headers.get("x-plimsoll-action") ?? "";
    const { wire } = this.options;
    const history = parseJson(this.clientBody) as JsonObject;
    return {
      number: this.turns.length,
      session,
      action,
      tokensBefore: Number(before || Number.NaN),
      tokensAfter: Number(after || Number.NaN),
      sent: upstream.requests
        .slice(requestsBefore)
        .filter(({ headers: sent }) => keyIn(sent) === this.apiKey),
      historyLength: conversationOf(wire, history).length,
      historyTokens: countRequest(wire, history),
      edits:
        action === "" || action === "passthrough" ? [] : await this.#newEdits(service, session),
    };
  }

  async #newEdits(service: Answering, session: string): Promise<readonly Edit[]> {
    const known = new Set(this.turns.flatMap(({ edits }) => edits.map(({ seq }) => seq)));
    return (await readEdits(service, session)).filter(({ seq }) => !known.has(seq));
  }

  /** Reads the content of every handle of this conversation. */
  async openArchive(service: Answering): Promise<void> {
    const handles = new Set([
      ...this.turns.flatMap(({ edits }) => edits.flatMap(({ action }) => action.handle ?? [])),
      ...handlesIn(this.lastSent),
    ]);
    for (const handle of handles) {
      this.archive.set(handle, await readArchive(service, handle, ARCHIVE_PAGE_BYTES));
    }
  }

  /** The last request that reached the provider. */
  get lastSent(): string {
    return this.turns.at(-1)?.sent.at(-1)?.body.toString() ?? "";
  }
}

/** The provider's side of all these talks. It recognises each talk by its client's key. */
export function scriptOf(talks: readonly LongTalk[]): (request: ScriptRequest) => Reply {
  return ({ headers }) => {
    const talk = talks.find(({ apiKey }) => apiKey === keyIn(headers));
    if (talk === undefined) throw new Error("A request came with the key of no talk.");
    return talk.answer();
  };
}
