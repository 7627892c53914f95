/** How agents write a history on the wires that most of them share. */
import { isString, type JsonObject, objects } from "../harness/json.ts";
import type { AgentShape } from "./shape.ts";

/** What an agent gives back for a call. */
export interface Result {
  readonly id: string;
  readonly tool: string;
  readonly text: string;
}

/** An answer as a careful client reads it, and what the agent gave back for it. */
export interface Exchange {
  readonly message: JsonObject;
  readonly results: readonly Result[];
}

export interface Spoken {
  readonly shape: AgentShape;
  readonly exchanges: readonly Exchange[];
  /** What Goose says of the state of things this time. */
  readonly info: string;
}

export type Messages = readonly JsonObject[];

/* Anthropic: one message for all results, and a cache mark that moves to the last block */

const MARK = { type: "ephemeral" } as const;

export interface Block extends JsonObject {
  readonly type: string;
}

export function blocksOf(message: JsonObject): readonly Block[] {
  return objects<Block>(message["content"]);
}

export function withoutMark({ cache_control: _mark, ...block }: JsonObject): JsonObject {
  return block;
}

/** The last message of the opening, as it is sent when it is the last one no more. */
function unmarked(message: JsonObject): JsonObject {
  const content = blocksOf(message).map(withoutMark);
  const [only] = content;
  const isString = message["role"] === "system" && content.length === 1;
  return { ...message, content: isString ? only?.["text"] : content };
}

export function marked(message: JsonObject): JsonObject {
  const blocks = blocksOf(message);
  const last = { ...blocks.at(-1), cache_control: MARK };
  return { ...message, content: [...blocks.slice(0, -1), last] };
}

function lastMarked(messages: Messages): Messages {
  return messages.map((message, index) =>
    index === messages.length - 1 ? marked(message) : message,
  );
}

export function typeFirst({ id, text }: Result): JsonObject {
  return { type: "tool_result", tool_use_id: id, content: text };
}

export function idFirst({ id, text }: Result): JsonObject {
  return { tool_use_id: id, type: "tool_result", content: text };
}

type Spelling = (block: Block) => JsonObject;

export function anthropicTalk(
  result: (result: Result) => JsonObject,
  spell: Spelling = (block) => block,
) {
  return ({ shape, exchanges }: Spoken): Messages => {
    if (exchanges.length === 0) return shape.opening;
    const opening = [...shape.opening.slice(0, -1), unmarked(shape.opening.at(-1) ?? {})];
    const said = exchanges.flatMap(({ message, results }) => [
      { role: "assistant", content: blocksOf(message).map(spell) },
      { role: "user", content: results.map(result) },
    ]);
    return lastMarked([...opening, ...said]);
  };
}

export function signatureFirst(block: Block): JsonObject {
  if (block.type !== "thinking") return block;
  return { type: block.type, signature: block["signature"], thinking: block["thinking"] };
}

/* OpenAI Chat: an answer is one message, every result another */

interface ChatAnswer {
  readonly content?: unknown;
  readonly reasoning_content?: unknown;
  readonly tool_calls?: unknown;
}

export function contentOf({ content }: ChatAnswer): string | null {
  return isString(content) && content !== "" ? content : null;
}

function callsOf({ tool_calls: calls }: ChatAnswer): JsonObject {
  return objects<JsonObject>(calls).length === 0 ? {} : { tool_calls: objects<JsonObject>(calls) };
}

export function chatTalk(
  answer: (message: JsonObject) => JsonObject,
  result: (result: Result) => JsonObject,
) {
  return ({ shape, exchanges }: Spoken): Messages => [
    ...shape.opening,
    ...exchanges.flatMap(({ message, results }) => [answer(message), ...results.map(result)]),
  ];
}

export function qwenAnswer(message: JsonObject): JsonObject {
  const { reasoning_content: thought }: ChatAnswer = message;
  return {
    role: "assistant",
    content: contentOf(message) ?? "",
    ...callsOf(message),
    ...(isString(thought) ? { reasoning_content: thought, reasoning: thought } : {}),
  };
}

export function langchainAnswer(message: JsonObject): JsonObject {
  return {
    role: "assistant",
    content: contentOf(message) ?? "",
    name: "model",
    ...callsOf(message),
  };
}

/** The whole message once more inside its text, where the answer was no stream. */
export function agentsSdkAnswer(message: JsonObject): JsonObject {
  const { content: _content, ...others } = message;
  const text = contentOf(message);
  const isWhole = "refusal" in message;
  const part = { type: "text", text, ...(isWhole ? others : { annotations: [] }) };
  return { role: "assistant", content: text === null ? null : [part], ...callsOf(message) };
}
