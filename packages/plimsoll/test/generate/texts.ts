/** Texts for generated conversations, with the characters that break things, and JSON as different clients write it. */
import fc from "fast-check";
import type { Json, JsonObject } from "../harness/json.ts";

const WORDS =
  `hull mark depth cargo harbour crew anchor deck chart reads writes fails src/load.ts 4711 the of to in`.split(
    " ",
  );

/** What hides at the edges of Unicode, of JSON, and of our own notices. */
const EDGES = [
  "",
  "\u0000",
  "\ud800",
  "x\udfff",
  "\u{1f600}\u{1f469}\u200d\u{1f467}",
  "\u05e9\u05dc\u05d5\u05dd \u202e\u0645\u0631\u062d\u0628\u0627",
  "e\u0301\u2028\ufeff",
  'C:\\u0041 "quoted" \\',
  "</system>[]{},:",
  "pl_0123456789ABCDEFGHIJKL",
  "[Plimsoll: 2 earlier messages (about 9 tokens) were taken out here. They are kept under pl_aaaaaaaaaaaaaaaaaaaaaa.]",
  "cache_control",
];

/** About so many characters, always the same for the same seed. */
export function wordsOf(seed: number, characters: number): string {
  let text = `w${seed}`;
  for (let at = seed; text.length < characters; at = at * 31 + 7)
    text += ` ${WORDS[Math.abs(at % 1_000_003) % WORDS.length]}`;
  return text;
}

/** Never blank: at least one word of it can be seen. */
export function textOf(charactersMax: number): fc.Arbitrary<string> {
  return fc
    .record({
      seed: fc.nat(9999),
      characters: fc.nat(charactersMax),
      edge: fc.constantFrom(...EDGES),
      isEdgeFirst: fc.boolean(),
    })
    .map(({ seed, characters, edge, isEdgeFirst }) => {
      const words = wordsOf(seed, characters);
      return isEdgeFirst ? edge + words : words + edge;
    });
}

/** How a client writes JSON: its bytes must come back, whatever they look like. */
export interface Style {
  readonly isSpaced: boolean;
  /** All that is not ASCII as \u, and every slash with a backslash. */
  readonly isEscaped: boolean;
  /** The conversation stands before the other fields of the body. */
  readonly isConversationFirst: boolean;
}

export const style: fc.Arbitrary<Style> = fc.record({
  isSpaced: fc.boolean(),
  isEscaped: fc.boolean(),
  isConversationFirst: fc.boolean(),
});

/** A number that no JavaScript number can hold stands wherever this key does. */
const LONG_NUMBER_KEY = "serial";
const LONG_NUMBER = "12345678901234567890.10e1";

export function write(value: Json | undefined, { isSpaced, isEscaped }: Style): string {
  const [comma, colon] = isSpaced ? [" ,\n ", " : "] : [",", ":"];
  const text = (json: Json | undefined): string => {
    if (Array.isArray(json)) return `[${json.map(text).join(comma)}]`;
    if (typeof json !== "object" || json === null) return scalar(json ?? null, isEscaped);
    const fields = Object.entries(json as JsonObject).filter(([, field]) => field !== undefined);
    const written = fields.map(
      ([key, field]) =>
        `${scalar(key, false)}${colon}${key === LONG_NUMBER_KEY ? LONG_NUMBER : text(field)}`,
    );
    return `{${written.join(comma)}}`;
  };
  return text(value);
}

function scalar(value: Json, isEscaped: boolean): string {
  const json = JSON.stringify(value);
  if (!isEscaped || typeof value !== "string") return json;
  return json.replaceAll("/", "\\/").replaceAll(/[\u007f-\uffff]/g, (character) => {
    const code = character.charCodeAt(0).toString(16).padStart(4, "0");
    return `\\u${code}`;
  });
}

/** A square PNG, as far as anybody looks; the number makes it another one. */
export function imageData(seed: number, pixels = 56): string {
  const bytes = Buffer.alloc(30);
  Buffer.from("89504e470d0a1a0a0000000d49484452", "hex").copy(bytes);
  bytes.writeUInt32BE(pixels, 16);
  bytes.writeUInt32BE(pixels, 20);
  bytes.writeUInt32BE(seed, 26);
  return bytes.toString("base64");
}
