/**
 * A provider with a service in front of it, for turns that a test scripts step by step. The test sets the model's next answers
 * and reads the client's answers. The provider recognises each client by its key.
 */

import { readdir, readFile, readlink, rm } from "node:fs/promises";
import { afterAll, beforeAll } from "vitest";
import { type Answer, reply, text } from "./answer.ts";
import type { UpstreamRequest } from "./answer-writer.ts";
import type { JsonObject, Wire } from "./json.ts";
import { callsIn, judgeOwn } from "./own-judge.ts";
import { askSdk, historyOf, requestBody, resultMessages, spoken } from "./own-sdk.ts";
import { keyIn } from "./raw-client.ts";
import { recordingFetch } from "./recording-fetch.ts";
import { makeDataFolder, type Service, type ServiceOptions, startService } from "./service.ts";
import { type ScriptRequest, startUpstream, type Upstream, type Window } from "./upstream.ts";
import { CONVERSATION_FIELDS, MODELS } from "./wires.ts";

/** The model's next answer, or a function that makes it. */
export type Step = Answer | ((request: ScriptRequest) => Answer);

export interface OwnStageOptions {
  readonly config?: (upstream: Upstream) => JsonObject;
  readonly window?: Window;
}

export class OwnStage {
  readonly #options: OwnStageOptions;
  readonly #steps = new Map<string, Step[]>();
  #upstream: Upstream | undefined;
  #service: Service | undefined;
  #data = "";

  constructor(options: OwnStageOptions = {}) {
    this.#options = options;
    beforeAll(() => this.#open());
    afterAll(() => this.#close());
  }

  get upstream(): Upstream {
    if (this.#upstream === undefined) throw new Error("The provider does not run.");
    return this.#upstream;
  }

  get service(): Service {
    if (this.#service === undefined) throw new Error("The service does not run.");
    return this.#service;
  }

  /** Sets the next answers, in order, for the client with this key. */
  script(key: string, ...steps: readonly Step[]): void {
    this.#steps.set(key, [...steps]);
  }

  /** Every request of this client that reached the provider. */
  requestsOf(key: string): readonly UpstreamRequest[] {
    return this.upstream.requests.filter(({ headers }) => keyIn(headers) === key);
  }

  async restart(): Promise<void> {
    await this.service.stop();
    this.#service = await startService(this.#serviceOptions());
  }

  async #open(): Promise<void> {
    const { window } = this.#options;
    this.#upstream = await startUpstream({
      script: (request) => this.#next(request),
      judgeAlso: judgeOwn,
      ...(window === undefined ? {} : { window }),
    });
    this.#data = await makeDataFolder();
    this.#service = await startService(this.#serviceOptions());
  }

  #serviceOptions(): ServiceOptions {
    const { url } = this.upstream;
    const { config = () => ({ own_tools: "first-request" }) } = this.#options;
    return {
      upstreams: { anthropic: url, openai: url, gemini: url },
      data: this.#data,
      config: config(this.upstream),
    };
  }

  #next(request: ScriptRequest): Answer {
    const step = this.#steps.get(keyIn(request.headers))?.shift();
    if (step === undefined) return reply(text("There is nothing more to say."));
    return typeof step === "function" ? step(request) : step;
  }

  async #close(): Promise<void> {
    await this.#service?.stop();
    await this.#upstream?.close();
    await rm(this.#data, { recursive: true, force: true });
  }
}

export interface OwnClientOptions {
  readonly wire: Wire;
  readonly key: string;
  readonly model?: string;
  readonly toolNames?: readonly string[];
  readonly outputTokensMax?: number;
}

export interface Asking {
  readonly isStreamed?: boolean;
  readonly fields?: JsonObject;
  readonly signal?: AbortSignal;
  /** An empty list: a client without tools. */
  readonly toolNames?: readonly string[];
}

/** A client on its SDK, with its whole history. */
export class OwnClient {
  readonly #stage: OwnStage;
  readonly #options: OwnClientOptions;
  readonly messages: JsonObject[] = [];
  /** Headers of the last answer. */
  headers = new Headers();

  constructor(stage: OwnStage, options: OwnClientOptions) {
    this.#stage = stage;
    this.#options = options;
  }

  say(words: string): void {
    this.messages.push(spoken(this.#options.wire, words));
  }

  /** Gives the result of a call. On Gemini, a result also has the name of its tool. */
  give(id: string, result: string): void {
    const { wire } = this.#options;
    const name = callNamed(wire, this.messages, id);
    this.messages.push(...resultMessages(wire, [{ id, name, text: result }]));
  }

  body(asking: Asking = {}): JsonObject {
    const { wire, toolNames = ["read_file"], outputTokensMax = 1_000 } = this.#options;
    const model = this.#options.model ?? MODELS[wire];
    const request = { model, messages: [...this.messages], toolNames, outputTokensMax };
    return requestBody(
      wire,
      asking.toolNames === undefined ? request : { ...request, toolNames: asking.toolNames },
      asking.fields,
    );
  }

  /** Asks, and adds the answer to the history. Rejects like the SDK. */
  async ask(asking: Asking = {}): Promise<JsonObject> {
    const { wire, key } = this.#options;
    const { isStreamed = false, signal } = asking;
    const { fetch, exchanges } = recordingFetch();
    const target = { baseUrl: this.#stage.service.url, apiKey: key, fetch };
    const heard = await askSdk(target, {
      wire,
      body: this.body(asking),
      isStreamed,
      ...(signal === undefined ? {} : { signal }),
    });
    this.headers = exchanges[0]?.headers ?? new Headers();
    this.messages.push(...historyOf(wire, heard));
    return heard;
  }
}

/** The name of the tool that the last call with this id called. */
function callNamed(wire: Wire, messages: readonly JsonObject[], id: string): string {
  const body = { [CONVERSATION_FIELDS[wire]]: messages };
  return callsIn(wire, body).findLast((called) => called.id === id)?.name ?? "";
}

let clientsCount = 0;

/** A client with a unique key. */
export function clientOn(
  stage: OwnStage,
  options: Omit<OwnClientOptions, "key">,
): { readonly client: OwnClient; readonly key: string } {
  clientsCount += 1;
  const key = `key-of-client-${clientsCount}`;
  return { client: new OwnClient(stage, { ...options, key }), key };
}

/* What the system says of a process */

export async function memoryBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

export async function socketsCount(pid: number): Promise<number> {
  const folder = `/proc/${pid}/fd`;
  const links = await Promise.all(
    (await readdir(folder)).map((name) => readlink(`${folder}/${name}`).catch(() => "")),
  );
  return links.filter((link) => link.startsWith("socket:")).length;
}
