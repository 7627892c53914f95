/** The process of the memory benchmark: fills a session and says what that took. Arguments: store, messages, characters, folder. */

import { setTimeout as pause } from "node:timers/promises";
import { openPlimsoll } from "plimsoll";
import { fillSession } from "./library-session.ts";
import { greet } from "./processes.ts";
import { createTexts } from "./texts.ts";

export interface MemoryFigures {
  readonly textBytes: number;
  /** Resident, with an empty session and its tokenizer loaded. */
  readonly emptyBytes: number;
  /** Resident, what filling it added, when all that is free has been given back. */
  readonly growthBytes: number;
  /** The same after an ordinary collection, which keeps free pages for later. */
  readonly looseGrowthBytes: number;
  /** Of the growth, what lies on the heap of JavaScript or in its buffers. */
  readonly heapBytes: number;
}

const [store, messages, characters, data = ""] = process.argv.slice(2);

type Collection = NonNullable<Parameters<NonNullable<typeof globalThis.gc>>[0]>;
const ordinary: Collection = { type: "major", execution: "sync" };
const thorough: Collection = { ...ordinary, flavor: "last-resort" };

async function settle(collection: Collection): Promise<NodeJS.MemoryUsage> {
  for (let count = 0; count < 3; count++) {
    globalThis.gc?.(collection);
    await pause(100);
  }
  return process.memoryUsage();
}

async function measure(): Promise<MemoryFigures> {
  const plimsoll = await openPlimsoll(store === "memory" ? { store } : { data });
  const texts = createTexts(1);
  const small = await plimsoll.session();
  await fillSession(small, { messages: 1, texts, characters: 10 });
  const emptyLoose = await settle(ordinary);
  const empty = await settle(thorough);
  const session = await plimsoll.session();
  const textBytes = await fillSession(session, {
    messages: Number(messages),
    texts,
    characters: Number(characters),
  });
  const fullLoose = await settle(ordinary);
  const full = await settle(thorough);
  await plimsoll.close();
  // Named here, so that the session is still in use while it is measured.
  if (session.id === small.id) throw new Error("There must be two sessions.");
  return {
    textBytes,
    emptyBytes: empty.rss,
    growthBytes: full.rss - empty.rss,
    looseGrowthBytes: fullLoose.rss - emptyLoose.rss,
    heapBytes: full.heapUsed + full.external - empty.heapUsed - empty.external,
  };
}

greet(await measure());
