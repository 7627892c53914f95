/** Simple policies for a full window, for comparison: do nothing, keep the newest turns, or clear old results. */

import type { JsonObject } from "../message/json.ts";
import { decodeMessage } from "../session/draft/encode.ts";
import { applySplices } from "../wire/format/splice.ts";
import type { Wire } from "../wire/format/wire.ts";
import type { RequestReader } from "./blocks.ts";
import { bodyOf, type Script } from "./turns.ts";

export type SimplePolicy = "none" | "tail" | "clear";

export interface PolicyWorld {
  readonly script: Script;
  readonly reader: RequestReader;
  /** Limit of the whole request. */
  readonly limit: number;
  /** Tokens of tools and system prompt. */
  readonly headTokens: number;
}

/** Number of the newest results that stay, as in the providers' own context editing. */
const keptResults = 3;
/** Results are cleared once the request exceeds this share of the limit. */
const clearedFrom = 0.5;
const cleared = "[Old tool result content cleared]";

/**
 * The client's messages up to a turn: the first messages, then groups. Each group is an answer and the messages after it. Calls
 * and their results are in the same group, so any number of the oldest groups can be left out.
 */
interface History {
  readonly begin: readonly JsonObject[];
  readonly groups: readonly (readonly JsonObject[])[];
}

function historyAt({ turns }: Script, turn: number): History {
  const groups = turns
    .slice(1, turn + 1)
    .map(({ added }, index) => [...(turns[index]?.answer ?? []), ...added]);
  return { begin: turns[0]?.added ?? [], groups };
}

/** The body that a policy sends in a turn. */
export async function bodyAt(
  policy: SimplePolicy,
  world: PolicyWorld,
  turn: number,
): Promise<JsonObject> {
  const { script } = world;
  const history = historyAt(script, turn);
  switch (policy) {
    case "none":
      return bodyOf(script, [...history.begin, ...history.groups.flat()]);
    case "tail":
      return bodyOf(script, await newestThatFit(world, history));
    case "clear":
      return bodyOf(script, await newestThatFit(world, await withoutOldResults(world, history)));
  }
}

async function weigh({ reader }: PolicyWorld, messages: readonly JsonObject[]): Promise<number> {
  return (await reader.weigh(messages)).reduce((sum, tokens) => sum + tokens, 0);
}

/** The first messages and as many of the newest groups as fit. The newest group stays even if it does not fit. */
async function newestThatFit(
  world: PolicyWorld,
  { begin, groups }: History,
): Promise<readonly JsonObject[]> {
  let room = world.limit - world.headTokens - (await weigh(world, begin));
  let first = groups.length;
  while (first > 0) {
    const group = groups[first - 1] ?? [];
    room -= await weigh(world, group);
    if (room < 0 && first < groups.length) break;
    first--;
  }
  return [...begin, ...groups.slice(first).flat()];
}

async function withoutOldResults(world: PolicyWorld, history: History): Promise<History> {
  const { begin, groups } = history;
  const tokens = world.headTokens + (await weigh(world, [...begin, ...groups.flat()]));
  if (tokens <= world.limit * clearedFrom) return history;
  const { wire } = world.script;
  let kept = 0;
  const shortened = groups
    .toReversed()
    .map((group) =>
      group
        .toReversed()
        .map((message) => {
          const results = resultsIn(wire, message);
          kept += results.length;
          const gone = Math.min(results.length, kept - keptResults);
          return gone <= 0 ? message : clear(wire, message, results.slice(0, gone));
        })
        .toReversed(),
    )
    .toReversed();
  return { begin, groups: shortened };
}

function resultsIn(wire: Wire, message: JsonObject): readonly number[] {
  const { parts } = wire.messages.decode(message);
  return parts.flatMap((part, index) => (part.kind === "tool-result" ? [index] : []));
}

function clear(wire: Wire, message: JsonObject, parts: readonly number[]): JsonObject {
  const bytes = new TextEncoder().encode(JSON.stringify(message));
  const splices = parts.flatMap((part) => wire.edit.replacePart(bytes, { part }, cleared) ?? []);
  return decodeMessage(applySplices(bytes, splices));
}
