/** Settings that both wires of OpenAI write in almost the same way. */

import { isObject, type JsonObject, type JsonValue, stringOr } from "../../message/json.ts";
import { isReasoningModel } from "../format/openai-reasoning.ts";
import type { Losses, NeutralRequest, ToolChoice, WrittenFor } from "./neutral.ts";

export function readOpenaiChoice(choice: JsonValue | undefined, losses: Losses): ToolChoice {
  if (choice === undefined || choice === null || choice === "auto") return { kind: "auto" };
  if (choice === "none" || choice === "required") return { kind: choice };
  const called = isObject(choice) && isObject(choice["function"]) ? choice["function"] : choice;
  const name = isObject(called) ? stringOr(called["name"], "") : "";
  const isFunction = isObject(choice) && choice["type"] === "function" && name !== "";
  if (isFunction) return { kind: "tool", name };
  losses.refuse("only OpenAI has its kind of tool choice");
  return { kind: "auto" };
}

export function writeOpenaiChoice(
  { choice, isSerial }: NeutralRequest,
  wire: "chat" | "responses",
): JsonObject {
  const serial = isSerial ? { parallel_tool_calls: false } : {};
  if (choice.kind === "auto") return serial;
  if (choice.kind !== "tool") return { tool_choice: choice.kind, ...serial };
  const { name } = choice;
  const named = wire === "chat" ? { function: { name } } : { name };
  return { tool_choice: { type: "function", ...named }, ...serial };
}

/** The models that think accept no other sampling than their own. */
export function sampling(
  { temperature, topP }: NeutralRequest,
  { model }: WrittenFor,
  losses: Losses,
): JsonObject {
  const isThinker = isReasoningModel(model);
  if (isThinker && temperature !== undefined) losses.leaveOut("temperature");
  if (isThinker && topP !== undefined) losses.leaveOut("top_p");
  if (isThinker) return {};
  return {
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { top_p: topP }),
  };
}
