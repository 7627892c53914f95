/** How Goose writes a history: every call is a message of its own, and a text that changes each time goes before the newest one. */
import { type JsonObject, objects } from "../harness/json.ts";
import {
  blocksOf,
  contentOf,
  type Messages,
  marked,
  type Result,
  type Spoken,
  typeFirst,
  withoutMark,
} from "./spelling.ts";

/** What goes out as one message of the assistant's. */
interface Piece {
  readonly text: string | null;
  readonly call?: JsonObject;
  readonly result?: Result;
}

interface GooseWire {
  readonly answer: (piece: Piece) => JsonObject;
  readonly result: (result: Result) => JsonObject;
  readonly note: (info: string) => JsonObject;
}

function piecesOf(
  { text, calls }: { text: string | null; calls: Messages },
  results: readonly Result[],
): readonly Piece[] {
  if (calls.length === 0) return [{ text }];
  return calls.map((called, index) => {
    const result = results.find(({ id }) => id === called["id"]);
    const words = index === 0 ? text : null;
    return { text: words, call: called, ...(result === undefined ? {} : { result }) };
  });
}

function gooseTalk(wire: GooseWire, pieces: readonly Piece[], info: string): Messages {
  return pieces.flatMap((piece, index) => {
    const results = piece.result === undefined ? [] : [wire.result(piece.result)];
    if (index < pieces.length - 1) return [wire.answer(piece), ...results];
    const { text, ...called } = piece;
    const words = text === null ? [] : [wire.answer({ text })];
    return [...words, wire.note(info), wire.answer({ ...called, text: null }), ...results];
  });
}

const GOOSE_CHAT: GooseWire = {
  answer: ({ text, call: called }) => ({
    role: "assistant",
    ...(called === undefined ? {} : { tool_calls: [called] }),
    content: text,
  }),
  result: ({ id, text }) => ({ role: "tool", content: text, tool_call_id: id }),
  note: (info) => ({ role: "user", content: info }),
};

export function gooseChat({ shape, exchanges, info }: Spoken): Messages {
  const [system = {}, first = {}] = shape.opening;
  const before = shape.recorded[0]?.info ?? "";
  const words = String(first["content"]);
  if (exchanges.length === 0) return [system, { ...first, content: words.replace(before, info) }];
  const task = { ...first, content: words.replace(before, "").trimStart() };
  const pieces = exchanges.flatMap(({ message, results }) =>
    piecesOf({ text: contentOf(message), calls: objects(message["tool_calls"]) }, results),
  );
  return [system, task, ...gooseTalk(GOOSE_CHAT, pieces, info)];
}

const GOOSE_ANTHROPIC: GooseWire = {
  answer: ({ text, call: called }) => ({
    role: "assistant",
    content: [
      ...(text === null ? [] : [{ type: "text", text }]),
      ...(called === undefined ? [] : [called]),
    ],
  }),
  result: (result) => ({ role: "user", content: [typeFirst(result)] }),
  note: (info) => ({ role: "user", content: [{ type: "text", text: info }] }),
};

/** The last two messages of the user's have a mark. */
export function gooseAnthropic({ shape, exchanges, info }: Spoken): Messages {
  const [first = {}] = shape.opening;
  const [, task = {}] = blocksOf(first);
  if (exchanges.length === 0) {
    return [{ ...first, content: [{ type: "text", text: info }, task] }];
  }
  const pieces = exchanges.flatMap(({ message, results }) => {
    const [text] = blocksOf(message).filter(({ type }) => type === "text");
    const calls = blocksOf(message).filter(({ type }) => type === "tool_use");
    return piecesOf({ text: text === undefined ? null : String(text["text"]), calls }, results);
  });
  const messages = [
    { ...first, content: [withoutMark(task)] },
    ...gooseTalk(GOOSE_ANTHROPIC, pieces, info),
  ];
  const users = messages.flatMap(({ role }, index) => (role === "user" ? [index] : [])).slice(-2);
  return messages.map((message, index) => (users.includes(index) ? marked(message) : message));
}
