/** OpenAI Responses: calls and outputs, server-side history, compaction, cache breakpoints, unknown items. */
import type { JsonObject } from "../../../message/json.ts";
import { isKnownItem } from "../rules/conversation.ts";
import {
  cacheMarks,
  canonical,
  type Field,
  isGiven,
  objectOf,
  objectsOf,
  type Placed,
  placed,
} from "../rules/fields.ts";
import type { Finding, RuleInput, Rules } from "../rules/rule.ts";

/** An input that is a string has no items. */
export function itemsOf(body: JsonObject | undefined): readonly Placed[] {
  return [...placed(body?.["input"], "/input")];
}

/** With server-side history, the provider may have the call of an output, or the output of a call. */
function hasServerHistory(body: JsonObject): boolean {
  return isGiven(body["previous_response_id"]) || isGiven(body["conversation"]);
}

function idsOfType(items: readonly Placed[], type: string): ReadonlySet<Field> {
  return new Set(
    items.filter(({ item }) => item["type"] === type).map(({ item }) => item["call_id"]),
  );
}

function* unpaired(body: JsonObject, type: string, other: string): Generator<Placed> {
  if (hasServerHistory(body)) return;
  const items = itemsOf(body);
  const others = idsOfType(items, other);
  for (const entry of items)
    if (entry.item["type"] === type && !others.has(entry.item["call_id"])) yield entry;
}

/** R1: every function_call has an output somewhere in the input. */
function* callsHaveOutputs({ body }: RuleInput): Generator<Finding> {
  for (const { item, place } of unpaired(body, "function_call", "function_call_output"))
    yield { rule: "R1", message: `call ${item["call_id"]} has no output`, place };
}

/** R2: every function_call_output has its call. */
function* outputsHaveCalls({ body }: RuleInput): Generator<Finding> {
  for (const { item, place } of unpaired(body, "function_call_output", "function_call"))
    yield { rule: "R2", message: `output ${item["call_id"]} has no call`, place };
}

const otherPairs: readonly (readonly [call: string, output: string])[] = [
  ["custom_tool_call", "custom_tool_call_output"],
  ["shell_call", "shell_call_output"],
  ["apply_patch_call", "apply_patch_call_output"],
  ["computer_call", "computer_call_output"],
  ["tool_search_call", "tool_search_output"],
];

/**
 * R3: custom, shell, patch, computer and client tool_search calls have their outputs, and vice versa. Calls and outputs
 * of the server need no counterpart.
 */
function* otherCallsArePaired({ body }: RuleInput): Generator<Finding> {
  const isOfServer = (item: JsonObject) =>
    item["execution"] === "server" || !isGiven(item["call_id"]);
  for (const [call, output] of otherPairs) {
    const alone = [...unpaired(body, call, output), ...unpaired(body, output, call)];
    for (const { item, place } of alone)
      if (!isOfServer(item))
        yield {
          rule: "R3",
          message: `${item["type"]} ${item["call_id"]} has no counterpart`,
          place,
        };
  }
}

/**
 * R7: previous_response_id and conversation exclude each other. An edit may drop them only if it adds their history to the input.
 */
function* serverHistoryStays({ body, original }: RuleInput): Generator<Finding> {
  if (isGiven(body["previous_response_id"]) && isGiven(body["conversation"]))
    yield { rule: "R7", message: "previous_response_id and conversation are both set", place: "/" };
  const isExpanded = itemsOf(body).length > itemsOf(original).length;
  for (const key of ["previous_response_id", "conversation"])
    if (isGiven(original?.[key]) && !isGiven(body[key]) && !isExpanded)
      yield { rule: "R7", message: `${key} was dropped`, place: `/${key}` };
}

/** R8: compaction items stay verbatim. */
function* compactionStays({ body, original }: RuleInput): Generator<Finding> {
  const compactions = (of: JsonObject | undefined) =>
    itemsOf(of).filter(({ item }) => item["type"] === "compaction");
  const written = compactions(original).map(({ item }) => canonical(item));
  const kept = new Set(compactions(body).map(({ item }) => canonical(item)));
  for (const { item, place } of compactions(body))
    if (!isGiven(item["encrypted_content"]))
      yield { rule: "R8", message: "a compaction item has no encrypted_content", place };
  if (written.some((text) => !kept.has(text)))
    yield { rule: "R8", message: "a compaction item is missing or was changed", place: "/input" };
}

const mostNewBreakpoints = 4;

/**
 * R9: cache breakpoints have the mode explicit and the ttl 30m. A request adds at most 4 breakpoints and keeps prompt_cache_key.
 */
function* breakpointsFit({ body, original }: RuleInput): Generator<Finding> {
  const ttl = objectOf(body["prompt_cache_options"])["ttl"];
  if (isGiven(ttl) && ttl !== "30m")
    yield { rule: "R9", message: `ttl is ${ttl} and not 30m`, place: "/prompt_cache_options/ttl" };
  const marks = breakpointsOf(body);
  for (const mark of marks)
    if (mark["mode"] !== "explicit")
      yield {
        rule: "R9",
        message: `the mode of a breakpoint is ${mark["mode"]} and not explicit`,
        place: "/input",
      };
  if (original === undefined) return;
  if (marks.length - breakpointsOf(original).length > mostNewBreakpoints)
    yield { rule: "R9", message: "there are more than four new breakpoints", place: "/input" };
  const key = original["prompt_cache_key"];
  if (isGiven(key) && body["prompt_cache_key"] !== key)
    yield { rule: "R9", message: "prompt_cache_key was lost", place: "/prompt_cache_key" };
}

function breakpointsOf(body: JsonObject): readonly JsonObject[] {
  const items = itemsOf(body).map(({ item }) => item);
  const parts = items.flatMap((item) => [
    item,
    ...objectsOf(item["content"]),
    ...objectsOf(item["output"]),
  ]);
  return objectsOf(parts.map((part) => part["prompt_cache_breakpoint"]));
}

const keptKeys = ["phase", "namespace", "encrypted_function_args"];
const withoutKeptKeys: ReadonlySet<string> = new Set([...cacheMarks, ...keptKeys]);

/** R10: phase, namespace, encrypted_function_args and unknown items are kept. */
function* unknownItemsStay({ body, original }: RuleInput): Generator<Finding> {
  const kept = new Map(itemsOf(body).map(({ item }) => [nameOf(item), item]));
  const before = itemsOf(original);
  const isRepeated = repetition(before.map(({ item }) => nameOf(item)));
  for (const [index, { item, place }] of before.entries()) {
    const now = kept.get(nameOf(item));
    for (const key of keptKeys)
      if (
        now &&
        isGiven(item[key]) &&
        canonical(now[key]) !== canonical(item[key]) &&
        !isRepeated(nameOf(item))
      )
        yield { rule: "R10", message: `${key} was lost`, place };
    const isKept = (neighbour: Placed | undefined) =>
      neighbour === undefined || kept.has(nameOf(neighbour.item));
    // If both neighbours stay, the item was not removed together with its surroundings.
    const mustStay = isKept(before[index - 1]) && isKept(before[index + 1]);
    if (now === undefined && !isKnownItem(item) && mustStay)
      yield { rule: "R10", message: `item of type ${item["type"]} was dropped`, place };
  }
}

/** Returns a function that says whether a name occurs more than once. Items with such a name cannot be told apart. */
function repetition(names: readonly string[]): (name: string) => boolean {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return (name) => (counts.get(name) ?? 0) > 1;
}

/** A name by which an item can be found in another body. */
function nameOf(item: JsonObject): string {
  const name = item["id"] ?? item["call_id"];
  return isGiven(name) ? `${item["type"]} ${name}` : canonical(item, withoutKeptKeys);
}

export const responsesRules: Rules = {
  R1: callsHaveOutputs,
  R2: outputsHaveCalls,
  R3: otherCallsArePaired,
  R7: serverHistoryStays,
  R8: compactionStays,
  R9: breakpointsFit,
  R10: unknownItemsStay,
};
