/** Turns a tokenizer id into a counting function. Counts are exact if the vocabulary is public, and estimates otherwise. */

import { errorMessage, PlimsollError } from "../message/error.ts";
import type { MeasurementSummary } from "../message/event.ts";
import { isObject } from "../message/json.ts";
import { loadOptional } from "../message/optional-packages.ts";
import { buildVocabulary, createPieceCounter, maxPieceChars, type Pause } from "./byte-pair.ts";
import { findModel } from "./catalogue.ts";
import { chunksOf } from "./chunk.ts";

/**
 * "exact": counted with the provider's own tokenizer. "estimate": may be too high or too low. "bound": deliberately high, by a
 * tested margin.
 */
export type Certainty = MeasurementSummary["certainty"];

export interface Count {
  readonly tokens: number;
  readonly certainty: Certainty;
}

export interface Tokenizer {
  readonly id: string;
  /** The reason why Plimsoll does not use the requested tokenizer. A sentence for people. */
  readonly problem?: string;
  /** Contract: the time is proportional to the length of the text, for every text. */
  count(text: string): Count;
}

export type ReadJson = (path: string) => Promise<unknown>;

const acceptedIds =
  "tiktoken:<encoding or OpenAI model>, anthropic, claude:<model>, gemini, google:gemini<model>, " +
  "google-gemini<model>, estimate, approximate, hf:<path of a tokenizer.json>, max:<one of these>, try:<one of these>";

/** `readJson` reads the file of an `hf:` tokenizer. `pause` is called while a vocabulary is built, which takes about 15 ms. */
export async function loadTokenizer(
  id: string,
  readJson?: ReadJson,
  pause?: Pause,
): Promise<Tokenizer> {
  if (id === "approximate") return { id, count: approximate };
  if (id.startsWith(orApproximate)) return await loadOrApproximate(id, readJson, pause);
  if (id.startsWith(atLeast)) {
    const of = id.slice(atLeast.length);
    if (of.startsWith(atLeast)) throw unknown(`There is no tokenizer "${id}".`);
    const counting = await loadTokenizer(of, readJson, pause);
    return { ...counting, id, count: (text) => notBelow(counting.count(text), approximate(text)) };
  }
  if (id === "estimate") return await estimating(id, findModel("", "").tokenFactor, pause);
  if (id === "anthropic" || id.startsWith("claude:")) {
    const model = id === "anthropic" ? "claude" : id.slice("claude:".length);
    const name = model.startsWith("claude") ? model : `claude-${model}`;
    return await estimating(id, findModel("anthropic", name).tokenFactor, pause);
  }
  const gemini = /^(?:google[:-])?(gemini.*)$/.exec(id)?.[1];
  if (gemini !== undefined) {
    return await estimating(id, findModel("google", gemini).tokenFactor, pause);
  }
  if (id.startsWith("tiktoken:")) {
    return await exact(id, encodingOf(id.slice("tiktoken:".length)), pause);
  }
  if (id.startsWith("hf:")) return await huggingFace(id, readJson, pause);
  throw unknown(`There is no tokenizer "${id}".`);
}

/** The beginning of an id that counts by characters if the tokenizer cannot be loaded. */
const orApproximate = "try:";

async function loadOrApproximate(
  id: string,
  readJson: ReadJson | undefined,
  pause: Pause | undefined,
): Promise<Tokenizer> {
  try {
    return { ...(await loadTokenizer(id.slice(orApproximate.length), readJson, pause)), id };
  } catch (error) {
    const problem = `${errorMessage(error)} Until then, Plimsoll counts one token for four characters, because the configuration says "${id}".`;
    return { id, problem, count: approximate };
  }
}

/** The beginning of an id that counts each text with a tokenizer and by its characters, and takes the higher count. */
const atLeast = "max:";

function notBelow(count: Count, floor: Count): Count {
  return floor.tokens > count.tokens ? floor : count;
}

function unknown(reason: string, cause?: unknown): PlimsollError {
  return new PlimsollError("TOKENIZER_UNKNOWN", `${reason} Use one of: ${acceptedIds}.`, { cause });
}

function approximate(text: string): Count {
  return { tokens: Math.ceil(text.length / 4), certainty: "estimate" };
}

type EncodingName = "r50k_base" | "p50k_base" | "cl100k_base" | "o200k_base";

interface EncodingSource {
  /** tiktoken's pattern for the pieces of a text. */
  readonly split: string;
  /** The tokens as base64 text. */
  readonly load: () => Promise<{ readonly tokens: string }>;
}

const contraction = "'(?:[sS]|[dD]|[mM]|[tT]|[lL][lL]|[vV][eE]|[rR][eE])";
const capitals = String.raw`[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`;
const smallLetters = String.raw`[\p{Ll}\p{Lm}\p{Lo}\p{M}]`;

/** The pattern of GPT-2 and GPT-3. */
const oldSplit: string = String.raw`'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`;

const encodingSources: Readonly<Record<EncodingName, EncodingSource>> = {
  r50k_base: { split: oldSplit, load: () => import("../../data/r50k_base.js") },
  p50k_base: { split: oldSplit, load: () => import("../../data/p50k_base.js") },
  cl100k_base: {
    split: String.raw`${contraction}|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+$|\s*[\r\n]|\s+(?!\S)|\s`,
    load: () => import("../../data/cl100k_base.js"),
  },
  o200k_base: {
    split: String.raw`[^\r\n\p{L}\p{N}]?${capitals}*${smallLetters}+(?:${contraction})?|[^\r\n\p{L}\p{N}]?${capitals}+${smallLetters}*(?:${contraction})?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
    load: () => import("../../data/o200k_base.js"),
  },
};

function encodingOf(name: string): EncodingName {
  if (isEncoding(name)) return name;
  // The harmony encoding differs from o200k_base only in special tokens, and Plimsoll counts special tokens as text.
  if (name === "o200k_harmony") return "o200k_base";
  if (name === "gpt2") return "r50k_base";
  const old = oldModels.find(({ match }) => match.test(name));
  if (old !== undefined) return old.encoding;
  const facts = findModel("openai", name);
  if (facts.tokenizer === "tiktoken:cl100k_base") return "cl100k_base";
  if (facts.tokenizer === "tiktoken:o200k_base") return "o200k_base";
  throw unknown(`"${name}" is not an OpenAI encoding or model.`);
}

function isEncoding(name: string): name is EncodingName {
  return Object.hasOwn(encodingSources, name);
}

/** Models of 2020 to 2022, whose encodings tiktoken lists. They are not in the catalogue, because they are no longer served. */
const oldModels: readonly { readonly match: RegExp; readonly encoding: EncodingName }[] = [
  {
    match:
      /^(?:text-davinci-00[23]|(?:text-davinci|code-davinci)-edit-001|code-(?:davinci|cushman)-00\d|(?:davinci|cushman)-codex)$/,
    encoding: "p50k_base",
  },
  { match: /^(?:text-)?(?:davinci|curie|babbage|ada)(?:-001)?$/, encoding: "r50k_base" },
];

interface TextCount {
  readonly tokens: number;
  readonly cuts: number;
  /** Number of characters outside pieces longer than `runChars`. The rule of four characters per token applies only to these. */
  readonly plainChars: number;
}

type CountText = (text: string) => TextCount;

/** A vocabulary takes about 10 MB, so tokenizers with the same vocabulary share it. */
const loadedEncodings = new Map<EncodingName, Promise<CountText>>();

async function loadEncoding(name: EncodingName, pause: Pause | undefined): Promise<CountText> {
  const loading = loadedEncodings.get(name) ?? createEncoding(encodingSources[name], pause);
  loadedEncodings.set(name, loading);
  try {
    return await loading;
  } catch (error) {
    loadedEncodings.delete(name);
    throw error;
  }
}

/** A piece longer than this is a run of spaces, dashes or one letter, and not a word. */
const runChars = 256;

async function createEncoding(
  source: EncodingSource,
  pause: Pause | undefined,
): Promise<CountText> {
  const { tokens } = await source.load();
  const packed = Buffer.from(tokens, "base64");
  const countPiece = createPieceCounter(await buildVocabulary(packed, pause));
  const split = asRustReadsIt(source.split);

  const countChunk = (chunk: string): TextCount => {
    const pieceCount = { tokens: 0, cuts: 0, plainChars: 0 };
    for (const piece of chunk.match(split) ?? []) {
      countPiece(piece, pieceCount);
      if (piece.length <= runChars) pieceCount.plainChars += piece.length;
    }
    return pieceCount;
  };
  return (text) => countByChunks(text, countChunk);
}

/** `\s` in JavaScript includes U+FEFF and lacks U+0085. In tiktoken's patterns, `\s` is the Unicode property White_Space. */
function asRustReadsIt(split: string): RegExp {
  const source = split.replaceAll("\\s", "\\p{White_Space}");
  return new RegExp(source.replaceAll("\\S", "\\P{White_Space}"), "gu");
}

function countByChunks(text: string, countChunk: (chunk: string) => TextCount): TextCount {
  let tokens = 0;
  let cuts = 0;
  let plainChars = 0;
  let previous = { text: "", count: { tokens: 0, cuts: 0, plainChars: 0 } };
  for (const chunk of chunksOf(text, maxPieceChars)) {
    // A text with megabytes of one character has many equal chunks, which are counted only once.
    if (chunk.text !== previous.text) {
      previous = { text: chunk.text, count: countChunk(chunk.text) };
    }
    tokens += previous.count.tokens;
    cuts += previous.count.cuts + (chunk.isClean ? 0 : 1);
    plainChars += previous.count.plainChars;
  }
  return { tokens, cuts, plainChars };
}

/**
 * Safety margin in tokens for each cut inside a piece. Merging is greedy, so two halves may need fewer tokens than the whole
 * piece. In 720,000 cuts of hostile text (random tokens, letters, symbols, white space, Chinese), they needed at most 5 fewer.
 */
const tokensPerCut = 8;

function boundOrExact(count: TextCount): Count {
  if (count.cuts === 0) return { tokens: count.tokens, certainty: "exact" };
  return { tokens: count.tokens + count.cuts * tokensPerCut, certainty: "bound" };
}

async function exact(
  id: string,
  encoding: EncodingName,
  pause: Pause | undefined,
): Promise<Tokenizer> {
  const countText = await loadEncoding(encoding, pause);
  return { id, count: (text) => boundOrExact(countText(text)) };
}

/**
 * Counts for models without an offline tokenizer: the o200k count times a factor from the catalogue. Reported usage corrects the
 * count later.
 */
async function estimating(
  id: string,
  factor: number,
  pause: Pause | undefined,
): Promise<Tokenizer> {
  const countText = await loadEncoding("o200k_base", pause);
  return {
    id,
    count: (text) => {
      const count = countText(text);
      const scaled = Math.ceil(boundOrExact(count).tokens * factor);
      const floor = Math.ceil(count.plainChars / 4);
      return { tokens: Math.max(scaled, floor), certainty: "estimate" };
    },
  };
}

/** Whether the id names a `tokenizer.json`. */
export function isHuggingFace(id: string): boolean {
  return /^(?:max:|try:)*hf:/.test(id);
}

/** These tokenizers process 0.3 MB/s. A smaller chunk keeps their memory use low. */
const huggingFaceChunkChars = 16_384;

async function huggingFace(
  id: string,
  readJson: ReadJson | undefined,
  pause: Pause | undefined,
): Promise<Tokenizer> {
  if (readJson === undefined)
    throw unknown(`"${id}" is read from a file, but no function to read files was given.`);
  const loaded = await loadOptional("tokenizers", () => import("@huggingface/tokenizers"));
  if (loaded.kind === "unusable") {
    const { tokenFactor } = findModel("", "");
    return { ...(await estimating(id, tokenFactor, pause)), problem: loaded.sentence };
  }
  const countChunk = await openHuggingFace(id, readJson, loaded.module);
  return {
    id,
    count: (text) => {
      let tokens = 0;
      let chunks = 0;
      for (const chunk of chunksOf(text, huggingFaceChunkChars)) {
        tokens += countChunk(chunk.text);
        chunks += 1;
      }
      // Not all of these tokenizers split at words, so any cut may change the count.
      return boundOrExact({ tokens, cuts: chunks - 1, plainChars: 0 });
    },
  };
}

async function openHuggingFace(
  id: string,
  readJson: ReadJson,
  { Tokenizer }: typeof import("@huggingface/tokenizers"),
): Promise<(text: string) => number> {
  const path = id.slice("hf:".length);
  try {
    const json = await readJson(path);
    if (!isObject(json)) throw new Error("it contains no JSON object");
    const tokenizer = new Tokenizer(json, {});
    return (text) => tokenizer.encode(text, { add_special_tokens: false }).ids.length;
  } catch (error) {
    throw unknown(`The tokenizer at "${path}" cannot be used: ${errorMessage(error)}.`, error);
  }
}
