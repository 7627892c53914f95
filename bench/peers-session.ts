/**
 * The process of the peers benchmark: one way to keep a growing conversation small, turn by turn.
 * Arguments: way, messages, turns, exchanges for each question. What comes out of each call is judged by the product's validator.
 */

import { openPlimsoll } from "plimsoll";
import type { JsonObject } from "../packages/plimsoll/src/message/json.ts";
import { validate } from "../packages/plimsoll/src/wire/validate/validate.ts";
import { answerOf, configOf, createConversation } from "./conversation.ts";
import { openExactCounter } from "./exact-counter.ts";
import {
  openPrune,
  openSummarization,
  openTrim,
  type Peer,
  type PeerWorld,
} from "./peers-adapters.ts";
import { openMastra } from "./peers-mastra.ts";
import { openPi } from "./peers-pi.ts";
import { openStrands } from "./peers-strands.ts";
import { greet } from "./processes.ts";

export interface PeerFigures {
  /** The first call, with nothing known. */
  readonly firstMilliseconds: number;
  readonly laterMilliseconds: readonly number[];
  /** Of the last call. */
  readonly tokensLeft: number;
  readonly messagesLeft: number;
  readonly calls: number;
  readonly overLimit: number;
  /** Calls with a rule broken or with nothing left, and which. */
  readonly invalid: number;
  readonly rules: readonly string[];
}

const limitTokens = 100_000;
const resultCharacters = 1_500;
/** Later calls stop after so long; there is always one. */
const laterMillisecondsMax = 20_000;
const counter = await openExactCounter();

async function openOwn(): Promise<Peer> {
  const plimsoll = await openPlimsoll({
    store: "memory",
    config: configOf({ peers: limitTokens }),
  });
  await plimsoll.warmUp();
  const session = await plimsoll.session();
  let measured = 0;
  let waiting: readonly JsonObject[] = [];
  return {
    // It takes messages as they come: all that follows is its work.
    add: async (messages) => {
      waiting = messages;
    },
    manage: async () => {
      const [first, ...others] = waiting;
      // From the second turn on, the first of what is new is the answer to the last request.
      const isAnswer = measured > 0 && first !== undefined;
      if (isAnswer) await session.commit(answerOf(first, measured));
      for (const message of isAnswer ? others : waiting) await session.append(message);
      const { request, measurement } = await session.prepare({ target: "bench/peers" });
      measured = measurement.total;
      const list = request["messages"] as readonly JsonObject[];
      return () => list;
    },
    close: () => plimsoll.close(),
  };
}

const ways: Readonly<Record<string, (world: PeerWorld) => Promise<Peer>>> = {
  Plimsoll: openOwn,
  "trimMessages, startOn human": (world) => openTrim(world, "human"),
  trimMessages: (world) => openTrim(world),
  summarizationMiddleware: openSummarization,
  pruneMessages: openPrune,
  "Mastra TokenLimiter": openMastra,
  "Strands sliding window": openStrands,
  "pi compaction": openPi,
};

interface Seen {
  overLimit: number;
  invalid: number;
  tokensLeft: number;
  messagesLeft: number;
  readonly rules: Set<string>;
}

async function look(seen: Seen, messages: readonly JsonObject[]): Promise<void> {
  const tokens = await counter.sumOf(messages);
  const findings = validate({ wire: "openai-chat", body: { model: "bench", messages } });
  seen.tokensLeft = tokens;
  seen.messagesLeft = messages.length;
  if (tokens > limitTokens) seen.overLimit++;
  if (findings.length > 0 || messages.length === 0) seen.invalid++;
  for (const { rule } of findings) seen.rules.add(rule);
  if (messages.length === 0) seen.rules.add("empty");
}

async function measure(): Promise<PeerFigures> {
  const [way = "", length, turns, exchanges] = process.argv.slice(2);
  const conversation = createConversation(Number(length), 1, Number(exchanges));
  const peer = await ways[way]?.({ limitTokens, tokensOf: counter.tokensOf });
  if (peer === undefined) throw new Error(`There is no way "${way}".`);
  const seen: Seen = {
    overLimit: 0,
    invalid: 0,
    tokensLeft: 0,
    messagesLeft: 0,
    rules: new Set(),
  };
  await peer.add([...conversation.messages, conversation.result(resultCharacters)]);
  const times: number[] = [];
  let spent = 0;
  for (let turn = 0; turn <= Number(turns) && (turn < 2 || spent < laterMillisecondsMax); turn++) {
    if (turn > 0) await peer.add([conversation.call(), conversation.result(resultCharacters)]);
    const before = performance.now();
    const list = await peer.manage();
    const took = performance.now() - before;
    times.push(took);
    if (turn > 0) spent += took;
    await look(seen, list());
  }
  await peer.close?.();
  await counter.close();
  const [firstMilliseconds = Number.NaN, ...laterMilliseconds] = times;
  return {
    ...seen,
    firstMilliseconds,
    laterMilliseconds,
    calls: times.length,
    rules: [...seen.rules].toSorted(),
  };
}

greet(await measure());
