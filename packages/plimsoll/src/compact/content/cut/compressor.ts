/** The input and output of a compressor, which makes a text of one kind shorter. */

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
  /**
   * Maximum ratio of the tokens after the cut to the tokens before it (0 < ratio ≤ 1). If the compressor cannot reach this ratio,
   * the result may be longer.
   */
  readonly ratio: number;
  /** Counts the tokens of a text. Contract: synchronous, cheap, and in time proportional to the length of the text. */
  readonly count: (text: string) => number;
  /** How much a line matters to the other parts of the conversation (0 = not at all). Lines that matter are kept first. */
  readonly weigh?: (line: string) => number;
  /** Name of the file that the text was read from, if known. */
  readonly path?: string;
}

/** The sample of a text that detection reads. Its size is bounded, however long the text is. */
export interface Sample {
  /** The beginning of the text, without leading white space. */
  readonly head: string;
  /** The end of the text, without trailing white space. */
  readonly tail: string;
  /** Whole lines from the beginning and the middle. Long lines are cut, and blank lines are left out. */
  readonly lines: readonly string[];
  /** The file extension in lower case, without the dot. */
  readonly ending?: string;
}

/**
 * Compresses a text inside another text, according to the kind of the inner text. Undefined if the inner text does not get
 * shorter.
 */
export type CompressInner = (text: string, options: CutOptions) => string | undefined;

export type Attempt =
  /** The text may still be longer than requested. */
  | { readonly kind: "cut"; readonly text: string }
  /** The text is not of this kind after all. The caller may cut it by lines instead. */
  | { readonly kind: "mistaken" }
  /** The text is of this kind, but removing lines would break it, so it must stay whole. */
  | { readonly kind: "whole" };

export interface Compressor {
  readonly kind: ContentKind;
  /** A guess that only affects compression. Contract: never throws. */
  detects(sample: Sample): boolean;
  compress(text: string, options: CutOptions, inner: CompressInner): Attempt;
}

export const mistaken: Attempt = { kind: "mistaken" };
export const whole: Attempt = { kind: "whole" };

export function attempt(text: string | undefined): Attempt {
  return text === undefined ? mistaken : { kind: "cut", text };
}
