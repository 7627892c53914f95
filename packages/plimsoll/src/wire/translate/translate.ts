/**
 * Translates requests and answers between the wires of Anthropic and OpenAI, so that another provider can answer when the client's
 * own one is full (docs/decisions/0019). Pure.
 *
 * Contract: a translated request breaks no rule that the validator knows. What has no counterpart makes the translation a refusal
 * with a sentence, or is named in `leftOut`. Nothing disappears without a word.
 */

import { isObject, type JsonObject } from "../../message/json.ts";
import type { Answer, AnswerAccumulator, StreamEvent, Wire, WireName } from "../format/wire.ts";
import { validate } from "../validate/validate.ts";
import { anthropicTranslation } from "./anthropic.ts";
import type {
  AnswerHead,
  AnswerStep,
  AnswerWriter,
  Losses,
  NeutralRequest,
  Translation,
  WrittenFor,
} from "./neutral.ts";
import { chatTranslation } from "./openai-chat.ts";
import { responsesTranslation } from "./openai-responses.ts";

export type { AnswerHead } from "./neutral.ts";

const translations: Readonly<Partial<Record<WireName, Translation>>> = {
  anthropic: anthropicTranslation,
  "openai-chat": chatTranslation,
  "openai-responses": responsesTranslation,
};

/** Whether this wire can be translated from and to the others that can. */
export function isTranslatable({ name }: Pick<Wire, "name">): boolean {
  return translations[name] !== undefined;
}

export const untranslatable = "Plimsoll does not translate Gemini's requests and answers";

export type TranslatedRequest =
  | {
      readonly kind: "translated";
      readonly body: JsonObject;
      /** Fields and content that only the first provider can use. */
      readonly leftOut: readonly string[];
      readonly isStream: boolean;
      /** Whether a Chat client wants the usage at the end of the stream. */
      readonly wantsUsage: boolean;
    }
  /** The reason is the end of a sentence such as "The request cannot go to openai/gpt-5.1, because …". */
  | { readonly kind: "refused"; readonly reason: string };

export interface Between {
  readonly from: Wire;
  readonly to: Wire;
}

const maxNameLength = 64;

export function translateRequest(
  { from, to }: Between,
  body: JsonObject,
  written: WrittenFor,
): TranslatedRequest {
  const [reader, writer] = [translations[from.name], translations[to.name]];
  if (reader === undefined || writer === undefined) return refused(untranslatable);
  const reasons: string[] = [];
  const leftOut = new Set<string>();
  const losses: Losses = {
    refuse: (reason) => reasons.push(reason),
    leaveOut: (name) => leftOut.add(name),
  };
  const request = withinMost(reader.readRequest(body, losses), written);
  checkTools(request, to, losses);
  const translated = writer.writeRequest(request, written, losses);
  const [reason = findingIn(to, translated, written)] = reasons;
  if (reason !== undefined) return refused(reason);
  const { isStream, wantsUsage } = request;
  return { kind: "translated", body: translated, leftOut: [...leftOut], isStream, wantsUsage };
}

/** Each model has its own maximum, and providers refuse more. */
function withinMost(request: NeutralRequest, { maxTokens: most }: WrittenFor): NeutralRequest {
  const { maxTokens } = request;
  return maxTokens === undefined ? request : { ...request, maxTokens: Math.min(maxTokens, most) };
}

function refused(reason: string): TranslatedRequest {
  return { kind: "refused", reason };
}

function checkTools({ tools }: NeutralRequest, { tools: { max } }: Wire, losses: Losses): void {
  const long = tools.find(({ name }) => name.length > maxNameLength);
  if (long !== undefined)
    losses.refuse(`the name of the tool ${long.name} has more than ${maxNameLength} characters`);
  if (max !== undefined && tools.length > max)
    losses.refuse(`it has ${tools.length} tools, and the other provider takes at most ${max}`);
}

/** The first rule of the other provider that the request would break. */
function findingIn({ name }: Wire, body: JsonObject, { model }: WrittenFor): string | undefined {
  const [finding] = validate({ wire: name, body, bodyText: JSON.stringify(body), model });
  return (
    finding && `the translated request would break a rule of the other provider: ${finding.message}`
  );
}

/** An answer on its way from one wire to another. */
export class AnswerTranslator {
  readonly #to: Wire;
  readonly #reader: Translation;
  readonly #take: (event: StreamEvent) => readonly AnswerStep[];
  readonly #heard: AnswerAccumulator;
  readonly #writer: AnswerWriter;
  #isBegun = false;
  #lastCall: number | undefined;
  #problem: string | undefined;

  constructor({ from, to }: Between, head: AnswerHead) {
    const [reader, writer] = [translations[from.name], translations[to.name]];
    if (reader === undefined || writer === undefined)
      throw new RangeError(`No answer of ${from.name} can be translated to ${to.name}.`);
    this.#to = to;
    this.#reader = reader;
    this.#take = reader.openSteps();
    this.#heard = from.answer.open();
    this.#writer = writer.openWriter(head);
  }

  /** A sentence about content that cannot be translated. Undefined if there was none. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** The provider's event in the words of the other wire. `isOver`: the provider has said that the answer is complete. */
  take(event: StreamEvent): { readonly events: readonly StreamEvent[]; readonly isOver: boolean } {
    const isOver = this.#heard.take(event) === "terminal";
    return { events: this.#take(event).flatMap((step) => this.#write(step)), isOver };
  }

  /** The events that end the answer, and the answer as the provider gave it. */
  end(): { readonly events: readonly StreamEvent[]; readonly heard: Answer } {
    const heard = this.#heard.finish();
    const stop = this.#reader.stopOf(heard.stopReason, this.#lastCall !== undefined);
    const begun = this.#begin();
    return { events: [...begun, ...this.#writer.end({ stop, usage: heard.usage })], heard };
  }

  /** Translates a whole answer. Undefined if the provider's answer is none, or cannot be translated. */
  translateWhole(response: JsonObject, from: Wire): JsonObject | undefined {
    const heard = from.answer.read(response);
    if (heard.outcome !== "message") return undefined;
    const events = stepsOf(from, heard).flatMap((step) => this.#write(step));
    const stop = this.#reader.stopOf(heard.stopReason, this.#lastCall !== undefined);
    const all = [...this.#begin(), ...events, ...this.#writer.end({ stop, usage: heard.usage })];
    const spoken = this.#to.answer.open();
    // The first event opens the answer, and comes before the steps that were written.
    for (const event of all) spoken.take(event);
    const { response: whole } = spoken.finish();
    return this.#problem === undefined && isObject(whole) ? whole : undefined;
  }

  #begin(): readonly StreamEvent[] {
    if (this.#isBegun) return [];
    this.#isBegun = true;
    return this.#writer.begin();
  }

  #write(step: AnswerStep): readonly StreamEvent[] {
    if (step.kind === "unknown") {
      this.#problem ??= `The provider answered with content of type ${step.type}, which cannot be translated.`;
      return [];
    }
    if (step.kind === "text" && step.text === "") return [];
    if (step.kind === "call") this.#lastCall = step.place;
    if (step.kind === "input" && step.place !== this.#lastCall) {
      this.#problem ??= "The provider mixed the arguments of several calls.";
      return [];
    }
    return [...this.#begin(), ...this.#writer.step(step)];
  }
}

/** The steps of a whole answer. */
function stepsOf(from: Wire, { choices }: Answer): readonly AnswerStep[] {
  const parts = (choices[0] ?? []).flatMap((message) => from.messages.decode(message).parts);
  return parts.flatMap((part, place): readonly AnswerStep[] => {
    switch (part.kind) {
      case "text":
        return [{ kind: "text", text: part.text }];
      case "tool-call":
        return [
          { kind: "call", place, id: part.id, name: part.name },
          { kind: "input", place, text: part.input },
        ];
      case "reasoning":
        return [];
      case "opaque":
        return [{ kind: "unknown", type: part.type }];
      default:
        return [{ kind: "unknown", type: part.kind }];
    }
  });
}
