/** Clients that send back what they were told in words of their own: what is said, and how each of them spells it. */
import fc from "fast-check";
import type { JsonObject, Wire } from "../harness/json.ts";

export interface Call {
  readonly id: string;
  readonly argument: string;
  readonly result: string;
}

/** When the model looks something up: before its answer, in the same breath as its calls, or not at all. */
export type Lookup = "none" | "before" | "beside";

/** What the user says, if anything, and what the model answers. */
export interface Exchange {
  readonly number: number;
  /** Empty where only the results of the last answer are sent. */
  readonly said: readonly string[];
  /** Several are several texts of one answer. */
  readonly words: readonly string[];
  readonly calls: readonly Call[];
  readonly lookup: Lookup;
}

/**
 * whole: an answer is one message. apart: its texts and its calls are two. one-by-one: every call is a message of its own,
 * with its result behind it.
 */
export type Layout = "whole" | "apart" | "one-by-one";

/**
 * beside: a note that is another in every request, in a message of its own before the newest one. inside: in the newest
 * words of the user, and gone from there with the next request.
 */
export type Note = "none" | "beside" | "inside";

export interface Habits {
  readonly layout: Layout;
  readonly note: Note;
  /** What was said in two texts is one message with the next request. */
  readonly isMerging: boolean;
  readonly hasExtraKeys: boolean;
  readonly isReordering: boolean;
  readonly hasNames: boolean;
  readonly isInParts: boolean;
  readonly empty: "null" | "blank" | "absent";
  /** It spells otherwise with every request. */
  readonly isFickle: boolean;
  /** Its server counts the calls of each answer: their ids are the same in every answer. */
  readonly isNumbered?: boolean;
  readonly name: "none" | "plain" | "uuid";
  /** A new credential after so many requests. */
  readonly keyTurns: number | undefined;
}

export interface Client {
  readonly exchanges: readonly Exchange[];
  readonly habits: Habits;
  /** Before these turns Plimsoll is closed and opened again. */
  readonly restarts: readonly number[];
}

/** How the answers of one request are spelled. */
export interface Look
  extends Pick<
    Habits,
    "isMerging" | "hasExtraKeys" | "isReordering" | "hasNames" | "isInParts" | "empty"
  > {
  readonly turn: number;
}

/** What a client sends as one message, and what it is, whatever its spelling. */
export interface Piece {
  readonly key: string;
  readonly json: JsonObject;
  /** The number of the answer that it is, or is a piece of. */
  readonly answer?: number;
}

/** The words of a wire. */
export interface Speller {
  readonly head: JsonObject;
  readonly opening: readonly Piece[];
  /** As the provider answers. */
  readonly answer: (words: readonly string[], calls: readonly Call[]) => readonly JsonObject[];
  /** As the client sends it back. */
  readonly echo: (
    words: readonly string[],
    calls: readonly Call[],
    look: Look,
  ) => readonly JsonObject[];
  readonly said: (texts: readonly string[], look: Look) => JsonObject;
  /** Of calls that one message made. */
  readonly results: (calls: readonly Call[]) => readonly JsonObject[];
}

export const WIRES: readonly Wire[] = ["anthropic", "openai-chat", "openai-responses", "gemini"];

const EMPTY = ["null", "blank", "absent"] as const;

function lookOf(habits: Habits, turn: number): Look {
  const { isFickle, empty } = habits;
  const flips = (is: boolean, every: number): boolean =>
    isFickle ? is !== (Math.floor(turn / every) % 2 === 1) : is;
  return {
    turn: isFickle ? turn : 0,
    isMerging: habits.isMerging,
    hasExtraKeys: flips(habits.hasExtraKeys, 1),
    isReordering: flips(habits.isReordering, 2),
    hasNames: flips(habits.hasNames, 3),
    isInParts: flips(habits.isInParts, 1),
    empty: isFickle ? (EMPTY[(EMPTY.indexOf(empty) + turn) % EMPTY.length] ?? empty) : empty,
  };
}

/** All that a client sends with the request before exchange `turn` is answered. */
export function piecesOf(speller: Speller, { exchanges, habits }: Client, turn: number): Piece[] {
  const look = lookOf(habits, turn);
  const pieces: Piece[] = [...speller.opening];
  for (const { number, said, words, calls } of exchanges.slice(0, turn + 1)) {
    const isNewest = number === turn;
    pieces.push(...saidPieces(speller, look, { habits, number, said, isNewest }));
    if (isNewest) break;
    pieces.push(...answerPieces(speller, look, { habits, number, words, calls }));
  }
  return habits.note === "beside" ? withNote(speller, pieces, look, turn) : pieces;
}

interface SaidBy {
  readonly habits: Habits;
  readonly number: number;
  readonly said: readonly string[];
  readonly isNewest: boolean;
}

function saidPieces(
  speller: Speller,
  look: Look,
  { habits, number, said, isNewest }: SaidBy,
): readonly Piece[] {
  if (said.length === 0) return [];
  if (isNewest && habits.note === "inside") {
    const json = speller.said([noteOf(number), ...said], look);
    return [{ key: `said ${number} with a note`, json }];
  }
  if (habits.isMerging && !isNewest)
    return [{ key: `said ${number}`, json: speller.said(said, look) }];
  return said.map((text, index) => ({
    key: `said ${number}.${index}`,
    json: speller.said([text], look),
  }));
}

interface AnswerBy {
  readonly habits: Habits;
  readonly number: number;
  readonly words: readonly string[];
  readonly calls: readonly Call[];
}

function answerPieces(
  speller: Speller,
  look: Look,
  { habits: { layout }, number, words, calls }: AnswerBy,
): readonly Piece[] {
  const keyed = (key: string, all: readonly JsonObject[]): readonly Piece[] =>
    all.map((json, index) => ({ key: `${key} ${number}.${index}`, json, answer: number }));
  if (layout === "whole" || calls.length === 0 || (layout === "apart" && words.length === 0))
    return [
      ...keyed("answer", speller.echo(words, calls, look)),
      ...keyed("results", speller.results(calls)),
    ];
  if (layout === "apart")
    return [
      ...keyed("words", speller.echo(words, [], look)),
      ...keyed("calls", speller.echo([], calls, look)),
      ...keyed("results", speller.results(calls)),
    ];
  return calls.flatMap((call, index) => [
    ...keyed(`call ${call.id}`, speller.echo(index === 0 ? words : [], [call], look)),
    ...keyed(`result ${call.id}`, speller.results([call])),
  ]);
}

function noteOf(turn: number): string {
  return `It is ${turn} minutes past the hour, and ${turn * 3} files are open.`;
}

/** Before the newest message that is no result: what stands behind it moves with the next request. */
function withNote(speller: Speller, pieces: Piece[], look: Look, turn: number): Piece[] {
  const at = pieces.findLastIndex(({ key }) => !key.startsWith("result"));
  const note = { key: `note ${turn}`, json: speller.said([noteOf(turn)], look) };
  return [...pieces.slice(0, at), note, ...pieces.slice(at)];
}

/* What is generated */

const WORDS = "hull mark depth cargo harbour crew anchor deck chart reads writes fails".split(" ");

/** Never the same for two names. */
function textOf(name: string, characters: number): string {
  let text = `${name}:`;
  let at = [...name].reduce((sum, letter) => sum * 31 + letter.charCodeAt(0), 7) % 65_521;
  while (text.length < characters) {
    text += ` ${WORDS[at % WORDS.length]}`;
    at = (at * 75 + 74) % 65_537;
  }
  return text;
}

const step = fc.record({
  calls: fc.constantFrom(0, 1, 1, 1, 2, 3),
  hasWords: fc.boolean(),
  hasTwoTexts: fc.nat(4).map((number) => number === 0),
  isInterrupted: fc.nat(5).map((number) => number === 0),
  isTwice: fc.nat(2).map((number) => number === 0),
  lookup: fc.constantFrom<Lookup>("none", "none", "before", "beside"),
  characters: fc.integer({ min: 60, max: 2400 }),
});

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

function exchangesOf(steps: readonly Step[], isNumbered: boolean): readonly Exchange[] {
  return steps.map((one, number) => {
    const isAsked = number === 0 || steps[number - 1]?.calls === 0 || one.isInterrupted;
    const hasWords = one.hasWords || one.calls === 0;
    return {
      number,
      said: Array.from({ length: isAsked ? (one.isTwice ? 2 : 1) : 0 }, (_, index) =>
        textOf(`question ${number}.${index}`, one.characters / 4),
      ),
      words: Array.from({ length: hasWords ? (one.hasTwoTexts ? 2 : 1) : 0 }, (_, index) =>
        textOf(`statement ${number}.${index}`, 24 + one.characters / 6),
      ),
      calls: Array.from({ length: one.calls }, (_, index) => ({
        id: isNumbered ? `call_${index}` : `call_${number}_${index}`,
        argument: textOf(`place ${number}.${index}`, 40),
        result: textOf(`finding ${number}.${index}`, one.characters),
      })),
      lookup: one.lookup,
    };
  });
}

const spelling = {
  hasExtraKeys: fc.boolean(),
  isReordering: fc.boolean(),
  hasNames: fc.boolean(),
  isInParts: fc.boolean(),
  empty: fc.constantFrom(...EMPTY),
  isFickle: fc.boolean(),
};

/** A session's name is needed where the messages of a request are other ones than those of the request before. */
const rearranging = fc.record({
  ...spelling,
  layout: fc.constantFrom<Layout>("whole", "apart", "one-by-one"),
  note: fc.constantFrom<Note>("none", "beside", "inside"),
  isMerging: fc.boolean(),
  name: fc.constant("plain" as const),
  keyTurns: fc.constant(undefined),
});
const nameless = fc.record({
  ...spelling,
  layout: fc.constant("whole" as const),
  note: fc.constant("none" as const),
  isMerging: fc.constant(false),
  name: fc.constant("none" as const),
  keyTurns: fc.constant(undefined),
});
const rotating = fc.record({
  ...spelling,
  layout: fc.constant("whole" as const),
  note: fc.constant("none" as const),
  isMerging: fc.constant(false),
  name: fc.constant("uuid" as const),
  keyTurns: fc.integer({ min: 1, max: 4 }),
});

function clientsWith(habits: fc.Arbitrary<Habits>): fc.Arbitrary<Client> {
  return fc
    .record({
      steps: fc.array(step, { minLength: 8, maxLength: 16, size: "max" }),
      habits,
      restarts: fc.array(fc.integer({ min: 1, max: 15 }), { maxLength: 3 }),
    })
    .map(({ steps, ...client }) => ({
      ...client,
      exchanges: exchangesOf(steps, client.habits.isNumbered === true),
    }));
}

function numbered(habits: fc.Arbitrary<Habits>): fc.Arbitrary<Habits> {
  return habits.map((drawn) => ({ ...drawn, isNumbered: true }));
}

export const CLIENTS = {
  rearranging: clientsWith(rearranging),
  nameless: clientsWith(nameless),
  rotating: clientsWith(rotating),
  numbered: {
    rearranging: clientsWith(numbered(rearranging)),
    nameless: clientsWith(numbered(nameless)),
    rotating: clientsWith(numbered(rotating)),
  },
} as const;
