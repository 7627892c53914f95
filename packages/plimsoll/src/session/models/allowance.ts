/**
 * Limits the summariser: calls per hour, money per day. Before a call, the highest possible cost is reserved. After it, the
 * actual cost is charged.
 */

export interface AllowanceSettings {
  /** Maximum cost per day, in US dollars. Without it, only calls are limited. */
  readonly maxUsdPerDay?: number;
  readonly maxCallsPerHour: number;
}

export type Leave =
  | {
      readonly kind: "granted";
      /**
       * To be called once, with the cost in US dollars, when the model has answered or failed. If the cost is unknown, the highest
       * possible cost is charged.
       */
      readonly settle: (usd: number | undefined) => void;
    }
  | { readonly kind: "refused"; readonly reason: string };

export interface Allowance {
  /** `worstUsd` is the highest possible cost of the call. It is undefined if no price is known. */
  ask(worstUsd: number | undefined): Leave;
  spentUsdToday(): number;
}

const hour = 3_600_000;
const day = 24 * hour;

/** Invariant: remembers the times of at most `maxCallsPerHour` calls. */
export function createAllowance(settings: AllowanceSettings, now: () => number): Allowance {
  const { maxUsdPerDay, maxCallsPerHour } = settings;
  let calls: readonly number[] = [];
  let today = Number.NaN;
  let spent = 0;
  const turnPage = (): void => {
    const date = Math.floor(now() / day);
    if (date !== today) spent = 0;
    today = date;
  };
  const refusal = (usd: number | undefined): string | undefined => {
    if (calls.length >= maxCallsPerHour)
      return `the limit of ${maxCallsPerHour} calls per hour is reached`;
    if (maxUsdPerDay === undefined) return undefined;
    if (usd === undefined)
      return `no price is known for the model, so the limit of ${maxUsdPerDay} USD per day cannot be kept: set the model's prices`;
    const isOver = usd > 0 && spent + usd > maxUsdPerDay;
    return isOver ? `the limit of ${maxUsdPerDay} USD per day would be exceeded` : undefined;
  };
  return {
    ask: (worstUsd) => {
      turnPage();
      const at = now();
      calls = calls.filter((time) => at - time < hour);
      const reason = refusal(worstUsd);
      if (reason !== undefined) return { kind: "refused", reason };
      const reserved = worstUsd ?? 0;
      calls = [...calls, at];
      spent += reserved;
      const date = today;
      let isSettled = false;
      const settle = (usd: number | undefined): void => {
        if (isSettled || usd === undefined) return;
        isSettled = true;
        turnPage();
        if (date === today) spent += usd - reserved;
      };
      return { kind: "granted", settle };
    },
    spentUsdToday: () => {
      turnPage();
      return spent;
    },
  };
}
