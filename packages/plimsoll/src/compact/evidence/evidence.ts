/**
 * Evidence: the facts of a conversation. Each fact has a class (error, decision, path …), and is quoted with the number of the
 * message that states it. Summaries consist of facts, the survival gate requires important facts, and receipts count facts.
 */

import type { EvidenceClass } from "../../message/receipt.ts";
import { mentionsIn } from "../../search/mentions.ts";
import { type CommandOutcome, commandOf, outcomeOf, resultsByCall } from "./commands.ts";
import { errorKey, errorsIn } from "./errors.ts";
import { figuresIn, isFigure, namesIn } from "./figures.ts";
import { clean, plain, shortened } from "./safe-text.ts";
import {
  isDecision,
  isOpenItem,
  isProgress,
  isRule,
  isStatement,
  outcomeIn,
  readBox,
} from "./sentences.ts";
import {
  echoesIn,
  linesOf,
  type NumberedMessage,
  type Speech,
  sentencesOf,
  speechOf,
} from "./speech.ts";

/** Invariant: constraints, decisions and tasks are words of users and agents, never of a tool. */
export interface Fact {
  readonly class: EvidenceClass;
  readonly text: string;
  /** Number of the newest message that states the fact. */
  readonly number: number;
  readonly weight: number;
  /** Number of messages that state the fact. */
  readonly count: number;
  readonly outcome?: CommandOutcome;
  /** Set if the fact is the user's first or last request. */
  readonly isRequest?: true;
  /** The sentences of a request. In the message, other text may be between them. */
  readonly sentences?: readonly string[];
}

/** A statement about the progress of the work. `said`: any other statement, kept if there is room for it. */
export interface Note {
  readonly kind: "worked" | "failed" | "state" | "said";
  readonly text: string;
  readonly number: number;
  readonly weight: number;
}

export interface Evidence {
  /** The facts, sorted by weight, heaviest first. */
  readonly facts: readonly Fact[];
  readonly notes: readonly Note[];
  /** Items that were ticked off and so are no longer open. They are written in the form that `plain` returns, for comparison. */
  readonly done: readonly string[];
}

/** The weight of a fact of each class. In the oldest message, a fact has only the share `floor` of this weight. */
const classWeight: Readonly<Record<EvidenceClass, { base: number; floor: number }>> = {
  constraint: { base: 100, floor: 0.8 },
  error: { base: 60, floor: 0.4 },
  decision: { base: 40, floor: 0.6 },
  task: { base: 30, floor: 0.4 },
  command: { base: 16, floor: 0.4 },
  path: { base: 10, floor: 0.5 },
  id: { base: 6, floor: 0.5 },
  number: { base: 4, floor: 0.5 },
};
const noteWeight: Readonly<Record<Note["kind"], number>> = {
  worked: 20,
  failed: 30,
  state: 25,
  said: 2,
};
/** A request weighs more than any other open item. */
const requestFactor = 3;
/** Weight factor of a name that only a tool mentioned. The factor is lower if the same text contains many names. */
const unusedFactor = 0.5;
const maxPerMessage = 64;
const maxRulesPerMessage = 24;
const maxFacts = 4_000;

/** How recent a message is, from 0 for the oldest message to 1 for the newest. */
export type Recency = (number: number) => number;

export function recencyIn(numbers: readonly number[]): Recency {
  const first = numbers.reduce(
    (least, number) => Math.min(least, number),
    Number.POSITIVE_INFINITY,
  );
  const last = numbers.reduce((most, number) => Math.max(most, number), 0);
  const span = last - first;
  return (number) => (span <= 0 ? 1 : Math.min(1, Math.max(0, (number - first) / span)));
}

export interface Weighed {
  readonly class: EvidenceClass;
  readonly count: number;
  readonly isRequest?: true;
}

export function weightOf(fact: Weighed, recency: number): number {
  const { base, floor } = classWeight[fact.class];
  const often = Math.min(1.3, 1 + 0.1 * Math.log2(Math.max(1, fact.count)));
  return base * (floor + (1 - floor) * recency) * often * (fact.isRequest ? requestFactor : 1);
}

export function noteWeightOf(kind: Note["kind"], recency: number): number {
  return noteWeight[kind] * (0.4 + 0.6 * recency);
}

/**
 * Contract: the same messages give the same evidence. Takes linear time. Returns at most 4,000 facts, and at most 64 facts of one
 * message.
 */
export function readEvidence(messages: readonly NumberedMessage[]): Evidence {
  const speech = speechOf(messages);
  const found = [...readSpeech(speech, messages), ...requestsIn(speech)];
  const recency = recencyIn(messages.map(({ number }) => number));
  const done = [...new Set(speech.flatMap((one) => boxesIn(one, "done").map(plain)))];
  const isDone = new Set(done);
  const merged = merge(boundedPerMessage(found.filter(isFact)));
  const facts = merged
    .filter((fact) => fact.class !== "task" || !isDone.has(plain(fact.text)))
    .map(({ key: _, factor, ...fact }): Fact => {
      return { ...fact, weight: factor * weightOf(fact, recency(fact.number)) };
    })
    .toSorted((one, other) => other.weight - one.weight || other.number - one.number)
    .slice(0, maxFacts);
  const notes = found.flatMap((one): readonly Note[] =>
    isFact(one) ? [] : [{ ...one, weight: noteWeightOf(one.kind, recency(one.number)) }],
  );
  return { facts, notes: distinct(notes).slice(-maxFacts), done };
}

interface FoundFact {
  readonly class: EvidenceClass;
  readonly text: string;
  readonly number: number;
  readonly key?: string;
  readonly factor?: number;
  readonly outcome?: CommandOutcome;
  readonly isRequest?: true;
  readonly sentences?: readonly string[];
}
type FoundNote = Omit<Note, "weight">;
type Found = FoundFact | FoundNote;

function isFact(found: Found): found is FoundFact {
  return "class" in found;
}

function readSpeech(
  speech: readonly Speech[],
  messages: readonly NumberedMessage[],
): readonly Found[] {
  const results = resultsByCall(messages);
  const used = new Set<string>();
  for (const one of speech)
    if (one.call) for (const atom of mentionsIn(valuesIn(one)).keys()) used.add(atom);
  const isEcho = echoesIn(speech);
  const last = speech.findLast(({ speaker, call }) => speaker === "agent" && call === undefined);
  return speech.flatMap((one): readonly Found[] => {
    const names = namesOf(one, used);
    if (one.call !== undefined) {
      const text = commandOf(one.call);
      const result = results.get(one.call);
      const outcome = result === undefined ? {} : { outcome: outcomeOf(result, text) };
      const command = {
        class: "command" as const,
        text: text ?? "",
        number: one.number,
        ...outcome,
      };
      return text === undefined ? names : [command, ...names];
    }
    if (one.speaker === "tool") return [...dataIn(one), ...names];
    const said = sentencesOf(one).filter((sentence) => !isEcho(one, sentence));
    const state = one === last ? said.filter(isProse).slice(-2) : [];
    return [
      ...said.flatMap((sentence) => foundIn(sentence, one)),
      ...state.map((text): FoundNote => ({ kind: "state", text, number: one.number })),
      ...boxesIn(one, "open").map((text) => ({ class: "task" as const, text, number: one.number })),
      ...boxesIn(one, "done").map((text) => ({
        kind: "worked" as const,
        text,
        number: one.number,
      })),
      ...(one.speaker === "user" ? dataIn(one) : []),
      ...names,
    ];
  });
}

/** A sentence gets only one class. If several classes apply, it gets the class with the highest weight. */
function foundIn(sentence: string, { speaker, number }: Speech): readonly Found[] {
  const fact = (found: EvidenceClass): readonly Found[] => [
    { class: found, text: sentence, number },
  ];
  if (!isProse(sentence)) return [];
  if (speaker !== "agent" && isRule(sentence)) return fact("constraint");
  if (speaker === "system") return [];
  if (isDecision(sentence)) return fact("decision");
  if (isOpenItem(sentence)) return fact("task");
  if (isProgress(sentence)) return [{ kind: "state", text: sentence, number }];
  const reported = outcomeIn(sentence);
  if (reported !== "neither") return [{ kind: reported, text: sentence, number }];
  if (isFigure(sentence)) return fact("number");
  return isStatement(sentence) ? [{ kind: "said", text: sentence, number }] : [];
}

/** True unless the sentence is an item with a check box, or the title of a list. */
function isProse(sentence: string): boolean {
  const isTitle = sentence.endsWith(":") && sentence.length < 40;
  return !isTitle && readBox(sentence).kind === "none";
}

/** Errors and figures that a tool printed or a user pasted. Such text is never read as a rule or a decision. */
function dataIn({ text, number, speaker, isError }: Speech): readonly Found[] {
  const lines = linesOf(text)
    .filter(({ isData }) => speaker === "tool" || isData)
    .map((line) => line.text);
  const errors = errorsIn(lines, isError === true);
  return [
    ...errors.map((error) => ({
      class: "error" as const,
      text: error,
      number,
      key: errorKey(error),
    })),
    ...figuresIn(lines)
      .filter((figure) => !errors.includes(figure))
      .map((figure) => ({ class: "number" as const, text: figure, number })),
  ];
}

/** The text of a call without the names of its arguments. */
function valuesIn({ text, call }: Speech): string {
  return call === undefined ? text : text.replace(/^(?:\[call .{0,200}\]|.{1,80}:)$/gm, "");
}

function namesOf(speech: Speech, used: ReadonlySet<string>): readonly Found[] {
  const { number, speaker } = speech;
  const names = namesIn(valuesIn(speech), (atom) => used.has(atom));
  const crowd = Math.max(1, Math.sqrt(names.length / 8));
  const factorOf = (atom: string): number =>
    used.has(atom) ? 1.5 : speaker === "tool" ? unusedFactor / crowd : 1;
  return names
    .toSorted((one, other) => Number(used.has(other.text)) - Number(used.has(one.text)))
    .slice(0, maxPerMessage)
    .map((name) => ({ ...name, number, key: name.text, factor: factorOf(name.text) }));
}

function boxesIn({ text, speaker, call }: Speech, kind: "open" | "done"): readonly string[] {
  if (speaker === "tool" || call !== undefined || !text.includes("[")) return [];
  return linesOf(text).flatMap((line) => {
    const box = line.isData ? ({ kind: "none" } as const) : readBox(line.text);
    return box.kind === kind ? [shortened(clean(box.text), 300)] : [];
  });
}

const longestRequest = 300;

/** The first sentences, up to so many characters. The last one may be cut. */
function sentencesWithin(sentences: readonly string[], characters: number): readonly string[] {
  let left = characters;
  return sentences.flatMap((sentence) => {
    const part = sentence.slice(0, Math.max(0, left)).trimEnd();
    left -= sentence.length + 1;
    return part === "" ? [] : [part];
  });
}

/** The user's first and last request. */
function requestsIn(speech: readonly Speech[]): readonly Found[] {
  const asked = speech.filter(({ speaker, text }) => speaker === "user" && text.trim() !== "");
  const ends = [...new Set([asked[0], asked.at(-1)])].filter((one) => one !== undefined);
  return ends.map((one) => {
    const sentences = sentencesOf(one);
    const asking = sentences.filter((sentence) => !isRule(sentence));
    const said = asking.length > 0 ? asking : sentences;
    const all = said.length > 0 ? said : [clean(one.text.slice(0, 2_000))];
    const text = shortened(all.join(" "), longestRequest);
    const parts = sentencesWithin(all, text.length);
    return { class: "task", text, number: one.number, isRequest: true, sentences: parts };
  });
}

function boundedPerMessage(found: readonly FoundFact[]): readonly FoundFact[] {
  const taken = new Map<number, { all: number; rules: number }>();
  const isIn = (one: FoundFact): boolean => {
    const own = taken.get(one.number) ?? { all: 0, rules: 0 };
    taken.set(one.number, own);
    if (own.all >= maxPerMessage) return false;
    if (one.class === "constraint" && own.rules >= maxRulesPerMessage) return false;
    own.all++;
    if (one.class === "constraint") own.rules++;
    return true;
  };
  const isName = (one: FoundFact): boolean => one.class === "path" || one.class === "id";
  const requests = found.filter(({ isRequest }) => isRequest === true);
  const sentences = found.filter((one) => one.isRequest !== true && !isName(one));
  return [...requests, ...sentences, ...found.filter(isName)].filter(isIn);
}

interface MergedFact extends FoundFact {
  readonly count: number;
  readonly factor: number;
}

/** Merges equal facts into one fact, with the newest wording and the number of messages that state the fact. */
function merge(found: readonly FoundFact[]): readonly MergedFact[] {
  const merged = new Map<string, MergedFact>();
  for (const one of found) {
    if (one.text === "") continue;
    const key = `${one.class}\0${one.key ?? plain(one.text)}`;
    const known = merged.get(key);
    const first = { ...one, count: 1, factor: one.factor ?? 1 };
    merged.set(key, known === undefined ? first : mergedWith(known, first));
  }
  return [...merged.values()];
}

function mergedWith(known: MergedFact, one: MergedFact): MergedFact {
  const isRequest = known.isRequest ?? one.isRequest;
  return {
    ...(one.number >= known.number ? one : known),
    count: known.count + (one.number > known.number ? 1 : 0),
    factor: Math.max(known.factor, one.factor),
    ...(isRequest ? { isRequest } : {}),
  };
}

function distinct(notes: readonly Note[]): readonly Note[] {
  const byText = new Map<string, Note>();
  for (const note of notes) byText.set(`${note.kind}\0${plain(note.text)}`, note);
  return [...byText.values()];
}
