/** All wires: content that Plimsoll does not know stays where it was. */
import type { JsonObject } from "../../../message/json.ts";
import { isKnownPart, messagesOf, partName, partsOf } from "../rules/conversation.ts";
import { cacheMarks, isGiven } from "../rules/fields.ts";
import type { Finding, RuleInput, Rules } from "../rules/rule.ts";

/** Fields that other rules check: R6, R7, R9, R10, C8. */
const checkedElsewhere: ReadonlySet<string> = new Set([
  ...cacheMarks,
  "previous_response_id",
  "conversation",
  "prompt_cache_key",
  "phase",
  "namespace",
  "encrypted_function_args",
  "reasoning_content",
  "id",
]);
/** Fields of a message that contain parts. The parts are checked one by one. */
const holdsParts: ReadonlySet<string> = new Set(["content", "parts", "tool_calls"]);

/** X6: unknown fields, blocks and headers are kept, except in messages that were removed. */
function* unknownStays(input: RuleInput): Generator<Finding> {
  const { wire, body, original } = input;
  yield* lostHeaders(input);
  if (original === undefined) return;
  yield* lostKeys(original, body, "");
  const find = finder(partIndex(wire, original), partIndex(wire, body));
  for (const { item, place } of messagesOf(wire, original)) {
    const found = partsOf(item).map((part) => ({ part, kept: find(part) }));
    const kept = found.find((one) => one.kept !== undefined)?.kept;
    // No part of the message is left, so it was removed as a whole.
    if (kept === undefined) continue;
    yield* lostKeys(withoutParts(item), kept.message, place);
    for (const one of found)
      if (one.part !== item) yield* lostInPart(one.part, one.kept?.part, place);
  }
}

interface Found {
  readonly part: JsonObject;
  readonly message: JsonObject;
}
type PartIndex = ReadonlyMap<string, readonly Found[]>;

function partIndex(wire: RuleInput["wire"], body: JsonObject): PartIndex {
  const index = new Map<string, Found[]>();
  for (const { item: message } of messagesOf(wire, body))
    for (const part of partsOf(message)) {
      const name = partName(part);
      const list = index.get(name) ?? [];
      list.push({ part, message });
      index.set(name, list);
    }
  return index;
}

/**
 * Returns a function that finds a part of the client's body in the edited body. Call it for all parts of the client's body in
 * order. If several parts are equal and some of them are gone, it cannot tell which of them are gone.
 */
function finder(before: PartIndex, after: PartIndex): (part: JsonObject) => Found | undefined {
  const asked = new Map<string, number>();
  return (part) => {
    const name = partName(part);
    const turn = asked.get(name) ?? 0;
    asked.set(name, turn + 1);
    const now = after.get(name) ?? [];
    return before.get(name)?.length === now.length ? now[turn] : undefined;
  };
}

function* lostInPart(
  part: JsonObject,
  kept: JsonObject | undefined,
  place: string,
): Generator<Finding> {
  const type = String(part["type"]);
  if (kept !== undefined && !/thinking$/.test(type)) yield* lostKeys(part, kept, place);
  if (kept === undefined && !isKnownPart(part))
    yield { rule: "X6", message: `block of type ${type} was dropped`, place };
}

function* lostKeys(before: JsonObject, after: JsonObject, place: string): Generator<Finding> {
  for (const [key, value] of Object.entries(before))
    if (isGiven(value) && !isGiven(after[key]) && !checkedElsewhere.has(key))
      yield { rule: "X6", message: `field ${key} was dropped`, place: `${place}/${key}` };
}

function withoutParts(message: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(message).filter(([key]) => !holdsParts.has(key)));
}

/** Headers that belong to the connection and not to the request. */
const ofConnection =
  /^(host|connection|content-length|transfer-encoding|accept-encoding|keep-alive|te|upgrade|expect|via|forwarded|x-forwarded-.*|proxy-.*)$/i;

function* lostHeaders({ headers, originalHeaders }: RuleInput): Generator<Finding> {
  if (headers === undefined || originalHeaders === undefined) return;
  const kept = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  for (const name of Object.keys(originalHeaders))
    if (!ofConnection.test(name) && !kept.has(name.toLowerCase()))
      yield { rule: "X6", message: `header ${name} was dropped` };
}

export const crossWireKeptRules: Rules = { X6: unknownStays };
