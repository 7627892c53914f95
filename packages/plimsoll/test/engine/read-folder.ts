/** What a data folder contains, read by an engine in this process: for tests of programs that have ended. */

import { type Engine, openEngine } from "../../src/engine.ts";

async function withEngine<T>(data: string, read: (engine: Engine) => Promise<T>): Promise<T> {
  const engine = await openEngine({ data });
  try {
    return await read(engine);
  } finally {
    await engine.close();
  }
}

/** The first two messages of the newest session. */
export function storedTexts(data: string): Promise<readonly string[]> {
  return withEngine(data, async ({ store }) => {
    const [session] = await store.sessions({ limit: 1 });
    if (session === undefined) return [];
    const bodies = await store.bodies(session.id, [1, 2]);
    return [...bodies.values()].map((bytes) => new TextDecoder().decode(bytes));
  });
}

/** How many messages the client of the newest session sent, and how its turns ended. */
export function storedTurns(data: string): Promise<readonly [number, ...string[]]> {
  return withEngine(data, async ({ store }) => {
    const [session] = await store.sessions({ limit: 1 });
    const id = session?.id ?? "";
    const nodes = (await store.snapshot(id))?.nodes ?? [];
    const requested = nodes.filter(({ source }) => source === "request");
    return [requested.length, ...(await store.turns(id, 10)).map(({ status }) => status)];
  });
}

/** The signature that the folder's key gives a text: two processes with the same key give the same. */
export function signatureIn(data: string): Promise<string> {
  return withEngine(data, async ({ sign }) => Buffer.from(sign("text")).toString("hex"));
}
