/** The shares of the limit at which Plimsoll acts. Pure. */

export interface GuardThresholds {
  /**
   * From this share on, Plimsoll warns the model, prepares a summary, and may compact to save costs (`cost.compact_from`).
   * Agents with a limit of their own are compacted from here on, and screens show the warning colour.
   */
  readonly warn: number;
  readonly compact: number;
  /** From this share on, a compaction is forced, whatever it costs. */
  readonly block: number;
}

/** The defaults if the configuration sets none. Screens also show them until they have read the configuration. */
export const usualThresholds: GuardThresholds = { warn: 0.8, compact: 0.95, block: 0.98 };

/** From this share on, some of a request's tools are deferred, unless the configuration sets another share. */
export const usualToolShare: number = 0.1;
