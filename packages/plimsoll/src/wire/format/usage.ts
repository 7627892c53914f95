/** Reads usage figures as providers report them. These are untrusted numbers: a value that cannot be a token count is ignored. */

import type { JsonValue } from "../../message/json.ts";
import type { Usage } from "../../message/message.ts";

/** Maximum plausible token count. No model comes near it, so larger values are mistakes. The bound also keeps sums exact. */
const maxTokens = 2 ** 31;

export function tokenFigure(value: JsonValue | undefined): number | undefined {
  const isCount =
    typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= maxTokens;
  return isCount ? value : undefined;
}

/** The usage figures of one wire, before they are checked. */
export interface Reported {
  /** Figures whose sum is the number of tokens that the model read, cached or not. */
  readonly input: readonly (JsonValue | undefined)[];
  /** Figures whose sum is the number of tokens that the model wrote. */
  readonly output: readonly (JsonValue | undefined)[];
  readonly cacheRead?: JsonValue | undefined;
  readonly cacheWrite?: JsonValue | undefined;
  readonly cacheWriteLong?: JsonValue | undefined;
  readonly reasoning?: JsonValue | undefined;
}

/** The usage figures that are valid. Undefined if neither input nor output is a valid figure. */
export function usageFrom(reported: Reported): Usage | undefined {
  const inputTokens = sumOf(reported.input);
  const outputTokens = sumOf(reported.output);
  if (inputTokens === undefined && outputTokens === undefined) return undefined;
  const cacheReadTokens = tokenFigure(reported.cacheRead);
  const cacheWriteTokens = tokenFigure(reported.cacheWrite);
  const cacheWriteLongTokens = tokenFigure(reported.cacheWriteLong) ?? 0;
  const reasoningTokens = tokenFigure(reported.reasoning);
  return {
    inputTokens: inputTokens ?? 0,
    outputTokens: outputTokens ?? 0,
    ...(cacheReadTokens === undefined ? {} : { cacheReadTokens }),
    ...(cacheWriteTokens === undefined ? {} : { cacheWriteTokens }),
    ...(cacheWriteLongTokens === 0 ? {} : { cacheWriteLongTokens }),
    ...(reasoningTokens === undefined ? {} : { reasoningTokens }),
  };
}

function sumOf(values: readonly (JsonValue | undefined)[]): number | undefined {
  const figures = values.map(tokenFigure).filter((figure) => figure !== undefined);
  return figures.length === 0 ? undefined : figures.reduce((sum, figure) => sum + figure, 0);
}
