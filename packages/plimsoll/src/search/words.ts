/** Turns text into terms for searching. */

/** Words that say nothing about the topic of a text. They would match almost every text. */
const stopWords = new Set(
  (
    "a about after again all also am an and any are as at be because been before being but by can could did do does " +
    "doing don down during each few for from further get got had has have having he her here hers him his how i if in " +
    "into is it its just let like me more most my no nor not now of off on once only or other our out over own please " +
    "s same she should so some such t than that the their them then there these they this those to too under until up " +
    "us very was we were what when where which while who whom why will with would yeah you your"
  ).split(" "),
);

/** Words that a search may ask for, but that are too common in conversations to distinguish one turn from another. */
const fillers = new Set(
  (
    "always another anything back done even every find first going good great know last look looks made make many maybe " +
    "mean much need next really something still sure take thank thanks thing things think through time today used using " +
    "want well"
  ).split(" "),
);

/**
 * Scripts that are written without spaces, or whose words change their endings. Text in these scripts is searched by pairs of
 * characters.
 */
const unspaced =
  "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}";
const unspacedRun = new RegExp(`[${unspaced}]+`, "gu");
const hasUnspaced = new RegExp(`[${unspaced}]`, "u");

/** Letters and numbers, together with the characters that join them in identifiers, versions, paths and dates. */
const compound = /[\p{L}\p{N}\p{M}]+(?:[_$.\-/:@]+[\p{L}\p{N}\p{M}]+)*/gu;
const asciiCompound = /[A-Za-z0-9]+(?:[_$.\-/:@]+[A-Za-z0-9]+)*/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the ASCII range begins with control characters.
const isAscii = /^[\u0000-\u007f]*$/;
/** A single word that needs no splitting. Most words are of this kind. */
const isPlain = /^[A-Za-z]?[a-z]*$/;
/**
 * `outerJoint` matches the characters between the names in a path or an address. `innerJoint` matches those between the words in
 * a name.
 */
const outerJoint = /[./:@]+/u;
const innerJoint = /[_$-]+/u;
/** Where a capital begins a new part: fooBar, FOOBar, foo1Bar. Digits stay with the letters before them. */
const humps = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u;
/**
 * Maximum number of characters of a term. Longer terms are data such as base64 or hashes, which nobody searches for from memory.
 */
const maxTermChars = 64;

/**
 * The terms of a text in order, repeated as often as they occur. They are stemmed words without stop words, the parts of
 * identifiers, and each identifier and path as a whole.
 */
export function termsOf(text: string): string[] {
  const terms: string[] = [];
  for (const run of runsOf(text)) {
    if (isPlain.test(run)) addWord(run.toLowerCase(), terms);
    else addCompound(run, terms);
  }
  return terms;
}

/** The words as written, in lower case and without stop words, so that they can be looked up in a dictionary. */
export function plainWords(text: string): string[] {
  const words: string[] = [];
  for (const run of runsOf(text)) {
    if (isPlain.test(run)) words.push(run);
    else for (const name of run.split(outerJoint)) words.push(...partsOf(name));
  }
  return words.map((word) => word.toLowerCase()).filter((word) => !stopWords.has(word));
}

const longWord = /\p{L}{4,}/gu;

/**
 * Words with fewer characters than this are not stemmed. If they were, an excerpt would keep fewer of the facts that are asked
 * for later (LoCoMo, at half of the tokens: 66.7 % instead of 71.0 %).
 */
const leastStemmed = 7;

/** The distinct words that distinguish one turn of a conversation from another. Long words are stemmed. */
export function tellingWords(text: string): readonly string[] {
  const words = new Set<string>();
  for (const [match] of text.matchAll(longWord)) {
    const word = match.toLowerCase();
    if (!stopWords.has(word) && !fillers.has(word))
      words.add(word.length < leastStemmed ? word : stem(word));
  }
  return [...words];
}

function runsOf(text: string): readonly string[] {
  // Most text is ASCII, and the ASCII pattern takes a third of the time.
  if (isAscii.test(text)) return text.match(asciiCompound) ?? [];
  return text.normalize("NFKC").match(compound) ?? [];
}

function partsOf(name: string): string[] {
  return name.split(innerJoint).flatMap((part) => part.split(humps));
}

function addCompound(run: string, terms: string[]): void {
  const names = run.split(outerJoint);
  if (names.length > 1) addWhole(run, terms);
  for (const name of names) {
    const parts = partsOf(name);
    if (parts.length > 1) addWhole(name, terms);
    for (const part of parts) {
      if (hasUnspaced.test(part)) addPairs(part, terms);
      else addWord(part.toLowerCase(), terms);
    }
  }
}

function addWhole(name: string, terms: string[]): void {
  if (name.length <= maxTermChars) terms.push(name.toLowerCase());
}

function addWord(word: string, terms: string[]): void {
  if (word === "" || word.length > maxTermChars || stopWords.has(word)) return;
  terms.push(stem(word));
}

function addPairs(run: string, terms: string[]): void {
  for (const [part] of run.matchAll(unspacedRun)) {
    const characters = [...part];
    if (characters.length === 1) terms.push(part);
    for (let i = 1; i < characters.length; i++) terms.push(`${characters[i - 1]}${characters[i]}`);
  }
  for (const word of run.split(unspacedRun)) addWord(word.toLowerCase(), terms);
}

/**
 * Removes the most common English endings, so that walks, walked and walking all match. Queries and texts are stemmed alike, so
 * it does not matter if the result is not a word.
 */
export function stem(word: string): string {
  if (word.length <= 3 || !/^[a-z]+$/.test(word)) return word;
  return withoutLastE(withoutEnding(word));
}

function withoutEnding(word: string): string {
  if (word.endsWith("ies") && word.length > 4) return `${word.slice(0, -3)}y`;
  if (/(?:ss|x|z|ch|sh)es$/.test(word)) return word.slice(0, -2);
  if (/[^isu]s$/.test(word)) return word.slice(0, -1);
  const ending = /(?:ing|ed|ly)$/.exec(word)?.[0];
  if (ending === undefined) return word;
  const rest = word.slice(0, -ending.length);
  if (rest.length < 3 || !/[aeiouy]/.test(rest)) return word;
  // In "stopped" and "running" the ending doubled the letter. In "filling", "passing" and "buzzing" the letter was double before.
  return ending !== "ly" && /([^aeiouylsz])\1$/.test(rest) ? rest.slice(0, -1) : rest;
}

function withoutLastE(word: string): string {
  return word.length > 3 && word.endsWith("e") ? word.slice(0, -1) : word;
}
