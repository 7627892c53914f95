/**
 * Combines the usage of several rounds into the usage that a client of an OpenAI wire sees. The two wires differ only in field
 * names.
 */

import { isObject, type JsonObject, type JsonValue, numberOr } from "../../message/json.ts";

export interface UsageNames {
  readonly input: string;
  readonly output: string;
  readonly details: string;
}

/**
 * Clients use the input tokens to show how full their window is, so the client gets the input tokens of the last round. Its
 * output tokens are the sum of all rounds.
 */
export function clientUsage(names: UsageNames, usage: JsonObject, written: JsonObject): JsonObject {
  const sum = addWritten(names, written, usage);
  const total = numberOr(usage[names.input], 0) + numberOr(sum[names.output], 0);
  return { ...usage, ...sum, total_tokens: total };
}

export function addWritten(
  { output, details }: UsageNames,
  written: JsonObject,
  usage: JsonValue | undefined,
): JsonObject {
  if (!isObject(usage)) return written;
  const sums = addDetails(written[details], usage[details]);
  return {
    [output]: numberOr(written[output], 0) + numberOr(usage[output], 0),
    ...(sums === undefined ? {} : { [details]: sums }),
  };
}

function addDetails(
  one: JsonValue | undefined,
  other: JsonValue | undefined,
): JsonObject | undefined {
  if (!isObject(one)) return isObject(other) ? other : undefined;
  if (!isObject(other)) return one;
  const sums = Object.entries(other).map(([name, value]) =>
    typeof value === "number" ? [name, value + numberOr(one[name], 0)] : [name, value],
  );
  return { ...one, ...Object.fromEntries(sums) };
}
