/** Usage of several rounds, as a client of OpenAI's wires is shown it. The two wires differ only in names. */

import { isObject, type JsonObject, type JsonValue, numberOr } from "../../message/json.ts";

export interface UsageNames {
  readonly input: string;
  readonly output: string;
  readonly details: string;
}

/** Clients read the input as what fills their window: the last round's. What was written is the sum. */
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
