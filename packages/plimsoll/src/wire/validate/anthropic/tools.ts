/** Anthropic Messages: calls, their results, and the tools they name. */
import type { JsonObject } from "../../../message/json.ts";
import { canonical, type Field, isGiven, objectOf, objectsOf, placed } from "../rules/fields.ts";
import type { Finding, RuleInput, Rules } from "../rules/rule.ts";
import { blocksOfType, isServerResult, type Turn, turnsOf } from "./turns.ts";

/** A3: every tool_use is answered in the next message. */
function* callsAreAnswered({ body }: RuleInput): Generator<Finding> {
  const turns = turnsOf(body);
  for (const turn of turns) {
    if (turn.role !== "assistant") continue;
    const results = blocksOfType(turns[turn.index + 1], "tool_result");
    const answered = new Set(results.map((result) => result["tool_use_id"]));
    for (const call of blocksOfType(turn, "tool_use"))
      if (!answered.has(call["id"]))
        yield { rule: "A3", message: `call ${call["id"]} has no result`, place: turn.place };
  }
}

/** A4: every tool_result has its tool_use in the previous message, and no call has two results. */
function* resultsHaveCalls({ body }: RuleInput): Generator<Finding> {
  const turns = turnsOf(body);
  for (const turn of turns) {
    const calls = blocksOfType(turns[turn.index - 1], "tool_use");
    const open = new Set(calls.map((call) => call["id"]));
    for (const result of blocksOfType(turn, "tool_result")) {
      const id = result["tool_use_id"];
      if (!open.delete(id))
        yield {
          rule: "A4",
          message: `result ${id} has no call, or is the second one for its call`,
          place: turn.place,
        };
    }
  }
}

/** A5: tool_result blocks come first in the user message. A3 and A4 check that all of them are in one message. */
function* resultsComeFirst({ body }: RuleInput): Generator<Finding> {
  for (const turn of turnsOf(body)) {
    const firstOther = turn.blocks.findIndex((block) => block["type"] !== "tool_result");
    const later = turn.blocks
      .slice(firstOther + 1)
      .filter((block) => block["type"] === "tool_result");
    if (turn.role !== "user" || firstOther < 0) continue;
    for (const result of later) {
      const message = `result ${result["tool_use_id"]} comes after other content`;
      yield { rule: "A5", message, place: turn.place };
    }
  }
}

/** A6: tool_use ids are unique and match ^[a-zA-Z0-9_-]+$. */
function* callIdsAreUnique({ body }: RuleInput): Generator<Finding> {
  const callIds = new Set<Field>();
  for (const turn of turnsOf(body))
    for (const { id } of blocksOfType(turn, "tool_use").map((call) => ({ id: call["id"] }))) {
      if (callIds.has(id))
        yield { rule: "A6", message: `call id ${id} is used twice`, place: turn.place };
      if (typeof id !== "string" || !/^[a-zA-Z0-9_-]+$/.test(id))
        yield { rule: "A6", message: `call id ${id} has a wrong form`, place: turn.place };
      callIds.add(id);
    }
}

/** A7: tool names match ^[a-zA-Z0-9_-]{1,128}$. Toolsets have no name. */
function* toolNamesFit({ body }: RuleInput): Generator<Finding> {
  for (const { item, place } of placed(body["tools"], "/tools")) {
    const name = item["name"];
    if (isGiven(name) && !/^[a-zA-Z0-9_-]{1,128}$/.test(String(name)))
      yield { rule: "A7", message: `tool name ${name} has a wrong form`, place };
  }
}

/** A21: the result of a server tool follows its call in the same assistant message, and encrypted fields stay unchanged. */
function* serverResultsFit({ body, original }: RuleInput): Generator<Finding> {
  const sealed = original === undefined ? undefined : sealedResults(original);
  for (const turn of turnsOf(body)) {
    if (turn.role !== "assistant") continue;
    yield* unpairedServerResults(turn);
    for (const result of turn.blocks.filter(isServerResult)) {
      const before = sealed?.get(String(result["tool_use_id"]));
      if (before !== undefined && before !== encryptedFields(result))
        yield {
          rule: "A21",
          message: `encrypted fields of ${result["tool_use_id"]} were changed`,
          place: turn.place,
        };
    }
  }
}

function* unpairedServerResults(turn: Turn): Generator<Finding> {
  const used = new Set<Field>();
  for (const block of turn.blocks) {
    if (block["type"] === "server_tool_use" || block["type"] === "mcp_tool_use")
      used.add(block["id"]);
    if (isServerResult(block) && !used.has(block["tool_use_id"]))
      yield {
        rule: "A21",
        message: `server result ${block["tool_use_id"]} has no call before it`,
        place: turn.place,
      };
  }
}

function sealedResults(body: JsonObject): ReadonlyMap<string, string> {
  const results = turnsOf(body).flatMap((turn) => turn.blocks.filter(isServerResult));
  return new Map(results.map((result) => [String(result["tool_use_id"]), encryptedFields(result)]));
}

function encryptedFields(value: Field): string {
  if (Array.isArray(value)) return value.map(encryptedFields).join();
  const fields = Object.entries(objectOf(value)).map(([key, field]) =>
    key.startsWith("encrypted_") ? `${key}=${canonical(field)};` : encryptedFields(field),
  );
  return fields.join("");
}

/** A23: not all tools are deferred, the search tool is not deferred, and every reference names an existing tool. */
function* deferredToolsFit({ body }: RuleInput): Generator<Finding> {
  const tools = [...placed(body["tools"], "/tools")];
  const isDeferred = (tool: JsonObject) => tool["defer_loading"] === true;
  if (tools.length > 0 && tools.every(({ item }) => isDeferred(item)))
    yield { rule: "A23", message: "every tool is deferred", place: "/tools" };
  for (const { item, place } of tools)
    if (String(item["type"]).startsWith("tool_search_tool") && isDeferred(item))
      yield { rule: "A23", message: "the search tool is deferred", place };
  yield* danglingReferences(body);
}

function* danglingReferences(body: JsonObject): Generator<Finding> {
  const names = objectsOf(body["tools"]).map((tool) => tool["name"]);
  // A toolset adds tools whose names are not in the body.
  if (names.some((name) => !isGiven(name))) return;
  for (const turn of turnsOf(body))
    for (const reference of turn.blocks.flatMap(referencesOf)) {
      const name = reference["tool_name"] ?? reference["name"];
      if (isGiven(name) && !names.includes(name))
        yield { rule: "A23", message: `no tool is named ${name}`, place: turn.place };
    }
}

function referencesOf(block: JsonObject): readonly JsonObject[] {
  const found = [
    ...objectsOf(block["content"]),
    ...objectsOf(objectOf(block["content"])["tool_references"]),
    objectOf(block["tool"]),
  ];
  const holds = block["type"] !== "tool_use";
  return holds ? found.filter((item) => item["type"] === "tool_reference") : [];
}

export const anthropicToolRules: Rules = {
  A3: callsAreAnswered,
  A4: resultsHaveCalls,
  A5: resultsComeFirst,
  A6: callIdsAreUnique,
  A7: toolNamesFit,
  A21: serverResultsFit,
  A23: deferredToolsFit,
};
