/** Counts content before it is added to the conversation. It never waits, and uses every tokenizer that may apply. */

import { findModel } from "../../budget/catalogue.ts";
import { countables } from "../../budget/measure.ts";
import { inProviderTokens, type TokenScale } from "../../budget/token-scale.ts";
import type { Message } from "../../message/message.ts";
import type { Target } from "./target.ts";
import type { SessionTokenCounter } from "./token-counter.ts";

export type NowCounter = Pick<SessionTokenCounter, "countNow" | "prepare">;

export interface Scales {
  /** Loads the tokenizers. Contract: until this resolves, counts may be guesses. */
  ready(): Promise<void>;
  count(text: string): number;
  weigh(message: Message): number;
}

export interface Weighing {
  /** Configured tokenizers, in addition to those of the targets. */
  readonly tokenizers: ReadonlySet<string>;
  readonly targets: readonly Target[];
  readonly scale: TokenScale;
}

/** Longer texts are counted in pieces of this many characters. Each piece adds at most one token. */
const pieceChars = 8192;
/**
 * Maximum number of characters to count. The count of all further characters is guessed, because such a long text will not fit
 * anyway.
 */
const countedCharsMax = 4 * 1024 * 1024;
const usualTokenizer = "tiktoken:o200k_base";

export function createScales(
  counter: NowCounter,
  { tokenizers, targets, scale }: Weighing,
): Scales {
  const ids = new Set([...tokenizers, ...targets.map(({ ruler }) => ruler.tokenizer)]);
  if (ids.size === 0) ids.add(usualTokenizer);
  const rules = targets.map(({ ruler }) => ruler.media);
  if (rules.length === 0) rules.push(findModel("", "").media);

  const most = (texts: readonly string[]): number =>
    Math.max(
      ...[...ids].map((id) => texts.reduce((sum, text) => sum + countWith(counter, id, text), 0)),
    );
  const corrected = (tokens: number): number => Math.ceil(inProviderTokens(tokens, scale));
  return {
    ready: async () => {
      // If a tokenizer cannot count the empty text now, it is not loaded yet.
      for (const id of ids) if (counter.countNow(id, "") === undefined) await counter.prepare(id);
    },
    count: (text) => corrected(most([text])),
    weigh: (message) => {
      const read = rules.map((rule) => countables(message, rule));
      const media = Math.max(...read.map((one) => one.media.tokens));
      const { texts = [], overheadTokens = 0 } = read[0] ?? {};
      return corrected(most(texts) + media + overheadTokens);
    },
  };
}

function countWith({ countNow }: NowCounter, id: string, text: string): number {
  const end = Math.min(text.length, countedCharsMax);
  let tokens = guess(text.slice(end));
  for (let start = 0; start < end; start += pieceChars) {
    const piece = text.slice(start, Math.min(end, start + pieceChars));
    tokens += countNow(id, piece)?.tokens ?? guess(piece);
  }
  return tokens;
}

/** Used if a tokenizer cannot count a text without waiting. The guess is more often too high than too low. */
const guessed = { charsPerToken: 3.5, bytesPerToken: 4 };

function guess(text: string): number {
  const { charsPerToken, bytesPerToken } = guessed;
  return Math.ceil(Math.max(text.length / charsPerToken, Buffer.byteLength(text) / bytesPerToken));
}
