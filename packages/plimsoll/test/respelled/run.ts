/** A client at work with the product in one process, which is closed and opened again in between. */

import type { Engine } from "../../src/engine.ts";
import type { Edit } from "../../src/message/edit.ts";
import type { ReceivedTurn } from "../../src/session/turn/turn.ts";
import { createMemoryStore } from "../../src/store/memory.ts";
import type { Store } from "../../src/store/store.ts";
import { wires } from "../../src/wire/wires.ts";
import { MESSAGES_FIELD, openWith, receive } from "../generate/rehearsal.ts";
import type { JsonObject, Wire } from "../harness/json.ts";
import { handlesIn } from "../harness/kept.ts";
import { type Client, type Exchange, type Habits, type Piece, piecesOf } from "./habits.ts";
import { SPELLERS } from "./wires.ts";

const LIMIT = 4000;
export const UUID = "7d9f2f0e-1c5b-4e0e-9a51-3f6f5d2b8c01";

export interface TakenTurn {
  readonly exchange: Exchange;
  readonly pieces: readonly Piece[];
  /** Of each message, as its client wrote it. */
  readonly texts: readonly string[];
  readonly turn: ReceivedTurn;
  readonly patches: ReceivedTurn["fitted"]["patches"];
  readonly sentText: string;
  /** Made since the request before went out, up to this one: without lookups. */
  readonly newEdits: readonly Edit[];
  /** The id of a call of Plimsoll's tools that was answered. */
  readonly lookup: string | undefined;
}

export interface Run {
  readonly wire: Wire;
  readonly client: Client;
  readonly turns: readonly TakenTurn[];
  readonly engine: Engine;
  readonly store: Store;
}

/** The same store for as many products as are opened on it. */
export function openOn(store: Store): Promise<Engine> {
  const kept = { ...store, close: (): Promise<void> => Promise.resolve() };
  return openWith(LIMIT, { parts: { store: kept }, config: { own_tools: "first-request" } });
}

export async function runClient(wire: Wire, client: Client): Promise<Run> {
  const store = createMemoryStore();
  let engine = await openOn(store);
  const turns: TakenTurn[] = [];
  for (const exchange of client.exchanges) {
    if (client.restarts.includes(exchange.number)) {
      await engine.close();
      engine = await openOn(store);
    }
    const taken = await takeTurn({ wire, client, turns, engine, store }, exchange);
    turns.push(taken);
    if (taken.turn.fitted.refusal !== undefined || taken.turn.fitted.isFinal) break;
  }
  return { wire, client, turns, engine, store };
}

function wishesOf({ name, keyTurns }: Habits, turn: number) {
  const key = keyTurns === undefined ? 0 : Math.floor(turn / keyTurns);
  const names = {
    none: {},
    plain: { clientKey: "test:talk" },
    uuid: { clientKey: `test:${UUID}` },
  };
  return {
    tenant: `key:${key}`,
    hints: { ...names[name], isCompacted: false },
    isRefreshable: name === "uuid",
  };
}

export function bodyText(wire: Wire, texts: readonly string[]): string {
  const head = JSON.stringify(SPELLERS[wire].head).slice(0, -1);
  return `${head},"${MESSAGES_FIELD[wire]}":[${texts.join()}]}`;
}

async function takeTurn(
  { wire, client, turns, engine, store }: Run,
  exchange: Exchange,
): Promise<TakenTurn> {
  const { number } = exchange;
  const pieces = piecesOf(SPELLERS[wire], client, number);
  const texts = pieces.map(({ json }) => JSON.stringify(json));
  const body = bodyText(wire, texts);
  const turn = await receive(
    engine,
    wire,
    new TextEncoder().encode(body),
    wishesOf(client.habits, number),
  );
  const sentText = turn.body === undefined ? body : new TextDecoder().decode(turn.body);
  const { patches } = turn.fitted;
  const known = new Set(turns.flatMap(({ newEdits }) => newEdits.map(({ seq }) => seq)));
  const edits = await store.edits(turn.session);
  const newEdits = edits.filter(({ seq, action }) => action.kind !== "expand" && !known.has(seq));
  const lookup = await answerTurn(wire, turn, exchange, sentText);
  return { exchange, pieces, texts, turn, patches, sentText, newEdits, lookup };
}

/** Why a model stops that calls a tool. */
const STOPS: Readonly<Record<Wire, string>> = {
  anthropic: "tool_use",
  "openai-chat": "tool_calls",
  "openai-responses": "",
  gemini: "STOP",
};

/** The model looks up what it sees a handle of, or a number; its client gets the answer without that. */
async function answerTurn(
  wire: Wire,
  turn: ReceivedTurn,
  { number, words, calls, lookup }: Exchange,
  sentText: string,
): Promise<string | undefined> {
  const { rounds } = turn;
  const speller = SPELLERS[wire];
  const given = speller.answer(words, calls);
  const end = (message: readonly JsonObject[]) =>
    turn.end({ status: "complete", answer: { outcome: "message", choices: [message] } });
  if (rounds === undefined || lookup === "none") {
    await end(given);
    return undefined;
  }
  const id = `own_${number}`;
  const [handle = "#1"] = handlesIn(sentText);
  const ask = { kind: "tool-call", id, name: "read_result", input: `{"ref_id":"${handle}"}` };
  const asked = wires[wire].messages.encode([{ role: "assistant", parts: [ask as never] }]);
  const hear = (message: readonly JsonObject[]) =>
    rounds.answered({ outcome: "message", choices: [message], stopReason: STOPS[wire] });
  if (lookup === "before" || calls.length === 0) {
    await hear(asked as readonly JsonObject[]);
    await hear(given);
    await end(given);
    return id;
  }
  await hear(withCall(wire, given, asked as readonly JsonObject[]));
  await end(given);
  return id;
}

/** The call in the same answer, before the client's own. */
function withCall(
  wire: Wire,
  given: readonly JsonObject[],
  asked: readonly JsonObject[],
): readonly JsonObject[] {
  const [answer = {}] = given;
  const [own = {}] = asked;
  if (wire === "openai-responses") return [...asked, ...given];
  const field = { anthropic: "content", "openai-chat": "tool_calls", gemini: "parts" }[wire];
  const all = [
    ...(own[field] as readonly JsonObject[]),
    ...(answer[field] as readonly JsonObject[]),
  ];
  const isText = ({ type, text }: JsonObject): boolean => type === "text" || text !== undefined;
  return [{ ...answer, [field]: [...all.filter(isText), ...all.filter((one) => !isText(one))] }];
}
