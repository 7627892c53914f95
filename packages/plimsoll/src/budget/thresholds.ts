/** From which shares of the limit on something is done. Pure. */

export interface GuardThresholds {
  /** From here on the model is told, and a compaction is prepared. */
  readonly warn: number;
  readonly compact: number;
  /** From here on a compaction is forced, whatever it costs. */
  readonly block: number;
}

/** What holds where the configuration says nothing, and what screens show until they have read it. */
export const usualThresholds: GuardThresholds = { warn: 0.8, compact: 0.95, block: 0.98 };
