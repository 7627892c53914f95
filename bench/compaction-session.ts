/**
 * The process of the compaction benchmark: one long conversation brought under its limit, once, by one library.
 * Arguments: way, messages. Code and tokenizer have been loaded; nothing of the conversation is known.
 */

import { openPlimsoll } from "plimsoll";
import type { JsonObject } from "../packages/plimsoll/src/message/json.ts";
import { validate } from "../packages/plimsoll/src/wire/validate/validate.ts";
import { configOf, createConversation } from "./conversation.ts";
import { openExactCounter } from "./exact-counter.ts";
import {
  openPrune,
  openSummarization,
  openTrim,
  type Peer,
  type PeerWorld,
} from "./peers-adapters.ts";
import { greet } from "./processes.ts";

export interface CompactionFigures {
  /** Everything from the first message on. */
  readonly milliseconds: number;
  /** Of all threads. */
  readonly processorMilliseconds: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly messagesLeft: number;
  /** What is over the limit, or what a provider would reject, is no result. */
  readonly fault: string;
}

const limitTokens = 100_000;
const resultCharacters = 1_500;
const counter = await openExactCounter();

async function openOwn(): Promise<Peer> {
  const plimsoll = await openPlimsoll({
    store: "memory",
    config: configOf({ compaction: limitTokens }),
  });
  await plimsoll.warmUp();
  const session = await plimsoll.session();
  return {
    add: async (messages) => {
      for (const message of messages) await session.append(message);
    },
    manage: async () => {
      const { request } = await session.prepare({ target: "bench/compaction" });
      const list = request["messages"] as readonly JsonObject[];
      return () => list;
    },
    close: () => plimsoll.close(),
  };
}

const ways: Readonly<Record<string, (world: PeerWorld) => Promise<Peer>>> = {
  Plimsoll: openOwn,
  trimMessages: (world) => openTrim(world, "human"),
  summarizationMiddleware: openSummarization,
  pruneMessages: openPrune,
};

async function measure(): Promise<CompactionFigures> {
  const [way = "", length] = process.argv.slice(2);
  const conversation = createConversation(Number(length));
  const messages = [...conversation.messages, conversation.result(resultCharacters)];
  const peer = await ways[way]?.({ limitTokens, tokensOf: counter.tokensOf });
  if (peer === undefined) throw new Error(`There is no way "${way}".`);
  const processor = process.cpuUsage();
  const before = performance.now();
  await peer.add(messages);
  const read = await peer.manage();
  const milliseconds = performance.now() - before;
  const { user, system } = process.cpuUsage(processor);
  const left = read();
  // What it does behind the call is none of the call's time; it must not disturb the counting below either.
  await peer.close?.();
  const tokensAfter = await counter.sumOf(left);
  const [finding] = validate({ wire: "openai-chat", body: { model: "bench", messages: left } });
  const figures = {
    milliseconds,
    processorMilliseconds: (user + system) / 1000,
    tokensBefore: await counter.sumOf(messages),
    tokensAfter,
    messagesLeft: left.length,
    fault: tokensAfter > limitTokens ? "over the limit" : (finding?.rule ?? ""),
  };
  await counter.close();
  return figures;
}

greet(await measure());
