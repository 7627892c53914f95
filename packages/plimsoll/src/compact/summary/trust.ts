/** Checks how far a source supports a summary, and whose words the summary repeats. */

import { type MentionKind, mentionsIn } from "../../search/mentions.ts";
import { termsOf } from "../../search/words.ts";
import { plain } from "../evidence/safe-text.ts";
import { echoesIn, type Speech, sentencesOf } from "../evidence/speech.ts";

export interface SourceReading {
  /** Share of the text's words that the source contains. 1 if the text has no words. */
  supportOf(text: string): number;
  /**
   * The text without the sentences that users and agents said word for word. Only whole sentences count, because a part can mean
   * the opposite: "touch the tests" is in "never touch the tests".
   */
  restOf(text: string): string;
  /** The text without the whole sentences that users and operators said word for word. */
  restOfUser(text: string): string;
  /** True if anybody said exactly this, tools included. */
  hasVerbatim(text: string): boolean;
  /** Paths, ids and numbers that the source does not contain. */
  inventedIn(text: string): readonly string[];
}

/** Numbers of several digits. Single digits are not checked, because a summary may count things itself. */
const figure = /\d+(?:\.\d+)+|\d{2,}/g;

interface Words {
  readonly terms: ReadonlySet<string>;
  readonly atoms: ReadonlySet<string>;
  readonly figures: ReadonlySet<string>;
}

function wordsIn(source: readonly Speech[]): Words {
  const terms = new Set<string>();
  const atoms = new Set<string>();
  const figures = new Set<string>();
  for (const { text } of source) {
    const spelled = withoutGrouping(text);
    for (const term of termsOf(spelled)) terms.add(term);
    for (const atom of mentionsIn(spelled).keys()) atoms.add(atom.toLowerCase());
    for (const [found] of spelled.matchAll(figure)) figures.add(found);
  }
  return { terms, atoms, figures };
}

/** Contract: takes time linear in the length of the source, and a little more for each sentence that the summary repeats. */
export function readSource(source: readonly Speech[], summary: string): SourceReading {
  const { terms, atoms, figures } = wordsIn(source);
  const whole = source.map(({ text }) => plain(withoutGrouping(text))).join("\n");
  const repeated = plain(summary);
  const isEcho = echoesIn(source);
  const plainSentences = (speech: readonly Speech[]): readonly string[] =>
    distinctLongestFirst(
      speech
        .filter(({ speaker, call }) => speaker !== "tool" && call === undefined)
        .flatMap((one) => sentencesOf(one).filter((sentence) => !isEcho(one, sentence)))
        .map(withoutEnd)
        .filter((sentence) => sentence !== "" && repeated.includes(sentence)),
    );
  const ofAll = plainSentences(source);
  const ofUsers = plainSentences(
    source.filter(({ speaker }) => speaker === "user" || speaker === "system"),
  );
  return {
    supportOf: (text) => shareIn(terms, text),
    restOf: (text) => without(text, ofAll),
    restOfUser: (text) => without(text, ofUsers),
    hasVerbatim: (text) => whole.includes(plain(text)),
    inventedIn: (text) => {
      const spelled = withoutGrouping(text);
      const names = [...mentionsIn(spelled)]
        .filter(([atom, kind]) => mustBeKnown(atom, kind))
        .map(([atom]) => atom)
        .filter((atom) => !atoms.has(atom.toLowerCase()) && !whole.includes(plain(atom)));
      const numbers = spelled.match(figure) ?? [];
      return [...new Set([...names, ...numbers.filter((found) => !figures.has(found))])];
    },
  };
}

function withoutEnd(sentence: string): string {
  return plain(sentence).replace(/^\[[ x✓]\] |[.!?:;,。！？]+$/g, "");
}

function distinctLongestFirst(sentences: readonly string[]): readonly string[] {
  return [...new Set(sentences)].toSorted((one, other) => other.length - one.length);
}

function without(text: string, sentences: readonly string[]): string {
  return sentences.reduce((rest, sentence) => rest.replaceAll(sentence, "\n"), plain(text)).trim();
}

function withoutGrouping(text: string): string {
  return text.replace(/(?<=\d),(?=\d{3}(?!\d))/g, "");
}

/** False for product names and for words in capitals. These look like identifiers and ids, but a summary may introduce them. */
function mustBeKnown(atom: string, kind: MentionKind): boolean {
  if (kind === "name") return /[_\d]/.test(atom);
  return kind !== "id" || /\d/.test(atom);
}

function shareIn(known: ReadonlySet<string>, text: string): number {
  const terms = [...new Set(termsOf(withoutGrouping(text)))];
  return terms.length === 0 ? 1 : terms.filter((term) => known.has(term)).length / terms.length;
}
