/** OpenAI Chat Completions: arguments of calls stay as the model wrote them, except that an edit may shorten old arguments. */
import { isObject, type JsonObject, parseObject } from "../../../message/json.ts";
import { canonical, type Field, isGiven, listOf, objectOf } from "../rules/fields.ts";
import type { Finding, RuleInput, Rules } from "../rules/rule.ts";
import { callsOf, chatMessages } from "./chat.ts";

/** Strings with at most this many characters are never shortened. */
const longestKeptCharacters = 200;
/** A shortened string keeps at least this many characters of its beginning, because models imitate the calls they see. */
const keptBeginning = 40;
/** Plimsoll's words begin like this. A shortened string contains them, so that nobody takes it for the whole string. */
const ownWords = "[Plimsoll:";
/**
 * Stores have edits of older versions: there, this sign marked what was missing in a string, and as a field name it meant that
 * members of an object were missing.
 */
const oldGap = "…";

/** C5: arguments are a string with the model's exact bytes. An edit may take the middle out of a long string in them. */
function* argumentsAreExact(input: RuleInput): Generator<Finding> {
  const before = argumentsById(input.original);
  for (const { item, place } of chatMessages(input.body)) {
    for (const call of callsOf(item)) {
      const problem = argumentProblem(input, call, before);
      if (problem !== undefined)
        yield { rule: "C5", message: `arguments of ${call["id"]} ${problem}`, place };
    }
  }
}

function argumentProblem(
  { editedCalls }: RuleInput,
  call: JsonObject,
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
  const isShorter = now?.[oldGap] === undefined ? isShortened : isOldExcerpt;
  const isCut = (one: string): boolean => {
    const old = parseObject(one);
    return canonical(old) !== canonical(now) && isShorter(old, now);
  };
  return isNamed && exact.some(isCut) ? undefined : "are not as the model wrote them";
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

/** Whether only long strings differ, and each of them got shorter, begins as before, and says that it was shortened. */
function isShortened(before: Field, after: Field): boolean {
  if (typeof before === "string" && typeof after === "string" && before !== after)
    return (
      before.length > longestKeptCharacters &&
      after.length < before.length &&
      (after.includes(ownWords)
        ? after.startsWith(before.slice(0, keptBeginning))
        : after.includes(oldGap))
    );
  if (Array.isArray(before) && Array.isArray(after)) {
    const [old, now] = [listOf(before), listOf(after)];
    return old.length === now.length && old.every((item, index) => isShortened(item, now[index]));
  }
  if (!isObject(before) || !isObject(after)) return canonical(before) === canonical(after);
  const sameKeys = Object.keys(before).join() === Object.keys(after).join();
  return sameKeys && Object.keys(before).every((key) => isShortened(before[key], after[key]));
}

/** Whether `after` contains only content of `before`, in the same order: members, elements, and parts of long strings. */
function isOldExcerpt(before: Field, after: Field): boolean {
  if (typeof before === "string" && typeof after === "string" && before !== after)
    return after.length <= before.length && after.includes(oldGap);
  if (Array.isArray(before) && Array.isArray(after)) return isPartOf(listOf(before), listOf(after));
  if (!isObject(before) || !isObject(after)) return canonical(before) === canonical(after);
  const kept = Object.keys(after).filter((key) => key !== oldGap);
  return kept.every((key) => Object.hasOwn(before, key) && isOldExcerpt(before[key], after[key]));
}

function isPartOf(before: readonly Field[], after: readonly Field[]): boolean {
  const kept = after.filter((item) => typeof item !== "string" || !item.startsWith(oldGap));
  let from = 0;
  return kept.every((item) => {
    const at = before.findIndex((old, index) => index >= from && isOldExcerpt(old, item));
    from = at + 1;
    return at >= 0;
  });
}

export const chatArgumentRules: Rules = { C5: argumentsAreExact };
