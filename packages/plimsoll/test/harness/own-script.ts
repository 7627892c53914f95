/**
 * A model that looks things up, generated from a seed. If the request offers Plimsoll's tools, the model calls them: alone and
 * together with the client's, in parallel and in several rounds, with and without thoughts and texts.
 */

import { between, type Dice, pick, shuffled } from "../../demo/dice.ts";
import { call, reasoning, text } from "./answer.ts";
import type { AnswerPart, CallPart, Reply, UsageSplit } from "./answer-parts.ts";
import type { JsonObject, Wire } from "./json.ts";
import { handlesIn } from "./kept.ts";
import { isOwnName, toolNamesIn } from "./own-judge.ts";
import { forbidsCalls } from "./wires.ts";
import { prose } from "./words.ts";

export const CLIENT_TOOLS = ["read_file", "run_command", "search"] as const;

/** The kinds of lookups, valid and invalid. */
export type LookupKind =
  | "page"
  | "grep"
  | "lines"
  | "number"
  | "handle and number"
  | "unknown handle"
  | "broken arguments"
  | "recall"
  | "compact";

export interface Lookup {
  readonly id: string;
  /** The name of the tool. */
  readonly name: string;
  readonly kind: LookupKind;
  /** The handle, number or query of the lookup. */
  readonly asked: string;
}

/** How the answer of a turn ends, after its inner rounds. */
export type Ending = "text" | "client calls" | "mixed" | "cut short" | "nothing more";

export interface TurnPlan {
  /** Number of rounds with only own calls, before the last round. */
  readonly innerRounds: number;
  readonly ending: Ending;
}

/** Looks like a handle, but does not exist. */
const UNKNOWN_HANDLE = "pl_0123456789abcdefABCDEF";

const PLAIN: TurnPlan = { innerRounds: 0, ending: "text" };
const INNER_ROUNDS: readonly [number, ...number[]] = [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 4];
const ENDINGS: readonly [Ending, ...Ending[]] = [
  ...Array<Ending>(9).fill("text"),
  ...Array<Ending>(6).fill("client calls"),
  ...Array<Ending>(5).fill("mixed"),
  "cut short",
  "nothing more",
] as unknown as readonly [Ending, ...Ending[]];

const CUT_REASONS: Readonly<Record<Wire, string>> = {
  anthropic: "max_tokens",
  "openai-chat": "length",
  "openai-responses": "max_output_tokens",
  gemini: "MAX_TOKENS",
};

export interface Asked {
  readonly wire: Wire;
  readonly body: JsonObject;
  readonly turn: number;
  readonly round: number;
}

export interface SaidLookups {
  readonly reply: Reply;
  /** In the order of their calls in the answer. */
  readonly lookups: readonly Lookup[];
}

export class LookupScript {
  readonly #random: Dice;
  readonly #seed: number;
  /** Words of results and questions, to search for. */
  readonly #heard: string[] = [];

  constructor(seed: number, random: Dice) {
    this.#seed = seed;
    this.#random = random;
  }

  hear(words: string): void {
    this.#heard.push(words);
  }

  /** `callsLeft`: number of answers with calls in a row before the user speaks again. */
  plan(asked: Asked, callsLeft: number): TurnPlan {
    const random = this.#random;
    if (forbidsCalls(asked.body)) return PLAIN;
    const hasOwn = toolNamesIn(asked.wire, asked.body).some(isOwnName);
    const wanted = pick(random, ENDINGS);
    const isOpen = wanted === "client calls" || wanted === "mixed";
    const ending = isOpen && callsLeft === 0 ? "text" : wanted;
    if (!hasOwn) return { innerRounds: 0, ending: isOpen ? "client calls" : "text" };
    const innerRounds = pick(random, INNER_ROUNDS);
    return {
      innerRounds: ending === "nothing more" ? Math.max(1, innerRounds) : innerRounds,
      ending,
    };
  }

  /** The model's answer in this round of a turn. */
  answer(asked: Asked, plan: TurnPlan): SaidLookups {
    const isInner = asked.round < plan.innerRounds;
    const lookups: Lookup[] = [];
    const own = (count: number): CallPart[] =>
      Array.from({ length: count }, (_, index) => {
        const [part, lookup] = this.#lookup(asked, index);
        lookups.push(lookup);
        return part;
      });
    const parts = isInner
      ? [...this.#around(asked, plan), ...own(this.#few()), ...this.#afterwards()]
      : this.#ending(asked, plan, own);
    const isCut = !isInner && plan.ending === "cut short";
    const reply: Reply = {
      kind: "reply",
      parts,
      usageSplit: this.#usageSplit(),
      ...(isCut ? { stopReason: CUT_REASONS[asked.wire] } : {}),
    };
    const inOrder = parts.flatMap((part) =>
      part.kind === "call" ? lookups.filter(({ id }) => id === part.id) : [],
    );
    return { reply, lookups: inOrder };
  }

  #ending(
    asked: Asked,
    { ending }: TurnPlan,
    own: (count: number) => readonly CallPart[],
  ): readonly AnswerPart[] {
    const random = this.#random;
    switch (ending) {
      case "text":
        return [...this.#thought(asked), this.#text(60)];
      case "client calls":
        return [...this.#thought(asked), ...this.#maybeText(), ...this.#clientCalls(asked)];
      case "mixed": {
        const calls = [...own(this.#few()), ...this.#clientCalls(asked)];
        return [...this.#thought(asked), ...this.#maybeText(), ...shuffled(random, calls)];
      }
      case "cut short":
        return [...this.#thought(asked), this.#text(20), ...own(between(random, 0, 1))];
      case "nothing more":
        return [];
    }
  }

  /** Parts before own calls. If the turn ends without further text, there must be a text here. */
  #around(asked: Asked, { ending, innerRounds }: TurnPlan): readonly AnswerPart[] {
    const mustSpeak = ending === "nothing more" && asked.round === innerRounds - 1;
    return [...this.#thought(asked), ...(mustSpeak ? [this.#text(8)] : this.#maybeText())];
  }

  #afterwards(): readonly AnswerPart[] {
    return this.#random() < 0.1 ? [this.#text(6)] : [];
  }

  #few(): number {
    return this.#random() < 0.3 ? between(this.#random, 2, 4) : 1;
  }

  #maybeText(): readonly AnswerPart[] {
    return this.#random() < 0.5 ? [this.#text(12)] : [];
  }

  #text(tokens: number): AnswerPart {
    const words = prose(this.#random, between(this.#random, 4, tokens)).split(" ");
    const middle = Math.ceil(words.length / 2);
    return text(`${words.slice(0, middle).join(" ")} `, `${words.slice(middle).join(" ")}.`);
  }

  #thought({ turn, round }: Asked): readonly AnswerPart[] {
    const random = this.#random;
    if (random() < 0.5) return [];
    const bytes = Buffer.from(Array.from({ length: 48 }, () => between(random, 0, 255)));
    const thought = `Thought ${turn}.${round}: ${prose(random, between(random, 5, 20))}.`;
    return [reasoning(bytes.toString("base64"), thought)];
  }

  #clientCalls({ turn, round }: Asked): readonly CallPart[] {
    const random = this.#random;
    return Array.from({ length: this.#few() }, (_, index) => {
      const path = `src/${prose(random, 1)}/${turn}_${round}.ts`;
      const id = `call_${this.#seed}_${turn}_${round}_c${index}`;
      return call(id, pick(random, CLIENT_TOOLS), { path, note: prose(random, 6) });
    });
  }

  #lookup({ wire, body, turn, round }: Asked, index: number): readonly [CallPart, Lookup] {
    const random = this.#random;
    const id = `call_${this.#seed}_${turn}_${round}_o${index}`;
    const handles = handlesIn(JSON.stringify(body)).filter((handle) => handle !== UNKNOWN_HANDLE);
    const handle = handles[between(random, 0, Math.max(0, handles.length - 1))];
    // Each earlier turn has left a request and an answer in the log.
    const { kind, asked, input, rawInput } = this.#request(
      handle,
      turn === 0 ? 0 : between(random, 1, 2 * turn),
    );
    const names = toolNamesIn(wire, body).filter(isOwnName);
    const wanted = kind === "recall" || kind === "compact" ? kind : "read_result";
    const name = names.find((each) => each.includes(wanted)) ?? wanted;
    return [
      { ...call(id, name, input), ...(rawInput === undefined ? {} : { rawInput }) },
      { id, name, kind, asked },
    ];
  }

  #request(
    handle: string | undefined,
    number: number,
  ): {
    readonly kind: LookupKind;
    readonly asked: string;
    readonly input: JsonObject;
    readonly rawInput?: string;
  } {
    const random = this.#random;
    const limit = between(random, 200, 1_500);
    const kinds: readonly [LookupKind, ...LookupKind[]] = [
      "recall",
      "recall",
      "unknown handle",
      "broken arguments",
      ...(number > 0 ? (["number"] as const) : []),
      ...(random() < 0.4 ? (["compact"] as const) : []),
      ...(handle === undefined
        ? []
        : (["page", "page", "page", "grep", "lines", "handle and number"] as const)),
    ];
    const kind = pick(random, kinds);
    const known = handle ?? "";
    switch (kind) {
      case "page":
        return { kind, asked: known, input: { ref_id: known, limit } };
      case "grep":
        return { kind, asked: known, input: { ref_id: known, grep: prose(random, 1), limit } };
      case "lines":
        return { kind, asked: known, input: { ref_id: known, lines: "1-3", limit } };
      case "number":
        return { kind, asked: `#${number}`, input: { ref_id: `#${number}`, limit } };
      case "handle and number": {
        const asked = `${known}#${number}`;
        return { kind, asked, input: { ref_id: asked, limit } };
      }
      case "unknown handle":
        return { kind, asked: UNKNOWN_HANDLE, input: { ref_id: UNKNOWN_HANDLE } };
      case "broken arguments":
        return random() < 0.5
          ? { kind, asked: "", input: { offset: "from the start" } }
          : { kind, asked: "", input: {}, rawInput: '{"ref_id": "pl_' };
      case "recall": {
        const words = pick(random, [prose(random, 4), ...this.#heard.slice(-40)]).slice(0, 80);
        return { kind, asked: words, input: { query: words, budget: between(random, 200, 500) } };
      }
      case "compact":
        return { kind, asked: "", input: {} };
    }
  }

  #usageSplit(): UsageSplit {
    const random = this.#random;
    return {
      cachedShare: random() * 0.9,
      createdShare: random(),
      reasoning: between(random, 0, 300),
    };
  }
}
