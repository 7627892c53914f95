/** The share of a text that is kept, for each type of text. */

export interface CompressRatios {
  readonly code?: number | undefined;
  readonly text?: number | undefined;
  readonly plan_ref?: number | undefined;
  readonly log?: number | undefined;
  readonly other?: number | undefined;
}

export interface ContentTypeChunkingSettings {
  readonly compress_ratios?: CompressRatios | undefined;
  /** Messages with fewer tokens stay as they are. */
  readonly least_tokens?: number | undefined;
  /** Share of the units, counted from the newest, that stay as they are. */
  readonly recent_share?: number | undefined;
}

export const defaultRatios = { code: 0.7, text: 0.5, plan_ref: 1, log: 0.4, other: 0.6 };
