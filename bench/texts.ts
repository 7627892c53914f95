/** Texts that look like those of agents, never the same twice, and the same in every run. */

const words =
  `the a of to and in is it for on with as that this file line error value test path name type return const
  function import from export class string number index result request response server client message token
  session branch store write read open close commit because before after should could never always first last
  configuration implementation tokenizer measurement directory undefined expected received`.split(
    /\s+/,
  );

export interface TextSource {
  /** About so many characters: words, numbers and line breaks. */
  text(characters: number): string;
}

export function createTexts(seed: number): TextSource {
  let state = seed;
  /** Mulberry32. */
  const random = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const word = (): string => {
    if (random() < 0.08) return String(Math.floor(random() * 100_000));
    return words[Math.floor(random() * words.length)] ?? "";
  };
  return {
    text: (characters) => {
      let text = "";
      while (text.length < characters) text += word() + (random() < 0.1 ? "\n" : " ");
      return text;
    },
  };
}
