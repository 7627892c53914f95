/** OpenAI Chat Completions: arguments of calls stay as the model wrote them, but for old ones that an edit shortens. */
import { isObject, type JsonObject, parseObject } from "../../message/json.ts";
import { canonical, type Field, isGiven, listOf, objectOf } from "./fields.ts";
import type { Finding, Judged, Rules } from "./judged.ts";
import { callsOf, chatMessages } from "./openai-chat.ts";

/** Arguments of this many newest exchanges are never shortened, nor strings up to this length. */
const newestExchanges = 10;
const longestKeptCharacters = 2000;

/** C5: arguments is a string and byte-exact. */
function* argumentsAreExact(judged: Judged): Generator<Finding> {
  const exchanges = chatMessages(judged.body).filter(({ item }) => callsOf(item).length > 0);
  const before = argumentsById(judged.original);
  for (const [index, { item, place }] of exchanges.entries()) {
    const isOld = exchanges.length - index > newestExchanges;
    for (const call of callsOf(item)) {
      const problem = argumentProblem(judged, call, isOld ? "old" : "new", before);
      if (problem !== undefined)
        yield { rule: "C5", message: `arguments of ${call["id"]} ${problem}`, place };
    }
  }
}

function argumentProblem(
  { editedCalls }: Judged,
  call: JsonObject,
  age: "old" | "new",
  before: ReadonlyMap<Field, readonly string[]>,
): string | undefined {
  const written = objectOf(call["function"])["arguments"];
  if (call["type"] === "custom" || !isGiven(call["function"])) return undefined;
  if (typeof written !== "string") return "are not a string";
  // Some clients use an id for several calls: any of them may be meant.
  const exact = before.get(call["id"]) ?? [];
  if (exact.length === 0 || exact.includes(written)) return undefined;
  const mayBeShortened = age === "old" && (editedCalls?.includes(String(call["id"])) ?? true);
  const isShorter = (one: string): boolean => isShortened(parseObject(one), parseObject(written));
  return mayBeShortened && exact.some(isShorter) ? undefined : "are not as the model wrote them";
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

/** Whether only long strings differ, and each of them became shorter and says so with a marker. */
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

export const chatArgumentRules: Rules = { C5: argumentsAreExact };
