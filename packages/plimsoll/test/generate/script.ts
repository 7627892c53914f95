/** What happens in a generated conversation, before any wire: who speaks, what is called, what comes back. */
import fc from "fast-check";
import { type Style, style, textOf, wordsOf } from "./texts.ts";

/** Reasoning that comes with an answer: signed or encrypted, the same but empty, or not readable at all. */
export type Thought = "none" | "signed" | "empty" | "redacted";

export interface Result {
  readonly text: string;
  readonly form: "text" | "parts" | "image" | "empty" | "error";
}

export interface Call {
  readonly argument: string;
  readonly result: Result;
}

/** The model calls one or several tools at once, and all answers come back together. */
export interface Step {
  readonly thought: Thought;
  readonly words: string;
  readonly calls: readonly Call[];
  /** The user says something beside the results. */
  readonly isInterrupted: boolean;
}

export interface Said {
  readonly text: string;
  readonly form: "text" | "parts";
  readonly hasImage: boolean;
  readonly hasDocument: boolean;
  readonly hasUnknownPart: boolean;
  readonly hasUnknownField: boolean;
  /** Instructions in mid-conversation, on wires that have them. */
  readonly hasInstruction: boolean;
}

export interface Round {
  readonly said: Said;
  readonly steps: readonly Step[];
  readonly answer: { readonly thought: Thought; readonly words: string };
}

export interface Script {
  readonly rounds: readonly Round[];
  readonly style: Style;
  /** Cache marks of the client move with every request, and rewrap what they stand on. */
  readonly hasMarks: boolean;
  /** The client sends answers back in other words than the provider's: without empty extras and ids. */
  readonly isReworded: boolean;
  /** Only the first answer of a tool loop begins with thinking, as where thinking is not interleaved. */
  readonly isThoughtOnce: boolean;
}

/** One in so many. */
function seldom(outOf: number): fc.Arbitrary<boolean> {
  return fc.nat(outOf - 1).map((number) => number === outOf - 1);
}

const thought = fc.constantFrom<Thought>("none", "signed", "empty", "redacted");
const result = fc.record({
  text: textOf(400),
  form: fc.constantFrom<Result["form"]>("text", "text", "parts", "image", "empty", "error"),
});
const call = fc.record({ argument: textOf(80), result });
const step = fc.record({
  thought,
  words: fc.oneof(fc.constant(""), textOf(60)),
  calls: fc.array(call, { minLength: 1, maxLength: 3 }),
  isInterrupted: seldom(8),
});
const said = fc.record({
  text: fc.oneof(
    { arbitrary: textOf(300), weight: 9 },
    { arbitrary: fc.constant("continue"), weight: 1 },
  ),
  form: fc.constantFrom<Said["form"]>("text", "parts"),
  hasImage: seldom(6),
  hasDocument: seldom(8),
  hasUnknownPart: seldom(8),
  hasUnknownField: seldom(8),
  hasInstruction: seldom(8),
});
const round = fc.record({
  said,
  steps: fc.array(step, { maxLength: 3 }),
  answer: fc.record({ thought, words: textOf(300) }),
});

export interface ScriptSize {
  readonly roundsMin: number;
  readonly roundsMax: number;
}

export function scripts({ roundsMin, roundsMax }: ScriptSize): fc.Arbitrary<Script> {
  return fc.record({
    rounds: fc.array(round, { minLength: roundsMin, maxLength: roundsMax, size: "max" }),
    style,
    hasMarks: fc.boolean(),
    isReworded: fc.boolean(),
    isThoughtOnce: seldom(4),
  });
}

const PLAIN_SAID: Omit<Said, "text"> = {
  form: "text",
  hasImage: false,
  hasDocument: false,
  hasUnknownPart: false,
  hasUnknownField: false,
  hasInstruction: false,
};

export interface PlainSize {
  readonly rounds: number;
  /** Tool calls in each round. */
  readonly steps?: number;
  /** Of each text. */
  readonly characters: number;
}

/** A conversation without surprises: every message of it is about as long as every other. */
export function plainScript({ rounds, steps = 0, characters }: PlainSize): Script {
  const words = (number: number): string => wordsOf(number, characters);
  return {
    rounds: Array.from({ length: rounds }, (_, round) => ({
      said: { ...PLAIN_SAID, text: words(round * 100) },
      steps: Array.from({ length: steps }, (_, step) => ({
        thought: "none",
        words: "",
        calls: [
          {
            argument: `place ${step}`,
            result: { text: words(round * 100 + step + 1), form: "text" },
          },
        ],
        isInterrupted: false,
      })),
      answer: { thought: "none", words: words(round * 100 + 99) },
    })),
    style: { isSpaced: false, isEscaped: false, isConversationFirst: false },
    hasMarks: false,
    isReworded: false,
    isThoughtOnce: false,
  };
}
