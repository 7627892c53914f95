/** Facts about each model family: window, output limit, tokenizer, and the tokens of images and pages. */

/** How a provider turns an image into tokens. */
export type ImageRule =
  /** Anthropic shrinks the image to `maxEdge` and counts patches of 28 x 28 pixels, or width x height / 750 if that is more. */
  | { readonly kind: "patches-28"; readonly maxEdge: number; readonly maxTokens: number }
  /**
   * OpenAI shrinks the image to fit into 2048 x 2048, then shrinks its shorter side to 768, and counts tiles of 512 x 512 pixels.
   */
  | { readonly kind: "tiles-512"; readonly base: number; readonly perTile: number }
  /** Small and newer models of OpenAI: the number of patches of 32 x 32 pixels, up to `maxPatches`, times a factor. */
  | { readonly kind: "patches-32"; readonly maxPatches: number; readonly factor: number }
  /** Gemini up to 2.5: one tile for up to 384 x 384 pixels, otherwise tiles of 768 pixels. */
  | { readonly kind: "tiles-768"; readonly perTile: number }
  /** Gemini 3: a fixed number of tokens at the default resolution. */
  | { readonly kind: "fixed"; readonly tokens: number };

export interface MediaRule {
  readonly image: ImageRule;
  /** Tokens of one PDF page, for its text and an image of it. */
  readonly pageTokens: number;
}

export interface ModelFacts {
  readonly provider: string;
  readonly contextWindow: number;
  readonly maxOutputTokens: number;
  /** An id for `loadTokenizer`. Models with the same tokenizer have the same id, so that they share counts. */
  readonly tokenizer: string;
  /** Tokens of this model per o200k token. An estimate, which reported usage corrects (see `calibrate.ts`). */
  readonly tokenFactor: number;
  readonly media: MediaRule;
  /** Tokens of the prompt that the provider puts before a list of tools. */
  readonly toolPromptTokens?: number;
  /** False if the model is not in the catalogue. The facts are then defaults. */
  readonly known: boolean;
  readonly source: string;
  /** When the source was last checked. */
  readonly date: string;
}

interface Family extends Omit<ModelFacts, "known"> {
  /** Matches the bare model name in lower case, with "-" in place of ".". The first family that matches is used. */
  readonly match: RegExp;
}

const defaultContextWindow = 131_072;
const readOn = "2026-11";
const million = 1_000_000;

const claudeClassicImage: ImageRule = { kind: "patches-28", maxEdge: 1568, maxTokens: 1600 };
const claudeLargeImage: ImageRule = { kind: "patches-28", maxEdge: 2576, maxTokens: 4784 };
/** Measured on five PDFs with text and tables (huggingface.co/datasets/JOHNISKING/pdf-token-cost): 2,098 to 2,481 per page. */
const claudePageTokens = 2_500;

/** In the same data set, one o200k token corresponds to 1.09 to 1.15 tokens of Claude 4.5, or 1.45 to 1.58 of Claude 5.5. */
const claudeClassic = {
  provider: "anthropic",
  tokenizer: "claude:claude-3",
  tokenFactor: 1.15,
  media: { image: claudeClassicImage, pageTokens: claudePageTokens },
  // Anthropic's docs, "Tool use pricing": 346 tokens if the request does not force the model to call a tool.
  toolPromptTokens: 346,
  date: readOn,
} as const;
/** The tokenizer that came with Opus 4.7. It gives about 30 % more tokens than the tokenizer before it (docs: token counting). */
const claudeDense = {
  ...claudeClassic,
  tokenizer: "claude:claude-opus-4-7",
  tokenFactor: 1.55,
  media: { image: claudeLargeImage, pageTokens: claudePageTokens },
} as const;

const claudeDocs = "platform.claude.com/docs/en/models";
const claudeFamilies: readonly Family[] = [
  {
    ...claudeDense,
    match: /^claude-(?:fable|mythos|opus-4-[789](?!\d)|opus-[5-9]|sonnet-[5-9])/,
    contextWindow: million,
    maxOutputTokens: 128_000,
    source: claudeDocs,
  },
  {
    ...claudeClassic,
    match: /^claude-(?:opus|sonnet)-4-6(?!\d)/,
    contextWindow: million,
    maxOutputTokens: 128_000,
    source: claudeDocs,
  },
  {
    ...claudeClassic,
    match: /^claude-(?:(?:opus|haiku|sonnet)-4-5(?!\d)|sonnet-4|3-7-sonnet)/,
    contextWindow: 200_000,
    maxOutputTokens: 64_000,
    source: `${claudeDocs}; a larger window of Sonnet 4 and 4.5 needs a beta header`,
  },
  {
    ...claudeClassic,
    match: /^claude-opus-4/,
    contextWindow: 200_000,
    maxOutputTokens: 32_000,
    source: claudeDocs,
  },
  {
    ...claudeClassic,
    match: /^claude-3-5/,
    contextWindow: 200_000,
    maxOutputTokens: 8_192,
    source: claudeDocs,
  },
  {
    ...claudeClassic,
    match: /^claude-(?:3|2-1)/,
    contextWindow: 200_000,
    maxOutputTokens: 4_096,
    source: claudeDocs,
  },
  {
    ...claudeDense,
    match: /^claude/,
    contextWindow: 200_000,
    maxOutputTokens: 32_000,
    source: "uncertain: a Claude model that is not listed; the smallest current window is assumed",
  },
];

const openaiTable = "model table of gpt-tokenizer 4.0.0";
const openaiPageTokens = 1_500;
const tiles = (base: number, perTile: number): MediaRule => ({
  image: { kind: "tiles-512", base, perTile },
  pageTokens: openaiPageTokens,
});
const patches = (factor: number, maxPatches: number): MediaRule => ({
  image: { kind: "patches-32", maxPatches, factor },
  pageTokens: openaiPageTokens,
});

interface OpenaiRow {
  readonly match: RegExp;
  readonly window: number;
  readonly output: number;
  readonly media: MediaRule;
  readonly encoding?: "cl100k_base";
  /** Source of the window. Default: the model table. */
  readonly source?: string;
  readonly remark?: string;
}

const openaiDocs = "developers.openai.com/api/docs/models/gpt-6-astra";

const openaiRows: readonly OpenaiRow[] = [
  {
    match: /^gpt-6/,
    window: 1_050_000,
    output: 128_000,
    media: patches(1.2, 2500),
    source: openaiDocs,
    remark:
      "uncertain: the image rule, and that 6.1 has the window of 6; Codex gives these models 272,000 where it is signed in with ChatGPT",
  },
  {
    match: /^(?:gpt-)?daybreak-red/,
    window: 372_000,
    output: 128_000,
    media: patches(1.2, 1536),
    source: "uncertain: the model table of Codex 0.154",
  },
  {
    match: /^(?:gpt-)?daybreak/,
    window: 1_050_000,
    output: 128_000,
    media: patches(1.2, 2500),
    source: "developers.openai.com/api/docs/pricing: another name of gpt-5.6-sol",
    remark: "uncertain: the image rule",
  },
  { match: /^gpt-5(?:-\d)?-chat/, window: 128_000, output: 16_384, media: tiles(70, 140) },
  {
    match: /^gpt-5(?:-\d)?(?:-codex)?-mini/,
    window: 400_000,
    output: 128_000,
    media: patches(1.62, 1536),
  },
  { match: /^gpt-5(?:-\d)?-nano/, window: 400_000, output: 128_000, media: patches(2.46, 1536) },
  { match: /^gpt-5-pro/, window: 400_000, output: 272_000, media: tiles(70, 140) },
  {
    match: /^gpt-5-(?:[23](?!\d)|\d-cyber)/,
    window: 400_000,
    output: 128_000,
    media: patches(1.2, 1536),
    remark: "uncertain: the image rule",
  },
  {
    match: /^gpt-5-(?:[4-9]|1\d)(?!\d)/,
    window: 1_050_000,
    output: 128_000,
    media: patches(1.2, 2500),
    remark: "uncertain: the image rule",
  },
  { match: /^gpt-5/, window: 400_000, output: 128_000, media: tiles(70, 140) },
  { match: /^gpt-4-1-mini/, window: 1_047_576, output: 32_768, media: patches(1.62, 1536) },
  { match: /^gpt-4-1-nano/, window: 1_047_576, output: 32_768, media: patches(2.46, 1536) },
  { match: /^gpt-4-1(?!\d)/, window: 1_047_576, output: 32_768, media: tiles(85, 170) },
  { match: /^gpt-4o-mini/, window: 128_000, output: 16_384, media: tiles(2833, 5667) },
  {
    match: /^(?:gpt-4o|chatgpt-4o|gpt-4-5)/,
    window: 128_000,
    output: 16_384,
    media: tiles(85, 170),
  },
  { match: /^(?:o4|codex)-mini/, window: 200_000, output: 100_000, media: patches(1.72, 1536) },
  { match: /^o1-(?:mini|preview)/, window: 128_000, output: 32_768, media: tiles(75, 150) },
  { match: /^o[134](?:-|$)/, window: 200_000, output: 100_000, media: tiles(75, 150) },
  { match: /^gpt-oss/, window: 131_072, output: 131_072, media: tiles(85, 170) },
  {
    match: /^gpt-4-(?:turbo|vision|1106|0125)/,
    window: 128_000,
    output: 4_096,
    media: tiles(85, 170),
    encoding: "cl100k_base",
  },
  {
    match: /^gpt-4-32k/,
    window: 32_768,
    output: 8_192,
    media: tiles(85, 170),
    encoding: "cl100k_base",
  },
  {
    match: /^gpt-4(?:-0|$)/,
    window: 8_192,
    output: 8_192,
    media: tiles(85, 170),
    encoding: "cl100k_base",
  },
  {
    match: /^gpt-3-5-turbo-instruct/,
    window: 4_096,
    output: 4_096,
    media: tiles(85, 170),
    encoding: "cl100k_base",
  },
  {
    match: /^gpt-3-5/,
    window: 16_385,
    output: 4_096,
    media: tiles(85, 170),
    encoding: "cl100k_base",
  },
];

const openaiFamilies: readonly Family[] = openaiRows.map((row) => ({
  match: row.match,
  provider: "openai",
  contextWindow: row.window,
  maxOutputTokens: row.output,
  tokenizer: `tiktoken:${row.encoding ?? "o200k_base"}`,
  tokenFactor: 1,
  media: row.media,
  source: [row.source ?? openaiTable, ...(row.remark === undefined ? [] : [row.remark])].join("; "),
  date: readOn,
}));

/** In the data set above, one o200k token corresponds to 0.99 (prose) to 1.24 (a table) tokens of Gemini. */
const gemini = {
  provider: "google",
  tokenizer: "gemini",
  tokenFactor: 1.15,
  date: readOn,
} as const;
const geminiTileMedia: MediaRule = { image: { kind: "tiles-768", perTile: 258 }, pageTokens: 258 };
const geminiFixedMedia: MediaRule = { image: { kind: "fixed", tokens: 1_120 }, pageTokens: 560 };
const geminiDocs = "ai.google.dev/gemini-api/docs";
const geminiFamilies: readonly Family[] = [
  {
    ...gemini,
    match: /^gemini-3.*-image/,
    contextWindow: 65_536,
    maxOutputTokens: 32_768,
    media: geminiFixedMedia,
    source: "uncertain: litellm-rs 0.8.2",
  },
  {
    ...gemini,
    match: /^gemini-[3-9]/,
    contextWindow: 1_048_576,
    maxOutputTokens: 65_536,
    media: geminiFixedMedia,
    source: geminiDocs,
  },
  {
    ...gemini,
    match: /^gemini-2-5/,
    contextWindow: 1_048_576,
    maxOutputTokens: 65_536,
    media: geminiTileMedia,
    source: geminiDocs,
  },
  {
    ...gemini,
    match: /^gemini-1-5-pro/,
    contextWindow: 2_097_152,
    maxOutputTokens: 8_192,
    media: geminiTileMedia,
    source: geminiDocs,
  },
  {
    ...gemini,
    match: /^gemini-1-0|^gemini-pro/,
    contextWindow: 32_760,
    maxOutputTokens: 8_192,
    media: geminiTileMedia,
    source: geminiDocs,
  },
  {
    ...gemini,
    match: /^gemini/,
    contextWindow: 1_048_576,
    maxOutputTokens: 8_192,
    media: geminiTileMedia,
    source: `${geminiDocs}; Gemini 1.5 Flash and 2.0`,
  },
];

interface OpenRow {
  readonly match: RegExp;
  readonly provider: string;
  readonly window: number;
  readonly output?: number;
}

/**
 * The windows that the models were trained with. A server may offer a smaller window, which only the settings of the server show.
 */
const openRows: readonly OpenRow[] = [
  { match: /^(?:meta-)?llama-?3-[123]/, provider: "meta", window: 131_072 },
  { match: /^(?:meta-)?llama-?3/, provider: "meta", window: 8_192 },
  { match: /^qwen-?3-coder/, provider: "qwen", window: 262_144 },
  { match: /^qwen-?2-5/, provider: "qwen", window: 32_768 },
  {
    match: /^deepseek-(?:chat|reasoner|v3|r1)/,
    provider: "deepseek",
    window: 128_000,
    output: 8_192,
  },
  { match: /^mistral-(?:large|medium|small)/, provider: "mistral", window: 131_072 },
];

const unlisted = {
  tokenizer: "estimate",
  tokenFactor: 1.2,
  media: tiles(85, 170),
  date: readOn,
} as const;

const openFamilies: readonly Family[] = openRows.map((row) => ({
  ...unlisted,
  match: row.match,
  provider: row.provider,
  contextWindow: row.window,
  maxOutputTokens: row.output ?? Math.floor(row.window / 4),
  source: "model card; a server may offer less",
}));

const families: readonly Family[] = [
  ...claudeFamilies,
  ...openaiFamilies,
  ...geminiFamilies,
  ...openFamilies,
];

/**
 * Looks a model up by its name alone, because the name is the same at every reseller. The provider is only a label for unknown
 * models.
 */
export function findModel(provider: string, model: string): ModelFacts {
  const name = bareName(model);
  const family = families.find((candidate) => candidate.match.test(name));
  if (family === undefined) {
    return {
      ...unlisted,
      provider,
      contextWindow: defaultContextWindow,
      maxOutputTokens: Math.floor(defaultContextWindow / 4),
      known: false,
      source: "default for unknown models",
    };
  }
  const { match: _, ...facts } = family;
  // If a model has two windows, Claude Code and other clients add `[1m]` to its name to ask for the longer window.
  const hasLongWindow = facts.provider === "anthropic" && model.toLowerCase().includes("[1m]");
  return { ...facts, known: true, ...(hasLongWindow ? { contextWindow: million } : {}) };
}

/** The model name without prefixes: `us.anthropic.claude-…`, `anthropic/claude-…` and `models/gemini-…` name the same models. */
export function bareName(model: string): string {
  const name = model.toLowerCase().split("/").at(-1) ?? "";
  return name
    .replace(/^(?:[a-z-]+\.)*(?:anthropic|meta|mistral|deepseek)\./, "")
    .replaceAll(".", "-");
}
