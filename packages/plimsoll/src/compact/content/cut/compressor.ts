/** What a compressor is given, and what it answers. */

export type ContentKind =
  | "json"
  | "log"
  | "code"
  | "diff"
  | "search"
  | "trace"
  | "html"
  | "test"
  | "base64"
  | "table"
  | "prose";

export interface CutOptions {
  /** Tokens after / tokens before, at most, if the compressor can: 0 < ratio ≤ 1. */
  readonly ratio: number;
  /** Tokens of a text. Contract: synchronous, cheap, and in proportion to the length of the text. */
  readonly count: (text: string) => number;
  /** How much a line matters to the rest of the conversation (0 = nothing). Lines that matter are kept first. */
  readonly weigh?: (line: string) => number;
  /** Name of the file it was read from, if known. */
  readonly path?: string;
}

/** What detection looks at: bounded, however long the text is. */
export interface Sample {
  /** Without white space at its beginning. */
  readonly head: string;
  /** Without white space at its end. */
  readonly tail: string;
  /** Whole lines from the beginning and the middle, each cut to some length, without the blank ones. */
  readonly lines: readonly string[];
  /** The ending of the path, in lower case, without the dot. */
  readonly ending?: string;
}

/** Compresses a text inside another one by its own kind; undefined when that does not help. */
export type CompressInner = (text: string, options: CutOptions) => string | undefined;

export type Attempt =
  /** May still be longer than wished. */
  | { readonly kind: "cut"; readonly text: string }
  /** It is not what it looked like: lines may be chosen instead. */
  | { readonly kind: "mistaken" }
  /** It is, and cutting lines out of it would break it. */
  | { readonly kind: "whole" };

export interface Compressor {
  readonly kind: ContentKind;
  /** A guess that only steers. Contract: never throws. */
  detects(sample: Sample): boolean;
  compress(text: string, options: CutOptions, inner: CompressInner): Attempt;
}

export const mistaken: Attempt = { kind: "mistaken" };
export const whole: Attempt = { kind: "whole" };

export function attempt(text: string | undefined): Attempt {
  return text === undefined ? mistaken : { kind: "cut", text };
}
