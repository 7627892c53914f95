/** Anthropic conversations in the form that the rules work on. */
import type { JsonObject } from "../../../message/json.ts";
import { canonical, type Field, isGiven, objectsOf, type Placed, placed } from "../rules/fields.ts";
import type { RuleInput } from "../rules/rule.ts";

export interface Turn extends Placed {
  readonly role: Field;
  readonly blocks: readonly JsonObject[];
}

export function turnsOf(body: JsonObject): readonly Turn[] {
  return [...placed(body["messages"], "/messages")].map((message) => ({
    ...message,
    role: message.item["role"],
    blocks: blocksOf(message.item["content"]),
  }));
}

/** The blocks of a message's content. A plain string becomes one text block. */
export function blocksOf(content: Field): readonly JsonObject[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : objectsOf(content);
}

export function blocksOfType(turn: Turn | undefined, type: string): readonly JsonObject[] {
  return turn?.blocks.filter((block) => block["type"] === type) ?? [];
}

export function isThinking(block: JsonObject | undefined): boolean {
  return block?.["type"] === "thinking" || block?.["type"] === "redacted_thinking";
}

/** Whether the block is the result of a tool that the provider ran. Such results are in assistant messages. */
export function isServerResult(block: JsonObject | undefined): boolean {
  return /._tool_result$/.test(String(block?.["type"]));
}

/** The assistant messages after the last user message that contains no results. The provider treats them as one turn. */
export function latestTurn(turns: readonly Turn[]): readonly Turn[] {
  const isStart = (turn: Turn) =>
    turn.role === "user" && blocksOfType(turn, "tool_result").length === 0;
  return turns.slice(turns.findLastIndex(isStart) + 1).filter((turn) => turn.role === "assistant");
}

/**
 * Finds the message of `body` that corresponds to a message of `original`: one that shares a call or another block with it. A
 * block that occurs twice in either body is ignored.
 */
export function counterparts(
  original: JsonObject,
  body: JsonObject,
): (turn: Turn) => Turn | undefined {
  const before = turnByBlock(original);
  const after = turnByBlock(body);
  return (turn) => {
    const key = blockKeys(turn).find((name) => before.get(name) && after.get(name));
    return key === undefined ? undefined : after.get(key);
  };
}

/** The message that contains each block, or undefined if several messages contain it. */
function turnByBlock(body: JsonObject): ReadonlyMap<string, Turn | undefined> {
  const found = new Map<string, Turn | undefined>();
  for (const turn of turnsOf(body))
    if (turn.role === "assistant")
      for (const key of blockKeys(turn)) found.set(key, found.has(key) ? undefined : turn);
  return found;
}

function blockKeys(turn: Turn): readonly string[] {
  return turn.blocks
    .filter((block) => !isThinking(block))
    .map((block) => (isGiven(block["id"]) ? `id ${block["id"]}` : canonical(block, markKey)));
}
const markKey: ReadonlySet<string> = new Set(["cache_control"]);

/** The betas in the header and, on AWS and Vertex, in the body. Undefined if no headers are given. */
export function betasOf(input: RuleInput): readonly string[] | undefined {
  if (input.headers === undefined) return undefined;
  const inBody = input.body["anthropic_beta"];
  return [...betaList(input.headers), ...(Array.isArray(inBody) ? inBody.map(String) : [])];
}

export function betaList(headers: Readonly<Record<string, string>>): readonly string[] {
  const values = Object.entries(headers).filter(
    ([name]) => name.toLowerCase() === "anthropic-beta",
  );
  return values.flatMap(([, value]) => value.split(",").map((beta) => beta.trim()));
}
