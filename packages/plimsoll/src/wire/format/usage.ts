/** Figures of usage as providers report them: foreign numbers, on every wire. What cannot be a count of tokens is absent. */

import type { JsonValue } from "../../message/json.ts";
import type { Usage } from "../../message/message.ts";

/** No model reads or writes nearly as much; what is said beyond it is a mistake, and sums stay exact. */
const maxTokens = 2 ** 31;

export function tokenFigure(value: JsonValue | undefined): number | undefined {
  const isCount =
    typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= maxTokens;
  return isCount ? value : undefined;
}

/** As one wire names them. */
export interface Reported {
  /** Added up: everything the model read, cached or not. */
  readonly input: readonly (JsonValue | undefined)[];
  readonly output: JsonValue | undefined;
  readonly cacheRead?: JsonValue | undefined;
  readonly cacheWrite?: JsonValue | undefined;
  readonly cacheWriteLong?: JsonValue | undefined;
  readonly reasoning?: JsonValue | undefined;
}

/** Undefined: neither what was read nor what was written is a figure. */
export function usageFrom(reported: Reported): Usage | undefined {
  const input = reported.input.map(tokenFigure).filter((figure) => figure !== undefined);
  const output = tokenFigure(reported.output);
  if (input.length === 0 && output === undefined) return undefined;
  const cacheReadTokens = tokenFigure(reported.cacheRead);
  const cacheWriteTokens = tokenFigure(reported.cacheWrite);
  const cacheWriteLongTokens = tokenFigure(reported.cacheWriteLong) ?? 0;
  const reasoningTokens = tokenFigure(reported.reasoning);
  return {
    inputTokens: input.reduce((sum, figure) => sum + figure, 0),
    outputTokens: output ?? 0,
    ...(cacheReadTokens === undefined ? {} : { cacheReadTokens }),
    ...(cacheWriteTokens === undefined ? {} : { cacheWriteTokens }),
    ...(cacheWriteLongTokens === 0 ? {} : { cacheWriteLongTokens }),
    ...(reasoningTokens === undefined ? {} : { reasoningTokens }),
  };
}
