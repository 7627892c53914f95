/** What the guard counts with. They only grow until a turn is committed. */

export interface Counters {
  /** The conversation as it was last committed, with its tool schemas once usage was reported. */
  readonly current: number;
  /** What a turn starts with and has not committed. */
  readonly pending: number;
  /** What came during the turn: tool results, answers. */
  readonly new: number;
  /** Tool schemas. */
  readonly schema: number;
  /** For display: reasoning lies inside the longest answer and is never added to a projection. */
  readonly reasoning: number;
  /** What compactions for money's sake have cost and not yet saved, in US dollars. */
  readonly debtUsd?: number;
  /** How the provider's count compares with ours, for the target that was asked last. */
  readonly calibration?: {
    readonly target: string;
    readonly factor: number;
    readonly samples: number;
    /** The same for each part of a request; absent in what older versions stored. */
    readonly factors?: {
      readonly system: number;
      readonly tools: number;
      readonly conversation: number;
    };
    /** The highest factor that was seen of words added to a conversation. */
    readonly steepest?: number;
  };
}
