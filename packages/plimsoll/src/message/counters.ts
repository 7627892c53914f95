/** The token counters that the guard works with. They only grow until a turn is committed. */

export interface Counters {
  /** Tokens of the conversation at the last commit. Includes tool schemas once the provider has reported usage. */
  readonly current: number;
  /** Tokens that the turn started with and that are not committed yet. */
  readonly pending: number;
  /** Tokens added during the turn: tool results and answers. */
  readonly new: number;
  /** Tokens of the tool schemas. */
  readonly schema: number;
  /** For display only. Reasoning is part of the longest answer, so it is never added to a projection. */
  readonly reasoning: number;
  /** Cost of money-saving compactions that has not been earned back yet, in US dollars. */
  readonly debtUsd?: number;
  /** How the provider's token count compares with Plimsoll's, for the target of the last request. */
  readonly calibration?: {
    readonly target: string;
    readonly factor: number;
    readonly samples: number;
    /** The factor for each part of a request. Absent in data stored by older versions. */
    readonly factors?: {
      readonly system: number;
      readonly tools: number;
      readonly conversation: number;
    };
    /** The highest factor seen so far for text added to a conversation. */
    readonly steepest?: number;
  };
}
