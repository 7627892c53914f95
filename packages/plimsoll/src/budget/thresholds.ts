/** The shares of the limit at which Plimsoll acts. Pure. */

export interface GuardThresholds {
  /** From this share on, the model is warned and a compaction is prepared. */
  readonly warn: number;
  readonly compact: number;
  /** From this share on, a compaction is forced, whatever it costs. */
  readonly block: number;
}

/** The defaults if the configuration sets none. Screens also show them until they have read the configuration. */
export const usualThresholds: GuardThresholds = { warn: 0.8, compact: 0.95, block: 0.98 };
