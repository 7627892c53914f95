/** A client of a store that says what it likes, message by message. */

import type { Engine } from "../../src/engine.ts";
import { lastScope } from "../../src/session/lookup/scope.ts";
import type { ReceivedTurn } from "../../src/session/turn/turn.ts";
import { createMemoryStore } from "../../src/store/memory.ts";
import type { NodeRecord, Store } from "../../src/store/store.ts";
import { receive } from "../generate/rehearsal.ts";
import type { JsonObject, Wire } from "../harness/json.ts";
import type { Call, Look } from "./habits.ts";
import { bodyText, openOn } from "./run.ts";
import { SPELLERS } from "./wires.ts";

export const LOOK: Look = {
  turn: 0,
  isMerging: false,
  hasExtraKeys: false,
  isReordering: false,
  hasNames: false,
  isInParts: false,
  empty: "blank",
};
export const EXTRA: Look = { ...LOOK, hasExtraKeys: true, turn: 7 };
export const WORDS = "I have looked at the hull, and it is sound.";

export function callOf(id: string, argument = "the hull"): Call {
  return { id, argument, result: `what is to be seen there, for ${id}` };
}

export interface Asked {
  readonly tenant?: string;
  /** Undefined: it has no name for its session. */
  readonly clientKey?: string | undefined;
  readonly isRefreshable?: boolean;
  readonly agent?: string;
}

const open: Engine[] = [];

export async function closeTalks(): Promise<void> {
  for (const engine of open.splice(0)) await engine.close();
}

/** One client of a store, which says what it likes. */
export class Talk {
  readonly store: Store = createMemoryStore();
  readonly wire: Wire;
  readonly asked: Asked;
  #engine: Promise<Engine> | undefined;

  constructor(wire: Wire, asked: Asked = {}) {
    this.wire = wire;
    this.asked = asked;
  }

  user(text: string): JsonObject {
    return SPELLERS[this.wire].said([text], LOOK);
  }

  answer(words: string, calls: readonly Call[] = [], look: Look = LOOK): readonly JsonObject[] {
    return SPELLERS[this.wire].echo([words], calls, look);
  }

  results(...calls: readonly Call[]): readonly JsonObject[] {
    return SPELLERS[this.wire].results(calls);
  }

  async #opened(): Promise<Engine> {
    this.#engine ??= openOn(this.store);
    const engine = await this.#engine;
    if (!open.includes(engine)) open.push(engine);
    return engine;
  }

  /** The next request meets a Plimsoll that has only what is stored. */
  async restart(): Promise<void> {
    await (await this.#opened()).close();
    this.#engine = undefined;
  }

  /** Numbers of the messages in which a search of the last branch finds a text. */
  async found(session: string, text: string): Promise<readonly number[]> {
    const { tenant = "" } = (await this.store.session(session)) ?? {};
    const scope = await lastScope(this.store, session);
    const engine = await this.#opened();
    const passages = await engine.own.search(tenant, session, text, {
      budgetTokens: 100_000,
      scope,
    });
    return passages.filter((passage) => passage.text.includes(text)).map(({ number }) => number);
  }

  /** Answered, or cut off where there is nothing to answer. */
  async say(
    messages: readonly JsonObject[],
    given: { readonly words: string; readonly calls?: readonly Call[] } | undefined,
    asked: Asked = {},
  ): Promise<ReceivedTurn> {
    const engine = await this.#opened();
    const all = [...SPELLERS[this.wire].opening.map(({ json }) => json), ...messages];
    const wished = { tenant: "key:0", clientKey: "test:talk", ...this.asked, ...asked };
    const { tenant, clientKey, agent, isRefreshable } = wished;
    const turn = await receive(
      engine,
      this.wire,
      new TextEncoder().encode(
        bodyText(
          this.wire,
          all.map((message) => JSON.stringify(message)),
        ),
      ),
      {
        tenant,
        hints: {
          ...(clientKey === undefined ? {} : { clientKey }),
          isCompacted: false,
          ...(agent === undefined ? {} : { agent }),
        },
        isRefreshable: isRefreshable === true,
      },
    );
    if (given === undefined) await turn.end({ status: "failed" });
    else {
      const choices = [SPELLERS[this.wire].answer([given.words], given.calls ?? [])];
      await turn.end({ status: "complete", answer: { outcome: "message", choices } });
    }
    return turn;
  }

  /** Messages of the log that have a text in them. */
  async kept(session: string, text: string): Promise<readonly NodeRecord["source"][]> {
    const { nodes = [] } = (await this.store.snapshot(session)) ?? {};
    const bodies = await this.store.bodies(
      session,
      nodes.map(({ seq }) => seq),
    );
    const has = ({ seq }: NodeRecord): boolean =>
      new TextDecoder().decode(bodies.get(seq)).includes(text);
    return nodes.filter(has).map(({ source }) => source);
  }
}
