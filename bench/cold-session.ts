/**
 * The process of the cold benchmark: brings one conversation under its limit, once, and says what that took.
 * Arguments: way, messages, folder, session. Without a folder nothing is kept beyond the process.
 */

import { loadTokenizer } from "../packages/plimsoll/src/budget/tokenizer.ts";
import { type Engine, openEngine } from "../packages/plimsoll/src/engine.ts";
import type { JsonObject } from "../packages/plimsoll/src/message/json.ts";
import { validate } from "../packages/plimsoll/src/wire/validate/validate.ts";
import { wires } from "../packages/plimsoll/src/wire/wires.ts";
import {
  answerOf,
  type Conversation,
  configOf,
  createConversation,
  maxOutput,
  ruler,
} from "./conversation.ts";
import { watchEventLoop } from "./event-loop.ts";
import { openExactCounter } from "./exact-counter.ts";
import { openTrim } from "./peers-adapters.ts";
import { greet } from "./processes.ts";

export interface ColdFigures {
  readonly milliseconds: number;
  /** Of all threads, until the request is ready. */
  readonly processorMilliseconds: number;
  /** The longest hold of the event loop until then, in processor time of the main thread. */
  readonly heldMilliseconds: number;
  readonly later: LaterFigures;
  /** To go on with in another process. */
  readonly session: string;
}

/** The end of the turn, and what goes on in the background, until the process is quiet. */
export interface LaterFigures {
  readonly processorMilliseconds: number;
  readonly heldMilliseconds: number;
}

const limitTokens = 100_000;
const target = "bench/cold";
const resultCharacters = 1_500;

/** What was brought under the limit. */
interface Done {
  readonly outcome: string;
  readonly tokens: number;
  readonly body: () => JsonObject;
  readonly session?: string;
  readonly commit?: () => Promise<unknown>;
}

type Work = () => Promise<Done>;

async function measure(): Promise<ColdFigures> {
  const [way = "", length, folder = "", session = ""] = process.argv.slice(2);
  const conversation = createConversation(Number(length));
  const messages = [...conversation.messages, conversation.result(resultCharacters)];
  if (way === "tail scan") return clock(await tailScan(messages), "scanned");
  if (way === "trimMessages") return clock(await trim(messages), "trimmed");
  const config = configOf({ cold: limitTokens });
  const engine = await openEngine(
    folder === "" ? { store: "memory", config } : { data: folder, config },
  );
  await engine.warmUp();
  try {
    if (way === "receive") return await clock(receive(engine, messages), "compacted");
    if (way === "prepare") return await clock(prepare(engine, conversation, messages), "compacted");
    return await clock(resume(engine, conversation, session), "edited");
  } finally {
    await engine.close();
  }
}

/** Code, tokenizer and store have been loaded; nothing of the conversation is known. */
async function clock(work: Work, expected: string): Promise<ColdFigures> {
  const held = watchEventLoop();
  const processor = process.cpuUsage();
  const before = performance.now();
  let milliseconds = 0;
  let processorMilliseconds = 0;
  const done: Done[] = [];
  const { longestMs } = await held(async () => {
    done.push(await work());
    milliseconds = performance.now() - before;
    processorMilliseconds = processorSince(processor);
  });
  const [result] = done;
  if (result === undefined) throw new Error("The turn was not made.");
  const later = await finish(held, result);
  judge(result, expected);
  return {
    milliseconds,
    processorMilliseconds,
    heldMilliseconds: longestMs,
    later,
    session: result.session ?? "",
  };
}

function processorSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

async function finish(
  held: ReturnType<typeof watchEventLoop>,
  { commit }: Done,
): Promise<LaterFigures> {
  const processor = process.cpuUsage();
  const { longestMs } = await held(async () => {
    await commit?.();
    await untilQuiet();
  });
  return { processorMilliseconds: processorSince(processor), heldMilliseconds: longestMs };
}

/** What goes on in the background says nothing when it is done: so this waits until all threads have done nothing for a while. */
async function untilQuiet(): Promise<void> {
  const [stepMs, quietSteps, quietShare, longestMs] = [50, 6, 0.1, 60_000];
  const until = performance.now() + longestMs;
  for (let quiet = 0; quiet < quietSteps && performance.now() < until; ) {
    const processor = process.cpuUsage();
    await new Promise((resolve) => setTimeout(resolve, stepMs));
    quiet = processorSince(processor) < stepMs * quietShare ? quiet + 1 : 0;
  }
}

function judge({ outcome, tokens, body }: Done, expected: string): void {
  if (outcome !== expected) throw new Error(`The turn was ${outcome} and not ${expected}.`);
  if (tokens > limitTokens) throw new Error(`${tokens} tokens are over the limit.`);
  // The scan cuts where it must, whatever stands there.
  const [found] = outcome === "scanned" ? [] : validate({ wire: "openai-chat", body: body() });
  if (found !== undefined) throw new Error(`Rule ${found.rule} is broken: ${found.message}`);
}

/** LangChain's, which counts everything with our counter. The peers benchmark counts and judges what it leaves. */
async function trim(messages: readonly JsonObject[]): Promise<Work> {
  const counter = await openExactCounter();
  const peer = await openTrim({ limitTokens, tokensOf: counter.tokensOf }, "human");
  await peer.add(messages);
  return async () => {
    const left = (await peer.manage())();
    return {
      outcome: "trimmed",
      tokens: 0,
      body: () => ({ model: "cold", messages: left }),
      commit: () => counter.close(),
    };
  };
}

/** The least that anyone must do who counts exactly: from the end, until it is too much. */
async function tailScan(messages: readonly JsonObject[]): Promise<Work> {
  const tokenizer = await loadTokenizer(ruler.tokenizer, noFile, async () => undefined);
  const tokensOf = (message: JsonObject): number =>
    textsOf(message).reduce((sum, text) => sum + tokenizer.count(text).tokens, 4);
  return async () => {
    let tokens = 0;
    let first = messages.length;
    while (first > 0) {
      const more = tokensOf(messages[first - 1] ?? {});
      if (tokens + more > limitTokens) break;
      tokens += more;
      first--;
    }
    const kept = messages.slice(first);
    return { outcome: "scanned", tokens, body: () => ({ messages: kept }) };
  };
}

async function noFile(path: string): Promise<never> {
  throw new Error(`${path} is not needed for this tokenizer.`);
}

function textsOf({ content, tool_calls: calls }: JsonObject): readonly string[] {
  const named = (Array.isArray(calls) ? calls : []) as unknown as readonly {
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
  const asked = named.flatMap((call) => [call.function.name, call.function.arguments]);
  return typeof content === "string" ? [content, ...asked] : asked;
}

function prepare(
  engine: Engine,
  conversation: Conversation,
  messages: readonly JsonObject[],
): Work {
  return async () => {
    const session = await engine.session();
    for (const message of messages) await session.append(message);
    const { request, outcome, measurement } = await session.prepare({ target });
    // The list is made when it is read.
    const list = request["messages"] ?? [];
    return {
      outcome: outcome.kind,
      tokens: measurement.total,
      body: () => ({ ...request, messages: list }),
      session: session.id,
      commit: () => session.commit(answerOf(conversation.call(), measurement.total)),
    };
  };
}

function receive(engine: Engine, messages: readonly JsonObject[]): Work {
  const text = JSON.stringify({ model: "cold", max_completion_tokens: maxOutput, messages });
  const body = Buffer.from(text);
  return async () => {
    const incoming = { tenant: "local", provider: "bench", wire: wires["openai-chat"], body };
    const turn = await engine.receive({ ...incoming, hints: { isCompacted: false } });
    const sent = Buffer.from(turn.body ?? body);
    return {
      outcome: turn.fitted.outcome,
      tokens: turn.fitted.measurement.total,
      body: () => JSON.parse(sent.toString()) as JsonObject,
      commit: () => turn.end({ status: "aborted" }),
    };
  };
}

/** A session that another process has compacted and stored. */
function resume(engine: Engine, conversation: Conversation, id: string): Work {
  conversation.call();
  const message = conversation.result(resultCharacters);
  return async () => {
    const session = await engine.session(id);
    await session.append(message);
    const { request, outcome, measurement } = await session.prepare({ target });
    const list = request["messages"] ?? [];
    return {
      outcome: outcome.kind,
      tokens: measurement.total,
      body: () => ({ ...request, messages: list }),
    };
  };
}

greet(await measure());
