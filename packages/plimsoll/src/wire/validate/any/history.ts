/** All wires: earlier content is sent again with the same bytes. Otherwise the provider's cache is lost. */
import type { JsonObject } from "../../../message/json.ts";
import { headKeys, messagesKey, messagesOf } from "../rules/conversation.ts";
import { cacheMarks, canonical, isGiven, listOf } from "../rules/fields.ts";
import { bodyTexts, withoutMarks } from "../rules/json-text.ts";
import type { Finding, RuleInput, Rules } from "../rules/rule.ts";

/** X1: the unedited prefix has the same bytes as in the last request. Cache marks may move. */
function* prefixIsIdentical(input: RuleInput): Generator<Finding> {
  const { original, previousSent, wire } = input;
  if (original === undefined || previousSent === undefined) return;
  yield* headIsIdentical(input, original, previousSent);
  for (const message of repeated(input, original, previousSent))
    if (!message.wasEdited && message.now !== message.before)
      yield {
        rule: "X1",
        message: "an old message differs from the bytes of the last request",
        place: `/${messagesKey[wire]}/${message.index}`,
      };
}

/** X2: edits are monotonic. Once content was replaced, the replacement keeps its bytes. */
function* editsAreMonotonic(input: RuleInput): Generator<Finding> {
  const { original, previousOriginal, previousSent, wire } = input;
  if (original === undefined || previousOriginal === undefined || previousSent === undefined)
    return;
  for (const message of repeated(input, original, previousSent))
    if (message.wasEdited && message.now !== message.before)
      yield {
        rule: "X2",
        message: "an edit differs from the last request",
        place: `/${messagesKey[wire]}/${message.index}`,
      };
}

/** X3: synthetic ids are deterministic. Sending the same history twice gives the same ids. */
function* syntheticIdsStay(input: RuleInput): Generator<Finding> {
  const { previousSent, synthetic, wire } = input;
  if (previousSent === undefined || synthetic === undefined) return;
  const masked = (text: string) =>
    synthetic.reduce((rest, id) => rest.replaceAll(JSON.stringify(id), '"synthetic"'), text);
  const before = sentMessages(previousSent, wire, undefined);
  for (const [index, now] of sentMessages(input.body, wire, undefined).entries()) {
    const old = before[index];
    if (index >= firstEdited(input) || old === undefined) return;
    if (now !== old && masked(now) === masked(old))
      yield {
        rule: "X3",
        message: "an invented id differs from the last request",
        place: `/${messagesKey[wire]}/${index}`,
      };
  }
}

function firstEdited({ editedFrom }: RuleInput): number {
  return editedFrom ?? Number.POSITIVE_INFINITY;
}

function* headIsIdentical(
  input: RuleInput,
  original: JsonObject,
  previousSent: JsonObject,
): Generator<Finding> {
  if (firstEdited(input) < 0) return;
  const client = input.previousOriginal ?? previousSent;
  const [now, before] = texts(input, headTexts);
  for (const key of headKeys) {
    const isSame = canonical(original[key], cacheMarks) === canonical(client[key], cacheMarks);
    if (isGiven(original[key]) && isSame && now.get(key) !== before.get(key))
      yield {
        rule: "X1",
        message: `${key} differs from the bytes of the last request`,
        place: `/${key}`,
      };
  }
}

interface Repeated {
  readonly index: number;
  readonly wasEdited: boolean;
  readonly now: string | undefined;
  readonly before: string | undefined;
}

/** The messages of the last request that the new request must repeat. */
function* repeated(
  input: RuleInput,
  original: JsonObject,
  previousSent: JsonObject,
): Generator<Repeated> {
  const { wire, previousOriginal } = input;
  const client = meanings(previousOriginal ?? previousSent, wire);
  const unchanged = commonPrefix(client, meanings(original, wire));
  const sent = meanings(previousSent, wire);
  const isUntouched = unchanged === client.length;
  // If the client rewrote its history, only the messages before the first rewritten one can be compared. They have the same index
  // in both requests.
  const end = isUntouched ? sent.length : Math.min(unchanged, commonPrefix(client, sent));
  const ofClient = new Set(client);
  const [now, before] = texts(input, (body, text) => sentMessages(body, wire, text));
  for (let index = 0; index < Math.min(end, firstEdited(input)); index += 1)
    yield {
      index,
      wasEdited: !ofClient.has(sent[index] ?? ""),
      now: now[index],
      before: before[index],
    };
}

function meanings(body: JsonObject, wire: RuleInput["wire"]): readonly string[] {
  return messagesOf(wire, body).map(({ item }) => canonical(item, cacheMarks));
}

function commonPrefix(one: readonly string[], other: readonly string[]): number {
  const end = one.findIndex((text, index) => text !== other[index]);
  return end < 0 ? one.length : end;
}

/** Reads this request and the last one. Uses their exact texts only if both are known. */
function texts<T>(
  { body, bodyText, previousSent, previousSentText }: RuleInput,
  read: (body: JsonObject, text: string | undefined) => T,
): readonly [now: T, before: T] {
  const areKnown = bodyText !== undefined && previousSentText !== undefined;
  const before = previousSent ?? {};
  return areKnown
    ? [read(body, bodyText), read(before, previousSentText)]
    : [read(body, undefined), read(before, undefined)];
}

function headTexts(body: JsonObject, text: string | undefined): ReadonlyMap<string, string> {
  const members = text === undefined ? undefined : bodyTexts(text).fields;
  return new Map(
    headKeys.map((key) => {
      const member = members === undefined ? JSON.stringify(body[key]) : members.get(key);
      return [key, withoutMarks(member ?? "")];
    }),
  );
}

function sentMessages(
  body: JsonObject,
  wire: RuleInput["wire"],
  text: string | undefined,
): readonly string[] {
  const key = messagesKey[wire];
  const elements =
    text === undefined
      ? listOf(body[key]).map((item) => JSON.stringify(item))
      : bodyTexts(text).elements(key);
  return elements.map(withoutMarks);
}

export const crossWireHistoryRules: Rules = {
  X1: prefixIsIdentical,
  X2: editsAreMonotonic,
  X3: syntheticIdsStay,
};
