/** OpenAI Responses: reasoning items stay unchanged, and each stays before the item that it led to. */
import type { JsonObject } from "../../../message/json.ts";
import { canonical, isGiven, type Placed } from "../rules/fields.ts";
import type { Finding, RuleInput, Rules } from "../rules/rule.ts";
import { itemsOf } from "./responses.ts";

function isReasoning(item: JsonObject | undefined): boolean {
  return item?.["type"] === "reasoning";
}

/** Whether the model wrote the item. False for outputs of the client's tools. */
function isOfAssistant(item: JsonObject | undefined): boolean {
  if (item === undefined) return false;
  const type = item["type"] ?? "message";
  if (type === "message") return item["role"] === "assistant";
  return !/_call_output$/.test(String(type));
}

/** R4: a reasoning item is followed by the item that it led to. */
function* reasoningIsFollowed({ body }: RuleInput): Generator<Finding> {
  const items = itemsOf(body);
  for (const [index, { item, place }] of items.entries()) {
    if (!isReasoning(item)) continue;
    const next = items.slice(index + 1).find((later) => !isReasoning(later.item));
    if (!isOfAssistant(next?.item))
      yield {
        rule: "R4",
        message: `reasoning ${item["id"]} is not followed by an item of the model`,
        place,
      };
  }
}

/** R5: with store:false, reasoning items have encrypted_content, and there are no references. Reasoning items stay unchanged. */
function* unstoredItemsAreWhole({ body, original }: RuleInput): Generator<Finding> {
  const before = new Map(reasoningOf(original).map(({ item }) => [item["id"], item]));
  for (const { item, place } of itemsOf(body)) {
    if (body["store"] === false && item["type"] === "item_reference")
      yield {
        rule: "R5",
        message: `reference ${item["id"]} points to an item that is not stored`,
        place,
      };
    if (!isReasoning(item)) continue;
    if (body["store"] === false && !isGiven(item["encrypted_content"]))
      yield { rule: "R5", message: `reasoning ${item["id"]} has no encrypted_content`, place };
    const exact = before.get(item["id"]);
    if (exact !== undefined && isGiven(item["id"]) && canonical(exact) !== canonical(item))
      yield { rule: "R5", message: `reasoning ${item["id"]} was changed`, place };
  }
}

function reasoningOf(body: JsonObject | undefined): readonly Placed[] {
  return itemsOf(body).filter(({ item }) => isReasoning(item));
}

/**
 * R6: reasoning items are kept, in order, with the items that need them. In a finished turn, an item needs its reasoning only if
 * the item keeps its id. In the open loop, every kept item needs its reasoning.
 */
function* reasoningStays({ body, original }: RuleInput): Generator<Finding> {
  if (original === undefined) return;
  const before = itemsOf(original);
  const loopStart = before.findLastIndex(({ item }) => isUser(item)) + 1;
  const now = leadsOf(itemsOf(body));
  for (const lead of leadsOf(before)) {
    const keepsName = (later: Lead) =>
      later.id === lead.id && lead.id !== undefined
        ? true
        : lead.index >= loopStart && lead.call !== undefined && later.call === lead.call;
    const kept = now.find(keepsName);
    if (kept !== undefined && kept.reasoning !== lead.reasoning)
      yield {
        rule: "R6",
        message: `reasoning of ${lead.id ?? lead.call} is missing or different`,
        place: kept.place,
      };
  }
}

function isUser(item: JsonObject): boolean {
  return (item["type"] ?? "message") === "message" && item["role"] === "user";
}

/** An item of the model, with the reasoning that led to it. */
interface Lead {
  readonly id: string | undefined;
  readonly call: string | undefined;
  readonly reasoning: string;
  readonly index: number;
  readonly place: string;
}

function leadsOf(items: readonly Placed[]): readonly Lead[] {
  const leads: Lead[] = [];
  let reasoning: string[] = [];
  let isFresh = true;
  for (const { item, index, place } of items) {
    if (isReasoning(item)) {
      reasoning = isFresh ? [...reasoning, String(item["id"])] : [String(item["id"])];
      isFresh = true;
    } else if (isOfAssistant(item)) {
      isFresh = false;
      leads.push({ ...namesOf(item), reasoning: reasoning.join(), index, place });
    } else {
      isFresh = true;
      reasoning = [];
    }
  }
  return leads;
}

function namesOf(item: JsonObject): Pick<Lead, "id" | "call"> {
  const { id, call_id: call } = item;
  return {
    id: typeof id === "string" ? id : undefined,
    call: typeof call === "string" ? call : undefined,
  };
}

export const responsesReasoningRules: Rules = {
  R4: reasoningIsFollowed,
  R5: unstoredItemsAreWhole,
  R6: reasoningStays,
};
