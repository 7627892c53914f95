/** Counting at once what is not in the conversation yet, by every tokenizer that may be asked to read it. */

import { findModel } from "../../budget/catalogue.ts";
import { countables } from "../../budget/measure.ts";
import type { Message } from "../../message/message.ts";
import type { Target } from "./target.ts";
import type { SessionTokenCounter } from "./token-counter.ts";

export type NowCounter = Pick<SessionTokenCounter, "countNow" | "prepare">;

export interface Scales {
  /** Contract: until then counts may be guesses. */
  ready(): Promise<void>;
  count(text: string): number;
  weigh(message: Message): number;
}

export interface Weighing {
  /** That are configured, beside those of the targets. */
  readonly tokenizers: ReadonlySet<string>;
  readonly targets: readonly Target[];
  /** What the provider makes of our tokens. */
  readonly factor: number;
}

/** Longer texts are counted in pieces: a token more at most for each. */
const pieceChars = 8192;
/** Of what is longer, the rest is guessed: nobody waits for the count of a file that will not go in. */
const countedCharsMax = 4 * 1024 * 1024;
const usualTokenizer = "tiktoken:o200k_base";

export function createScales(
  counter: NowCounter,
  { tokenizers, targets, factor }: Weighing,
): Scales {
  const ids = new Set([...tokenizers, ...targets.map(({ ruler }) => ruler.tokenizer)]);
  if (ids.size === 0) ids.add(usualTokenizer);
  const rules = targets.map(({ ruler }) => ruler.media);
  if (rules.length === 0) rules.push(findModel("", "").media);

  const most = (texts: readonly string[]): number =>
    Math.max(
      ...[...ids].map((id) => texts.reduce((sum, text) => sum + countWith(counter, id, text), 0)),
    );
  const corrected = (tokens: number): number => Math.ceil(tokens * factor);
  return {
    ready: async () => {
      // A tokenizer that is loaded answers for the empty text, too.
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

/** Rather too much: for tokenizers too slow to be asked at once. */
const guessed = { charsPerToken: 3.5, bytesPerToken: 4 };

function guess(text: string): number {
  const { charsPerToken, bytesPerToken } = guessed;
  return Math.ceil(Math.max(text.length / charsPerToken, Buffer.byteLength(text) / bytesPerToken));
}
