/** What is wrong with the run of an agent: a sentence for each case, and none where all is well. */
import type { UpstreamRequest } from "../harness/answer-writer.ts";
import { countRequest, maxOutputOf } from "../harness/counting.ts";
import { isObject, isString, type Json, type JsonObject, parseJson } from "../harness/json.ts";
import { type AgentRun, type TakenTurn, turnsFor } from "./run.ts";
import type { Result } from "./spelling.ts";

/** One compaction in so many turns. */
const COMPACTION_TURNS_MIN = 5;
const BUFFER_TOKENS = 8_192;

function bodyIn({ body }: UpstreamRequest): Json {
  return parseJson(body.toString("utf8"));
}

function stringsOf(value: Json | undefined): readonly string[] {
  if (isString(value)) return [value];
  if (Array.isArray(value)) return value.flatMap((element: Json) => stringsOf(element));
  return isObject(value) ? Object.values(value).flatMap(stringsOf) : [];
}

function objectsIn(value: Json | undefined): readonly JsonObject[] {
  if (Array.isArray(value)) return value.flatMap((element: Json) => objectsIn(element));
  return isObject(value) ? [value, ...Object.values(value).flatMap(objectsIn)] : [];
}

/** What the model read first in a turn: the first request that the provider took. */
function firstRead({ sent }: TakenTurn): Json | undefined {
  const taken = sent.find(isTaken);
  return taken && bodyIn(taken);
}

function isTaken({ status, isOverflow }: UpstreamRequest): boolean {
  return status === 200 && !isOverflow;
}

/** The room for a conversation, as docs/decisions/0011-send-what-fits.md has it. */
function limitOf({ shape, options: { windowTokens } }: AgentRun): number {
  const asked = maxOutputOf(shape.wire, shape.fields);
  const quarter = Math.floor(windowTokens / 4);
  const reserve = asked === 0 ? quarter : Math.min(asked, quarter);
  return windowTokens - Math.min(BUFFER_TOKENS, windowTokens / 8) - reserve;
}

/** The run is no test of anything where its history would have fit as it is. */
export function endedEarly({
  turns,
  shape,
  options: { windowTokens },
}: AgentRun): readonly string[] {
  const last = turns.at(-1);
  if (last === undefined) return ["The agent takes no turn."];
  const { number, status, action, fault } = last;
  const wanted = turnsFor({ windowTokens });
  if (number < wanted) {
    return [`The agent ends after turn ${number} of ${wanted}: ${status}, ${action}. ${fault}`];
  }
  const tokens = countRequest(shape.wire, last.whole);
  if (tokens > windowTokens) return [];
  return [
    `The history has ${tokens} tokens at the end, and the window of ${windowTokens} holds it.`,
  ];
}

export function refusals({ turns }: AgentRun): readonly string[] {
  return turns
    .filter(({ status, action }) => status !== 200 || action === "refused")
    .map(
      ({ number, status, action, fault }) =>
        `Turn ${number} is refused: ${status}, ${action}. ${fault}`,
    );
}

export function finalTurns({ turns }: AgentRun): readonly string[] {
  return turns
    .filter(({ action }) => action === "final")
    .map(({ number }) => `Turn ${number} is made final: the model may call no tool.`);
}

/** A fresh result may be hidden only where the opening and the newest exchange alone do not fit. */
export function hiddenResults(run: AgentRun): readonly string[] {
  const limit = limitOf(run);
  return run.turns.flatMap((turn) => {
    const read = firstRead(turn);
    if (read === undefined || turn.fresh.length === 0) return [];
    const least = countRequest(run.shape.wire, turn.least);
    if (least > limit) return [];
    const strings = stringsOf(read);
    return turn.fresh
      .filter(({ text }) => !strings.some((each) => each.includes(text)))
      .map((result) => hiddenResult(turn, result, `${least} of ${limit} tokens`));
  });
}

function hiddenResult({ number, action }: TakenTurn, { id, text }: Result, room: string): string {
  return `Turn ${number} (${action}) hides the fresh result of ${id}, ${text.length} letters: with the opening it takes ${room}.`;
}

export function invalidRequests({ invalid }: AgentRun): readonly string[] {
  return invalid.map(({ rule, message }) => `${rule}: ${message}`);
}

/** Before the provider has reported a usage, one request may be too long. */
export function overWindow({ requests, options }: AgentRun): readonly string[] {
  const reported = requests.find(isTaken)?.number ?? Number.POSITIVE_INFINITY;
  const tooLong = requests.filter(({ isOverflow }) => isOverflow);
  const guessed = tooLong.filter(({ number }) => number < reported);
  return tooLong
    .filter((request) => request !== guessed[0])
    .map(({ number, tokens }) => {
      const when =
        number < reported ? "before a usage was reported, and not the first" : "after a report";
      return `Request ${number} of ${tokens} tokens is over the window of ${options.windowTokens}, ${when}.`;
    });
}

const CALL_TYPES: readonly unknown[] = [
  "tool_use",
  "function",
  "function_call",
  "custom_tool_call",
];

function isCallOf(object: JsonObject, id: string): boolean {
  return CALL_TYPES.includes(object["type"]) && (object["call_id"] ?? object["id"]) === id;
}

/** Every call and every text that the model gave to its client, by how often it is in the log. */
export function notOnceInLog({ turns, log }: AgentRun): readonly string[] {
  // What the model says in the rounds with Plimsoll's tools is recorded beside the answer that its client got, and what a
  // client sends back of an answer in another place is kept as an echo of it.
  const entries = log
    .filter(({ source }) => source !== "inner" && source !== "echo")
    .map((entry) => ({ ...entry, objects: objectsIn(entry.message) }));
  return turns.flatMap(({ number, said, status }) => {
    if (status !== 200) return [];
    return said.flatMap((piece) => {
      const isCall = piece.startsWith("call_");
      const found = entries.filter(({ role, message, objects }) =>
        isCall
          ? objects.some((object) => isCallOf(object, piece))
          : role === "assistant" && stringsOf(message).some((each) => each.includes(piece)),
      );
      if (found.length === 1) return [];
      const where = found
        .map(({ seq, source }) => `${seq} (${source})`)
        .slice(0, 4)
        .join(", ");
      return [
        `The answer of turn ${number} is ${found.length} times in the log ("${piece}"): ${where}`,
      ];
    });
  });
}

function isCompaction(outcome: unknown): boolean {
  return outcome === "compacted" || outcome === "recovered";
}

/**
 * The turns that were compacted as their records say: the header is sent before the rounds with Plimsoll's tools, which may
 * fill the window.
 */
function compactedTurns({ turns, records }: AgentRun): ReadonlySet<number> {
  // A title that was asked for first has a record, too.
  const recorded = records.toSorted(byTime).slice(-turns.length);
  return new Set(
    turns
      .filter(
        ({ action }, index) => isCompaction(action) || isCompaction(recorded[index]?.["outcome"]),
      )
      .map(({ number }) => number),
  );
}

function byTime({ at: left }: JsonObject, { at: right }: JsonObject): number {
  return Number(left) - Number(right);
}

export function compactions(run: AgentRun): readonly string[] {
  const compacted = [...compactedTurns(run)];
  const allowed = turnsFor(run.options) / COMPACTION_TURNS_MIN;
  if (compacted.length <= allowed) return [];
  return [
    `There are ${compacted.length} compactions in ${run.turns.length} turns, and ${allowed} are allowed: in turns ${compacted.join(", ")}.`,
  ];
}

export function sessionsBesideOne({ sessions }: AgentRun): readonly string[] {
  if (sessions.length === 1) return [];
  const parts = sessions.map(({ turns, branches }) => `${turns} turns in ${branches} branches`);
  return [`There are ${sessions.length} sessions: ${parts.slice(0, 8).join("; ")}.`];
}

/** What the model looked up is in every later request, until a compaction that is recorded as one. */
export function lostLookups(run: AgentRun): readonly string[] {
  const { turns } = run;
  if (turns.every(({ lookups }) => lookups.length === 0)) {
    return ["The model can look nothing up: it is offered no tool of Plimsoll's."];
  }
  const compacted = compactedTurns(run);
  return turns.flatMap((turn, index) =>
    turn.lookups.flatMap((id) => {
      const lost = firstLoss(id, turns.slice(index + 1), compacted);
      return lost === undefined
        ? []
        : [
            `What was looked up in turn ${turn.number} (${id}) is gone in turn ${lost.number} (${lost.action}).`,
          ];
    }),
  );
}

function firstLoss(
  id: string,
  later: readonly TakenTurn[],
  compacted: ReadonlySet<number>,
): TakenTurn | undefined {
  for (const turn of later) {
    if (isCompaction(turn.action)) return undefined;
    // The call, and its result.
    if (stringsOf(firstRead(turn)).filter((each) => each === id).length < 2) return turn;
    if (compacted.has(turn.number)) return undefined;
  }
  return undefined;
}
