/** Generated conversations, request by request: what a client sends each time, and what it is answered. */
import type { JsonObject, Wire } from "../harness/json.ts";
import { anthropicWriter } from "./anthropic-writer.ts";
import { chatWriter } from "./chat-writer.ts";
import { geminiWriter } from "./gemini-writer.ts";
import { responsesWriter } from "./responses-writer.ts";
import type { Round, Script, Step } from "./script.ts";
import { write } from "./texts.ts";
import type { NamedCall, Writer } from "./writer.ts";

/** One request and its answer. */
export interface Request {
  /** Of each message, as it stands in the body. */
  readonly messages: readonly string[];
  readonly body: Uint8Array;
  readonly answer: readonly JsonObject[];
  /** How many of the messages were not in the request before. */
  readonly addedCount: number;
}

const writers: Readonly<Record<Wire, Writer>> = {
  anthropic: anthropicWriter,
  "openai-chat": chatWriter,
  "openai-responses": responsesWriter,
  gemini: geminiWriter,
};

export const WIRES: readonly Wire[] = ["anthropic", "openai-chat", "openai-responses", "gemini"];

/** All requests of a conversation. `head` puts other fields beside the conversation, or another model. */
export function requestsOf(
  wire: Wire,
  script: Script,
  head: (index: number) => JsonObject = () => ({}),
): readonly Request[] {
  const writer = writers[wire];
  const known: JsonObject[] = [...writer.opening()];
  return exchangesOf(writer, script).map(({ added, answered }, index) => {
    known.push(...added);
    const messages = textsOf(writer, script, known);
    const body = bodyText(writer, script, messages, head(index));
    return {
      messages,
      body: new TextEncoder().encode(body),
      answer: answered,
      addedCount: added.length,
    };
  });
}

interface Exchanged {
  /** What the client has sent since its last request. */
  readonly added: readonly JsonObject[];
  readonly answered: readonly JsonObject[];
}

function exchangesOf(writer: Writer, script: Script): readonly Exchanged[] {
  const exchanges: Exchanged[] = [];
  let number = 0;
  let echo: readonly JsonObject[] = [];
  const exchange = (
    added: readonly JsonObject[],
    spoken: Omit<Parameters<Writer["answer"]>[0], "number">,
  ): void => {
    number++;
    const { answered, echoed } = writer.answer({ ...spoken, number }, script);
    exchanges.push({ added: [...echo, ...added], answered });
    echo = echoed;
  };
  let callNumber = 0;
  const named = (step: Step): readonly NamedCall[] =>
    step.calls.map((call) => ({ ...call, id: `call${String(++callNumber).padStart(5, "0")}` }));
  for (const round of script.rounds) {
    let added = writer.said(round.said, exchanges.length);
    for (const step of thoughtSteps(script, round)) {
      const calls = named(step);
      exchange(added, { ...step, calls });
      added = writer.results(step, calls, exchanges.length);
    }
    exchange(added, { ...thoughtAnswer(script, round), calls: [] });
  }
  return exchanges;
}

function thoughtSteps({ isThoughtOnce }: Script, { steps }: Round): readonly Step[] {
  if (!isThoughtOnce) return steps;
  return steps.map((step, index) => ({ ...step, thought: index === 0 ? "signed" : "none" }));
}

function thoughtAnswer({ isThoughtOnce }: Script, { steps, answer }: Round): Round["answer"] {
  if (!isThoughtOnce) return answer;
  return { ...answer, thought: steps.length === 0 ? "signed" : "none" };
}

/** Two marks, on the last two messages that can have one and are not the model's. */
function textsOf(
  writer: Writer,
  { hasMarks, style }: Script,
  messages: readonly JsonObject[],
): readonly string[] {
  let left = hasMarks ? 2 : 0;
  const marked = messages.toReversed().map((message) => {
    const isOfUser = message["role"] === "user" || message["role"] === "tool";
    const mark = left > 0 && isOfUser ? writer.marked(message) : undefined;
    if (mark !== undefined) left--;
    return mark ?? message;
  });
  return marked.toReversed().map((message) => write(message, style));
}

function bodyText(
  writer: Writer,
  script: Script,
  messages: readonly string[],
  head: JsonObject,
): string {
  const { style } = script;
  const comma = style.isSpaced ? " ,\n" : ",";
  const fields = Object.entries({ ...writer.head(script), ...head }).map(
    ([name, value]) => `${JSON.stringify(name)}:${write(value, style)}`,
  );
  const conversation = `"${writer.messagesField}":[${messages.join(comma)}]`;
  const all = style.isConversationFirst ? [conversation, ...fields] : [...fields, conversation];
  return `{${all.join(comma)}}`;
}
