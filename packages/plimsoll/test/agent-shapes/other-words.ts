/** Puts other words of the same length in place of every word of a text, so that nothing of its prose is left. */
import { type Dice, pick } from "../../demo/dice.ts";

const WORDS = `a i
at by in it of on or to up we no so
and the for are not but you can all has one its may new see two use set run
ship hull line load mark rope deck crew tide read file test with that this from when each must only word list
water cargo chart depth safer first after write there where about which other until while value
anchor harbor sailor vessel before during little number letter answer reader enough summer winter
captain weather between because another example numbers reading without written morning station
together passages distance thinking anything possible question children standard handling mountain
landmarks important difference something beginning otherwise reference necessary carefully seventeen
everything understand throughout percentage experience generation completely absolutely definition
information immediately independent interesting alternative description temperature corporation
particularly relationship organization construction introduction conversation intelligence`
  .split(/\s+/)
  .filter((word) => word !== "");

type Words = readonly [string, ...string[]];

const LONGEST = 12;
const byLength = new Map<number, Words>(
  Array.from({ length: LONGEST }, (_, index) => {
    const found = WORDS.filter((word) => word.length === index + 1);
    return [index + 1, (found.length === 0 ? ["x".repeat(index + 1)] : found) as unknown as Words];
  }),
);

/** These say what a text is, and the product may look for them. */
const KEPT_TAGS = /(<\/?(?:system-reminder|info-msg|environment_context)>)/;
const LETTERS = /\p{L}+/gu;

export function inOtherWords(random: Dice, text: string): string {
  return text
    .split(KEPT_TAGS)
    .map((piece) =>
      KEPT_TAGS.test(piece) ? piece : piece.replace(LETTERS, (word) => otherWord(random, word)),
    )
    .join("");
}

function otherWord(random: Dice, word: string): string {
  const { length } = word;
  if (length > LONGEST) {
    const [front, back] = [word.slice(0, LONGEST), word.slice(LONGEST)];
    return otherWord(random, front) + otherWord(random, back);
  }
  const found = pick(random, byLength.get(length) ?? ["x"]);
  if (length > 1 && word === word.toUpperCase()) return found.toUpperCase();
  const isCapital = word.charAt(0) !== word.charAt(0).toLowerCase();
  return isCapital ? found.charAt(0).toUpperCase() + found.slice(1) : found;
}
