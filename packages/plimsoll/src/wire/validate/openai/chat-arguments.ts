/** OpenAI Chat Completions: arguments of calls stay as the model wrote them, except that an edit may shorten old arguments. */
import { isObject, type JsonObject, parseObject } from "../../../message/json.ts";
import { canonical, type Field, isGiven, listOf, objectOf } from "../rules/fields.ts";
import type { Finding, RuleInput, Rules } from "../rules/rule.ts";
import { callsOf, chatMessages } from "./chat.ts";

/** Number of newest exchanges whose arguments are never shortened. */
const newestExchanges = 10;
/** Strings with at most this many characters are never shortened. */
const longestKeptCharacters = 200;
/** The beginning of a text that replaces omitted content. As a field name, it means that members of an object were omitted. */
const gap = "…";

/** C5: arguments are a string with the model's exact bytes. */
function* argumentsAreExact(input: RuleInput): Generator<Finding> {
  const before = argumentsById(input.original);
  const isNew = newestCalls(input.original ?? input.body);
  for (const { item, place } of chatMessages(input.body)) {
    for (const call of callsOf(item)) {
      const problem = argumentProblem(input, call, isNew.has(call["id"]) ? "new" : "old", before);
      if (problem !== undefined)
        yield { rule: "C5", message: `arguments of ${call["id"]} ${problem}`, place };
    }
  }
}

/** The calls of the newest exchanges. The exchanges are counted in the client's body, because an edit may have removed some. */
function newestCalls(body: JsonObject): ReadonlySet<Field> {
  const exchanges = chatMessages(body).filter(({ item }) => callsOf(item).length > 0);
  const newest = exchanges.slice(-newestExchanges).flatMap(({ item }) => callsOf(item));
  return new Set(newest.map((call) => call["id"]));
}

function argumentProblem(
  { editedCalls }: RuleInput,
  call: JsonObject,
  age: "old" | "new",
  before: ReadonlyMap<Field, readonly string[]>,
): string | undefined {
  const written = objectOf(call["function"])["arguments"];
  if (call["type"] === "custom" || !isGiven(call["function"])) return undefined;
  if (typeof written !== "string") return "are not a string";
  // Some clients use one id for several calls, so the arguments may match any of these calls.
  const exact = before.get(call["id"]) ?? [];
  if (exact.length === 0 || exact.includes(written)) return undefined;
  const now = parseObject(written);
  const isNamed = editedCalls?.includes(String(call["id"])) ?? true;
  // Arguments that would fill the window on their own may be an excerpt, marked as such.
  const isShorter =
    now?.[gap] !== undefined ? isExcerpt : age === "old" ? isShortened : () => false;
  return isNamed && exact.some((one) => isShorter(parseObject(one), now))
    ? undefined
    : "are not as the model wrote them";
}

function argumentsById(body: JsonObject | undefined): ReadonlyMap<Field, readonly string[]> {
  const byId = new Map<Field, string[]>();
  for (const call of chatMessages(body).flatMap(({ item }) => callsOf(item))) {
    const text = objectOf(call["function"])["arguments"];
    if (typeof text !== "string") continue;
    const known = byId.get(call["id"]);
    if (known === undefined) byId.set(call["id"], [text]);
    else known.push(text);
  }
  return byId;
}

/** Whether only long strings differ, and each of them got shorter and has a mark that says so. */
function isShortened(before: Field, after: Field): boolean {
  if (typeof before === "string" && typeof after === "string" && before !== after) {
    const hasMarker = !before.includes(after);
    return before.length > longestKeptCharacters && after.length < before.length && hasMarker;
  }
  if (Array.isArray(before) && Array.isArray(after)) {
    const [old, now] = [listOf(before), listOf(after)];
    return old.length === now.length && old.every((item, index) => isShortened(item, now[index]));
  }
  if (!isObject(before) || !isObject(after)) return canonical(before) === canonical(after);
  const sameKeys = Object.keys(before).join() === Object.keys(after).join();
  return sameKeys && Object.keys(before).every((key) => isShortened(before[key], after[key]));
}

/** Whether `after` contains only content of `before`, in the same order: members, elements, and parts of long strings. */
function isExcerpt(before: Field, after: Field): boolean {
  if (typeof before === "string" && typeof after === "string" && before !== after)
    return after.length <= before.length && after.includes(gap);
  if (Array.isArray(before) && Array.isArray(after)) return isPartOf(listOf(before), listOf(after));
  if (!isObject(before) || !isObject(after)) return canonical(before) === canonical(after);
  const kept = Object.keys(after).filter((key) => key !== gap);
  return kept.every((key) => Object.hasOwn(before, key) && isExcerpt(before[key], after[key]));
}

function isPartOf(before: readonly Field[], after: readonly Field[]): boolean {
  const kept = after.filter((item) => typeof item !== "string" || !item.startsWith(gap));
  let from = 0;
  return kept.every((item) => {
    const at = before.findIndex((old, index) => index >= from && isExcerpt(old, item));
    from = at + 1;
    return at >= 0;
  });
}

export const chatArgumentRules: Rules = { C5: argumentsAreExact };
