/** A conversation in which the client keeps the history and may write it differently each turn. */
import { callsOf } from "./gemini-contents.ts";
import { isString, type Json, type JsonObject, objects, type Wire } from "./json.ts";
import { type Asked, ask, bodyOf, type Question } from "./raw-client.ts";
import { type Essence, essence } from "./reading.ts";

/** Makes the body for a history, in the form that the client uses for this turn. */
export type Writer = (history: readonly JsonObject[]) => JsonObject;

export class Talk {
  readonly #baseUrl: string;
  readonly #question: Omit<Question, "body">;
  readonly history: JsonObject[];
  readonly answers: Asked[] = [];

  /** `heard` is the history, if this talk continues another one. */
  constructor(
    baseUrl: string,
    question: Omit<Question, "body">,
    heard: readonly JsonObject[] = [],
  ) {
    this.#baseUrl = baseUrl;
    this.#question = question;
    this.history = [...heard];
  }

  /** Sends these words, or sends them as the result of the last answer's call. */
  async say(words: string, write: Writer = this.#writePlainly): Promise<void> {
    this.history.push(nextMessage(this.#question.wire, this.history.at(-1), words));
    const body = write(this.history);
    const asked = await ask(this.#baseUrl, { ...this.#question, body });
    if (!asked.isComplete) {
      throw new Error(`"${words}" was answered ${asked.status}, incomplete: ${asked.answer}`);
    }
    this.history.push(asked.message);
    this.answers.push(asked);
  }

  get spoken(): Essence[] {
    return this.history.map(essence);
  }

  readonly #writePlainly: Writer = (history) =>
    bodyOf(this.#question.wire, history, { stream: true });
}

interface LastMessage {
  readonly content?: Json;
  readonly tool_calls?: Json;
  readonly output?: Json;
}
interface Call {
  readonly id?: Json;
  readonly call_id?: Json;
  readonly type?: Json;
}

const CALL_TYPES: readonly unknown[] = ["tool_use", "function", "function_call"];

/** The client's next message: the result of the call in this message, or the user's words if there was no call. */
export function nextMessage(wire: Wire, last: JsonObject | undefined, words: string): JsonObject {
  if (wire === "gemini") return nextContent(last, words);
  const { content, tool_calls: toolCalls, output }: LastMessage = last ?? {};
  const said = { anthropic: content, "openai-chat": toolCalls, "openai-responses": output }[wire];
  const found = objects<Call>(said).find(({ type }) => CALL_TYPES.includes(type));
  const id = found?.call_id ?? found?.id;
  if (!isString(id)) return { role: "user", content: words };
  switch (wire) {
    case "anthropic":
      return { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: words }] };
    case "openai-chat":
      return { role: "tool", tool_call_id: id, content: words };
    case "openai-responses":
      return { type: "function_call_output", call_id: id, output: words };
  }
}

function nextContent(last: JsonObject | undefined, words: string): JsonObject {
  const [called] = callsOf(last);
  if (called === undefined) return { role: "user", parts: [{ text: words }] };
  const { args: _args, ...named } = called as JsonObject;
  return {
    role: "user",
    parts: [{ functionResponse: { ...named, response: { output: words } } }],
  };
}
