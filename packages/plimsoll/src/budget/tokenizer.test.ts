import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { get_encoding } from "tiktoken";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { effort, tries } from "../../test/harness/effort.ts";
import { PlimsollError } from "../message/error.ts";
import { loadTokenizer, type Tokenizer } from "./tokenizer.ts";

const names = ["o200k_base", "cl100k_base", "p50k_base", "r50k_base"] as const;
const oracles = Object.fromEntries(names.map((name) => [name, get_encoding(name)]));
const truth = (name: string, text: string): number =>
  oracles[name]?.encode_ordinary(text).length ?? Number.NaN;
afterAll(() => {
  for (const name of names) oracles[name]?.free();
});

const vocabularies = {
  o200k_base: {
    ours: () => import("../../data/o200k_base.js"),
    theirs: () => import("gpt-tokenizer/bpeRanks/o200k_base"),
  },
  cl100k_base: {
    ours: () => import("../../data/cl100k_base.js"),
    theirs: () => import("gpt-tokenizer/bpeRanks/cl100k_base"),
  },
  p50k_base: {
    ours: () => import("../../data/p50k_base.js"),
    theirs: () => import("gpt-tokenizer/bpeRanks/p50k_base"),
  },
  r50k_base: {
    ours: () => import("../../data/r50k_base.js"),
    theirs: () => import("gpt-tokenizer/bpeRanks/r50k_base"),
  },
};

const samples: Readonly<Record<string, string>> = {
  empty: "",
  prose: "Plimsoll's line is painted on a ship's hull; it shows how deep she may lie. ".repeat(50),
  code: readFileSync(new URL("./tokenizer.ts", import.meta.url), "utf8"),
  json: JSON.stringify(
    Array.from({ length: 200 }, (_, index) => ({
      id: index * 7919,
      name: `row ${index}`,
      ok: true,
    })),
    null,
    2,
  ),
  unicode:
    "Größe, naïve, Ελλάδα, Привет, こんにちは世界, 안녕하세요, مرحبا, 👩‍👩‍👧‍👦🏳️‍🌈 e\u0301 \u{1d4b3} ".repeat(
      20,
    ),
  "special tokens": "<|endoftext|><|im_start|>system<|im_end|><|fim_prefix|><|endofprompt|>",
  "odd white space": "\ufeffusing System;\u0085next\u00a0line\u2028end \u200b\t\r\n\r\n  \n x",
  "a byte order mark before a comment": "\ufeff// comment",
  "a byte order mark in a line": "x \ufeffa\u0085 b",
  "lone surrogates": "a\ud83d b\ude00 c",
  numbers: "1 12 123 1234 12345.678 0x1f ١٢٣ ½",
};

describe.each(names)("%s", (name) => {
  let tokenizer: Tokenizer;
  beforeAll(async () => {
    tokenizer = await loadTokenizer(`tiktoken:${name}`);
  });

  it("has the tokens of gpt-tokenizer, in the same order", async () => {
    const { ours, theirs } = vocabularies[name];
    const [{ tokens }, { default: ranks }] = await Promise.all([ours(), theirs()]);
    const packed = Object.values(ranks).map((token) => {
      const bytes = typeof token === "string" ? Buffer.from(token) : Buffer.from(token);
      return Buffer.concat([Buffer.of(bytes.length), bytes]);
    });
    expect(Buffer.from(tokens, "base64").equals(Buffer.concat(packed))).toBe(true);
  });

  it.each(Object.keys(samples))("counts as tiktoken does: %s", (sample) => {
    const text = samples[sample] ?? "";
    expect(tokenizer.count(text)).toEqual({ tokens: truth(name, text), certainty: "exact" });
  });

  it("counts any text as tiktoken does", () => {
    const anyText = fc.string({ unit: "binary", maxLength: 300 });
    const words = fc
      .array(
        fc.constantFrom(
          "foo",
          "BAR",
          "Baz",
          "'s",
          "'LL",
          " ",
          "\n",
          "  ",
          "123",
          "!?",
          "_",
          "中",
          "é",
        ),
      )
      .map((parts) => parts.join(""));
    fc.assert(
      fc.property(fc.oneof(anyText, words), (text) => {
        expect(tokenizer.count(text)).toEqual({ tokens: truth(name, text), certainty: "exact" });
      }),
      tries({ runs: 300, seed: 20261116 }),
    );
  });

  it("counts a text of many chunks as tiktoken does", () => {
    const text = `${samples["prose"]}${samples["code"]}${samples["unicode"]}`.repeat(20);
    expect(text.length).toBeGreaterThan(3 * 65_536);
    expect(tokenizer.count(text)).toEqual({ tokens: truth(name, text), certainty: "exact" });
  });

  it("counts runs of up to 4,096 bytes exactly", () => {
    for (const character of ["a", " ", "-", "\n", "é", "中", "😀"]) {
      const text = `x ${character.repeat(Math.floor(4095 / Buffer.byteLength(character)))} y`;
      expect(tokenizer.count(text)).toEqual({ tokens: truth(name, text), certainty: "exact" });
    }
  });

  it("never counts a long run below the truth", () => {
    const unit = fc.constantFrom(
      "a",
      "b",
      "th",
      "ing",
      "A",
      "中",
      "国",
      "-",
      "=",
      "*/",
      "!",
      " ",
      "\t",
      "\n",
      "😀",
      "\u0301",
    );
    const run = fc
      .tuple(
        fc.array(unit, { minLength: 1, maxLength: 5 }),
        fc.integer({ min: 5_000, max: 20_000 }),
      )
      .map(([parts, length]) => {
        const period = parts.join("");
        return period.repeat(Math.ceil(length / period.length));
      });
    fc.assert(
      fc.property(run, (text) => {
        const count = tokenizer.count(text);
        const tokens = truth(name, text);
        expect(count.tokens).toBeGreaterThanOrEqual(tokens);
        expect(count.tokens).toBeLessThanOrEqual(Math.ceil(1.5 * tokens) + 8);
        if (count.certainty === "exact") expect(count.tokens).toBe(tokens);
      }),
      tries({ runs: 25, seed: 20261116 }),
    );
  }, 60_000);
});

it("a cut that saves tokens does not make a bound lower than the truth", async () => {
  // If these words are cut after 4,096 bytes, in the middle, the halves need four tokens fewer than the whole.
  const words = "langsuselaautsainneyskbagbogboveyorinklesshellrificeungendeal";
  const text = `${"ab".repeat(2_033)}${words}`;
  const { tokens, certainty } = (await loadTokenizer("tiktoken:o200k_base")).count(text);
  expect(certainty).toBe("bound");
  expect(tokens).toBeGreaterThanOrEqual(truth("o200k_base", text));
});

const random = (alphabet: readonly string[], length: number): string =>
  Array.from(randomBytes(length * 2), (byte, index) => byte * 256 + index)
    .slice(0, length)
    .map((number) => alphabet[(number * 2_654_435_761) % alphabet.length])
    .join("");
const range = (first: number, last: number): readonly string[] =>
  Array.from({ length: last - first }, (_, index) => String.fromCodePoint(first + index));

/** Each function makes about this many bytes of UTF-8. */
const hostile: Readonly<Record<string, (bytes: number) => string>> = {
  "one letter": (bytes) => "a".repeat(bytes),
  spaces: (bytes) => " ".repeat(bytes),
  newlines: (bytes) => "\n".repeat(bytes),
  dashes: (bytes) => "-".repeat(bytes),
  "one emoji": (bytes) => "😀".repeat(bytes / 4),
  "random emoji": (bytes) => random(range(0x1f300, 0x1f640), bytes / 4),
  "one Chinese character": (bytes) => "中".repeat(bytes / 3),
  "random Chinese": (bytes) => random(range(0x4e00, 0x9fa5), bytes / 3),
  base64: (bytes) => randomBytes((bytes * 3) / 4).toString("base64"),
};

const MEGABYTES = effort(2, 10);

describe(`${MEGABYTES} megabytes`, () => {
  it.each(Object.keys(hostile))(
    "of %s are counted within half of the truth, and before the test runs out of time",
    async (kind) => {
      const make = hostile[kind] ?? String;
      const tokenizer = await loadTokenizer("tiktoken:o200k_base");
      const small = make(20_000);
      const expected = truth("o200k_base", small) * 50 * MEGABYTES;
      const text = make(1_000_000 * MEGABYTES);
      const ratio = tokenizer.count(text).tokens / expected;
      expect(ratio).toBeGreaterThan(0.98);
      expect(ratio).toBeLessThan(1.5);
    },
    60_000,
  );
});

describe("estimates", () => {
  it.each([
    "anthropic",
    "claude:claude-3-5-sonnet",
    "claude:opus-4-7",
    "gemini",
    "google:gemini-2.5-pro",
    "google-gemini-3",
    "estimate",
  ])("%s is never below o200k nor below a quarter of the characters", async (id) => {
    const tokenizer = await loadTokenizer(id);
    const text = samples["prose"] ?? "";
    const { tokens, certainty } = tokenizer.count(text);
    expect(tokenizer.id).toBe(id);
    expect(certainty).toBe("estimate");
    expect(tokens).toBeGreaterThan(truth("o200k_base", text));
    expect(tokens).toBeGreaterThanOrEqual(text.length / 4);
  });

  it("the newer tokenizer of Claude makes more tokens than the older one", async () => {
    const text = samples["prose"] ?? "";
    const older = (await loadTokenizer("claude:claude-sonnet-4-5")).count(text).tokens;
    const newer = (await loadTokenizer("claude:claude-opus-4-7")).count(text).tokens;
    expect(newer / older).toBeGreaterThan(1.25);
    expect(newer / older).toBeLessThan(1.5);
  });

  it("a quarter of the characters is not charged for megabytes of spaces", async () => {
    const { tokens } = (await loadTokenizer("anthropic")).count(" ".repeat(1_000_000));
    expect(tokens).toBeLessThan(25_000);
  });

  it("a quarter of the characters holds for text that o200k packs tighter", async () => {
    const text = " responsibilities".repeat(1000);
    const { tokens } = (await loadTokenizer("gemini")).count(text);
    expect(tokens).toBe(Math.ceil(text.length / 4));
  });

  it("approximate is a quarter of the characters, rounded up", async () => {
    const tokenizer = await loadTokenizer("approximate");
    expect(tokenizer.count("12345")).toEqual({ tokens: 2, certainty: "estimate" });
  });
});

describe("Uses Math.max(tokenizerResult, characterApproximation) to get the higher of both estimates", () => {
  it.each([
    ["max:tiktoken:o200k_base", " ".repeat(4000), 1000],
    ["max:tiktoken:o200k_base", "中".repeat(100), truth("o200k_base", "中".repeat(100))],
    ["max:approximate", "12345", 2],
  ])("%s", async (id, text, tokens) => {
    const tokenizer = await loadTokenizer(id);
    expect(tokenizer.id).toBe(id);
    expect(tokenizer.count(text).tokens).toBe(tokens);
  });

  it("but an exact count stays as it is without `max:`", async () => {
    const tokenizer = await loadTokenizer("tiktoken:o200k_base");
    expect(tokenizer.count(" ".repeat(4000)).tokens).toBeLessThan(100);
  });
});

describe("tiktoken by model", () => {
  it.each([
    ["text-davinci-003", "p50k_base"],
    ["code-davinci-002", "p50k_base"],
    ["davinci", "r50k_base"],
    ["gpt2", "r50k_base"],
  ] as const)("tiktoken:<model> - OpenAI-compatible models: %s uses %s", async (model, name) => {
    const text = "def f(x):\n        return x  # 12345 Größe";
    const tokenizer = await loadTokenizer(`tiktoken:${model}`);
    expect(tokenizer.count(text)).toEqual({ tokens: truth(name, text), certainty: "exact" });
    expect(truth("p50k_base", text)).not.toBe(truth("r50k_base", text));
  });

  it.each([
    ["gpt-4", "cl100k_base"],
    ["gpt-3.5-turbo-0125", "cl100k_base"],
    ["gpt-4o-mini", "o200k_base"],
    ["gpt-5.4", "o200k_base"],
    ["o3", "o200k_base"],
    ["o200k_harmony", "o200k_base"],
  ])("%s is counted with %s", async (model, encoding) => {
    const tokenizer = await loadTokenizer(`tiktoken:${model}`);
    const text = "naïve Größe こんにちは 👩‍👩‍👧‍👦 indentation";
    expect(tokenizer.count(text).tokens).toBe(truth(encoding, text));
  });
});

/** The 256 byte tokens of GPT-2, in which every byte has a printable character, and some merges. */
function tinyTokenizer(): unknown {
  const printable = [...range(33, 127), ...range(161, 173), ...range(174, 256)];
  const rest = Array.from({ length: 256 - printable.length }, (_, index) =>
    String.fromCodePoint(256 + index),
  );
  const merges = ["a a", "aa aa", "h e", "l l", "ll o", "he llo"];
  const tokens = [...printable, ...rest, ...merges.map((merge) => merge.replace(" ", ""))];
  return {
    version: "1.0",
    added_tokens: [],
    normalizer: null,
    pre_tokenizer: {
      type: "ByteLevel",
      add_prefix_space: false,
      trim_offsets: true,
      use_regex: true,
    },
    post_processor: null,
    decoder: { type: "ByteLevel" },
    model: {
      type: "BPE",
      vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
      merges,
    },
  };
}

describe("a tokenizer.json of the user", () => {
  const read = async (path: string): Promise<unknown> =>
    path === "/tiny.json" ? tinyTokenizer() : undefined;

  it("is counted with exactly", async () => {
    const tokenizer = await loadTokenizer("hf:/tiny.json", read);
    expect(tokenizer.count("hello aaaaa")).toEqual({ tokens: 4, certainty: "exact" });
  });

  it("bounds what is longer than a chunk", async () => {
    const tokenizer = await loadTokenizer("hf:/tiny.json", read);
    const { tokens, certainty } = tokenizer.count("a".repeat(40_000));
    expect(certainty).toBe("bound");
    expect(tokens).toBeGreaterThanOrEqual(10_000);
    expect(tokens).toBeLessThan(10_100);
  });

  it.each([
    ["without a way to read files", "hf:/tiny.json", undefined],
    ["that does not exist", "hf:/none.json", read],
    ["that is no tokenizer", "hf:/x.json", async () => ({ model: { type: "Nonsense" } })],
  ])("%s is refused", async (_, id, readJson) => {
    await expect(loadTokenizer(id, readJson)).rejects.toMatchObject({ code: "TOKENIZER_UNKNOWN" });
  });

  it.each(["try:hf:/none.json", "max:try:hf:/none.json"])(
    "Fallback to char-based estimate (text.length / 4) on error, with %s",
    async (id) => {
      const tokenizer = await loadTokenizer(id, read);
      expect(tokenizer.count("a".repeat(41))).toEqual({ tokens: 11, certainty: "estimate" });
      expect(tokenizer.problem).toContain('The tokenizer at "/none.json" cannot be used');
      expect(tokenizer.problem).toContain("one token for four characters");
    },
  );

  it("is counted with exactly also with try:, and there is nothing to say", async () => {
    const tokenizer = await loadTokenizer("try:hf:/tiny.json", read);
    expect(tokenizer.count("hello aaaaa")).toEqual({ tokens: 4, certainty: "exact" });
    expect(tokenizer.problem).toBeUndefined();
  });
});

it.each([
  "",
  "max:",
  "max:max:approximate",
  "nonsense",
  "tiktoken:nonsense",
  "tiktoken:claude-3",
  "Claude:x",
])("an unknown tokenizer is refused, and the accepted ones are named: %j", async (id) => {
  const error: unknown = await loadTokenizer(id).catch((reason: unknown) => reason);
  expect(PlimsollError.is(error) && error.code).toBe("TOKENIZER_UNKNOWN");
  for (const accepted of ["tiktoken:", "anthropic", "gemini", "approximate", "hf:"]) {
    expect(String(error)).toContain(accepted);
  }
});
