/**
 * The script of an agent at work, generated from a seed: questions of its user, thoughts, single and parallel calls, results of
 * all sizes, and sometimes an image. It does not depend on what the context manager does to the conversation.
 */

import { between, type Dice, diceOf, pick } from "../../demo/dice.ts";
import { call, reasoning, reply, text } from "./answer.ts";
import type { Reply } from "./answer-parts.ts";
import type { JsonObject, Wire } from "./json.ts";
import { prose, toolOutput } from "./words.ts";

export interface Question {
  readonly text: string;
  readonly hasImage: boolean;
}
export interface ScriptedCall {
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
  readonly result: string;
}
export interface AgentStep {
  /** The user's words; undefined if the step sends the results of the last step's calls instead. */
  readonly question: Question | undefined;
  /** The model's answer. */
  readonly thought: { readonly text: string; readonly signature: string } | undefined;
  readonly text: string;
  readonly calls: readonly ScriptedCall[];
}

export const TOOL_NAMES = ["read_file", "run_command", "search"] as const;

const THOUGHT_SHARE = 0.6;
const PARALLEL_SHARE = 0.35;
const IMAGE_SHARE = 0.15;
const CALL_STEPS_MAX = 4;

/** Size of a result, as a share of the window. The results of parallel calls together are no larger than a single one. */
const RESULT_SHARE_MIN = 0.01;
const RESULT_SHARE_MAX = 0.125;

export class AgentScript {
  readonly #random: Dice;
  readonly #seed: number;
  readonly #windowTokens: number;
  readonly #steps: AgentStep[] = [];
  #callStepsLeft = 0;

  constructor(seed: number, windowTokens: number) {
    this.#random = diceOf(seed);
    this.#seed = seed;
    this.#windowTokens = windowTokens;
  }

  /** Step number, from 0. */
  step(number: number): AgentStep {
    while (this.#steps.length <= number) this.#steps.push(this.#nextStep(this.#steps.length));
    const step = this.#steps[number];
    if (step === undefined) throw new Error(`The script has no step ${number}.`);
    return step;
  }

  #nextStep(number: number): AgentStep {
    const random = this.#random;
    const hasQuestion = (this.#steps.at(-1)?.calls.length ?? 0) === 0;
    if (hasQuestion) this.#callStepsLeft = between(random, 1, CALL_STEPS_MAX);
    const callsCount = this.#callStepsLeft === 0 ? 0 : this.#parallelCount();
    this.#callStepsLeft -= callsCount === 0 ? 0 : 1;
    const isFinal = callsCount === 0;
    return {
      question: hasQuestion ? this.#question(number) : undefined,
      thought: random() < THOUGHT_SHARE ? this.#thought(number) : undefined,
      text: isFinal || random() < 0.5 ? `Step ${number}: ${prose(random, isFinal ? 60 : 12)}.` : "",
      calls: Array.from({ length: callsCount }, (_, index) =>
        this.#call(`${number}_${index}`, callsCount),
      ),
    };
  }

  #parallelCount(): number {
    return this.#random() < PARALLEL_SHARE ? between(this.#random, 2, 3) : 1;
  }

  #question(number: number): Question {
    const words = prose(this.#random, between(this.#random, 20, 90));
    return { text: `Question ${number}: ${words}?`, hasImage: this.#random() < IMAGE_SHARE };
  }

  #thought(number: number): { readonly text: string; readonly signature: string } {
    const bytes = Buffer.from(Array.from({ length: 96 }, () => between(this.#random, 0, 255)));
    const words = prose(this.#random, between(this.#random, 15, 60));
    return { text: `Thought ${number}: ${words}.`, signature: bytes.toString("base64") };
  }

  #call(name: string, callsCount: number): ScriptedCall {
    const random = this.#random;
    const most = RESULT_SHARE_MAX / callsCount;
    const [least, share] = [RESULT_SHARE_MIN, random() * (most - RESULT_SHARE_MIN)];
    const tokens = Math.round(this.#windowTokens * (least + share));
    const path = `src/${prose(random, 1)}/${name}.ts`;
    return {
      id: `call_${this.#seed}_${name}`,
      name: pick(random, TOOL_NAMES),
      input: { path, note: prose(random, 8) },
      result: toolOutput(random, `${path} of ${name}`, tokens),
    };
  }
}

/** The step as an answer of the model. Chat answers have no thoughts. */
export function replyOf(wire: Wire, step: AgentStep): Reply {
  const { thought } = step;
  return reply(
    ...(thought === undefined || wire === "openai-chat"
      ? []
      : [reasoning(thought.signature, ...halves(thought.text))]),
    ...(step.text === "" ? [] : [text(...halves(step.text))]),
    ...step.calls.map(({ id, name, input }) => call(id, name, input)),
  );
}

/** The text as two deltas, cut between characters. */
function halves(whole: string): readonly [string, string] {
  const letters = [...whole];
  const middle = Math.ceil(letters.length / 2);
  return [letters.slice(0, middle).join(""), letters.slice(middle).join("")];
}
