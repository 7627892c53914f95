/**
 * Limits the summariser: calls per hour, money per day. Before a call, the highest possible cost is reserved. After it, the
 * actual cost is charged.
 */

export interface Prices {
  /** Set both prices or none, because the cost cannot be computed from only one of them. */
  readonly inputUsdPerMTok?: number;
  readonly outputUsdPerMTok?: number;
}

export interface AllowanceSettings extends Prices {
  readonly maxUsdPerDay?: number;
  readonly maxCallsPerHour: number;
}

export interface Tokens {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

export type Leave =
  | {
      readonly kind: "granted";
      /**
       * To be called once, when the model has answered or failed. If the number of used tokens is unknown, the highest possible
       * cost is charged.
       */
      readonly settle: (used: Tokens | undefined) => void;
    }
  | { readonly kind: "refused"; readonly reason: string };

export interface Allowance {
  ask(worst: Tokens): Leave;
  spentUsdToday(): number;
}

const hour = 3_600_000;
const day = 24 * hour;

/** Invariant: remembers the times of at most `maxCallsPerHour` calls. */
export function createAllowance(settings: AllowanceSettings, now: () => number): Allowance {
  let calls: readonly number[] = [];
  let today = Number.NaN;
  let spent = 0;
  const turnPage = (): void => {
    const date = Math.floor(now() / day);
    if (date !== today) spent = 0;
    today = date;
  };
  const refusal = (usd: number): string | undefined => {
    if (calls.length >= settings.maxCallsPerHour)
      return `the limit of ${settings.maxCallsPerHour} calls per hour is reached`;
    const { maxUsdPerDay } = settings;
    const isOver = maxUsdPerDay !== undefined && usd > 0 && spent + usd > maxUsdPerDay;
    return isOver ? `the limit of ${maxUsdPerDay} USD per day would be exceeded` : undefined;
  };
  return {
    ask: (worst) => {
      turnPage();
      const at = now();
      calls = calls.filter((time) => at - time < hour);
      const usd = usdOf(worst, settings);
      const reason = refusal(usd);
      if (reason !== undefined) return { kind: "refused", reason };
      calls = [...calls, at];
      spent += usd;
      const date = today;
      let isSettled = false;
      const settle = (used: Tokens | undefined): void => {
        if (isSettled || used === undefined) return;
        isSettled = true;
        turnPage();
        if (date === today) spent += usdOf(used, settings) - usd;
      };
      return { kind: "granted", settle };
    },
    spentUsdToday: () => {
      turnPage();
      return spent;
    },
  };
}

function usdOf({ inputTokens, outputTokens }: Tokens, prices: Prices): number {
  const { inputUsdPerMTok, outputUsdPerMTok } = prices;
  if (inputUsdPerMTok === undefined || outputUsdPerMTok === undefined) return 0;
  return (inputTokens * inputUsdPerMTok + outputTokens * outputUsdPerMTok) / 1_000_000;
}
