/** Prices and cache rules by model family, each with its source. The first row that matches wins, so general rows come last. */

export interface PriceRow {
  /** Tested against the model name without its provider, in lower case, with "-" in place of ".". */
  readonly match: RegExp;
  readonly list: PriceList;
}

const readOn = "2026-11";

/**
 * The rule from Anthropic's docs. Cache entries live for five minutes or an hour after each read. A request may have four marks,
 * and from each mark the provider looks back over 20 blocks.
 */
function marks(minTokens: number): CacheRule {
  return {
    kind: "marks",
    minTokens,
    ttlSeconds: 300,
    longTtlSeconds: 3_600,
    maxMarks: 4,
    lookbackBlocks: 20,
  };
}

const claudePrices = "platform.claude.com/docs/en/about-claude/pricing";
/**
 * Sources disagree about some minimum lengths. Plimsoll uses the largest value, because the provider does not cache a prefix that
 * is too short, and reports no error.
 */
const claudeLargest = "minimum length: sources say 512 to 4096, the largest is taken";

interface ClaudeRow {
  readonly match: RegExp;
  /** Prices of input, cache reads, cache writes for five minutes, cache writes for an hour, and output. */
  readonly usd?: readonly [number, number, number, number, number];
  readonly minTokens: number;
  readonly source?: string;
  readonly priceStep?: number;
}

const claudeRows: readonly ClaudeRow[] = [
  {
    match: /^claude-(?:fable|mythos)-5-1(?!\d)/,
    usd: [10, 0.25, 12.5, 20, 50],
    minTokens: 2_048,
    source: `${claudePrices}; minimum length of Fable 5: 512 or 2048`,
  },
  {
    match: /^claude-(?:fable|mythos)-5(?!-\d(?!\d))/,
    usd: [10, 1, 12.5, 20, 50],
    minTokens: 2_048,
    source: `${claudePrices}; minimum length: 512 or 2048`,
  },
  {
    match: /^claude-opus-5-5(?!\d)/,
    usd: [4, 0.2, 5, 8, 20],
    minTokens: 4_096,
    source: `platform.claude.com/docs/zh-CN/models/opus-5-5/overview; ${claudeLargest}`,
  },
  {
    match: /^claude-sonnet-5-5(?!\d)/,
    usd: [2, 0.2, 2.5, 4, 10],
    minTokens: 4_096,
    source: `platform.claude.com/docs/zh-CN/models/sonnet-5-5/overview; ${claudeLargest}`,
  },
  {
    match: /^claude-haiku-5-5(?!\d)/,
    usd: [0.1, 0.01, 0.125, 0.2, 0.5],
    minTokens: 4_096,
    source: `platform.claude.com/docs/zh-CN/models/haiku-5-5/overview, cache read docs.rs/synaps/0.10.2; five times as much above 100,000 tokens; ${claudeLargest}`,
    priceStep: 100_000,
  },
  {
    match: /^claude-opus-5(?!-\d(?!\d))/,
    usd: [5, 0.5, 6.25, 10, 25],
    minTokens: 512,
    source: `${claudePrices}; minimum length: Wei-Shaw/model-price-repo`,
  },
  {
    match: /^claude-sonnet-5(?!-\d(?!\d))/,
    usd: [2, 0.2, 2.5, 4, 10],
    minTokens: 1_024,
    source: `${claudePrices}; minimum length: Wei-Shaw/model-price-repo`,
  },
  {
    match: /^claude-opus-4-[5-9](?!\d)/,
    usd: [5, 0.5, 6.25, 10, 25],
    minTokens: 4_096,
    source: `${claudePrices}; minimum length of 4.7 and 4.8: 1024 to 4096`,
  },
  {
    match: /^claude-(?:opus-4|3-opus)/,
    usd: [15, 1.5, 18.75, 30, 75],
    minTokens: 1_024,
  },
  {
    match: /^claude-sonnet-4-6(?!\d)/,
    usd: [3, 0.3, 3.75, 6, 15],
    minTokens: 2_048,
    source: `${claudePrices}; minimum length: 1024 in the docs, 2048 in anthropic-sdk-python#1194`,
  },
  {
    match: /^claude-(?:sonnet-4|3-7-sonnet)/,
    usd: [3, 0.3, 3.75, 6, 15],
    minTokens: 1_024,
    source: `${claudePrices}; more for requests above 200,000 tokens`,
    priceStep: 200_000,
  },
  { match: /^claude-haiku-4-5(?!\d)/, usd: [1, 0.1, 1.25, 2, 5], minTokens: 4_096 },
  { match: /^claude-3-5-haiku/, usd: [0.8, 0.08, 1, 1.6, 4], minTokens: 2_048 },
  { match: /^claude-3-haiku/, usd: [0.25, 0.03, 0.3, 0.5, 1.25], minTokens: 2_048 },
  {
    match: /^claude-3-5-sonnet/,
    usd: [3, 0.3, 3.75, 6, 15],
    minTokens: 1_024,
    source: "docs.rs/synaps/0.10.2 (other Sonnets); docs.truefoundry.com/gateway",
  },
  { match: /^claude/, minTokens: 4_096, source: `no price found; ${claudeLargest}` },
];

const ofClaude: readonly PriceRow[] = claudeRows.map((row) => ({
  match: row.match,
  list: {
    ...(row.usd === undefined ? {} : { prices: claudeUsd(row.usd) }),
    cache: marks(row.minTokens),
    source: row.source ?? claudePrices,
    date: readOn,
    ...(row.priceStep === undefined ? {} : { priceStep: row.priceStep }),
  },
}));

function claudeUsd(usd: NonNullable<ClaudeRow["usd"]>): Prices {
  const [input, cacheRead, cacheWrite, cacheWriteLong, output] = usd;
  return { input, output, cacheRead, cacheWrite, cacheWriteLong };
}

/** Figures of one model family whose provider caches automatically. */
interface AutomaticRow {
  readonly match: RegExp;
  /** Prices of input, cache reads, output and, if they have their own price, cache writes. */
  readonly usd?: readonly [number, number, number, number?];
  readonly minTokens?: number;
  readonly source: string;
  readonly priceStep?: number;
}

interface AutomaticFigures {
  readonly minTokens: number;
  readonly stepTokens: number;
  readonly ttlSeconds: number;
  readonly hasWritePrice: boolean;
}

function automatic(figures: AutomaticFigures, rows: readonly AutomaticRow[]): readonly PriceRow[] {
  return rows.map(({ match, usd, minTokens = figures.minTokens, source, priceStep }) => ({
    match,
    list: {
      ...(usd === undefined ? {} : { prices: automaticUsd(usd) }),
      cache: { kind: "automatic", ...figures, minTokens },
      source,
      date: readOn,
      ...(priceStep === undefined ? {} : { priceStep }),
    },
  }));
}

function automaticUsd(usd: NonNullable<AutomaticRow["usd"]>): Prices {
  const [input, cacheRead, output, cacheWrite = input] = usd;
  return { input, output, cacheRead, cacheWrite };
}

const priceTable = "Wei-Shaw/model-price-repo, model_prices_and_context_window.json";
const longContext = "more for requests above 272,000 tokens";
const announcement = "writes 1.25 and reads 0.1 times the input (OpenAI on GPT-5.6, 2026-06)";

/**
 * From GPT-5.6 on, a cache write costs 1.25 times the input price, and an entry lives for half an hour (OpenAI's announcement).
 */
const ofNewOpenai = automatic(
  { minTokens: 1_024, stepTokens: 128, ttlSeconds: 1_800, hasWritePrice: true },
  [
    {
      match: /^gpt-6-sol/,
      usd: [2, 0.2, 10, 2.5],
      source: `github.com/merefield/codexometer v0.18.4; ${longContext}`,
      priceStep: 272_000,
    },
    {
      match: /^gpt-6-luna/,
      usd: [0.1, 0.01, 0.5, 0.125],
      source: `github.com/merefield/codexometer v0.18.4; ${longContext}`,
      priceStep: 272_000,
    },
    { match: /^gpt-5-6-cyber/, usd: [12.5, 1.25, 75, 15.625], source: priceTable },
    {
      match: /^gpt-5-6-luna/,
      usd: [0.2, 0.02, 1.2, 0.25],
      source: `${priceTable}; ${longContext}`,
      priceStep: 272_000,
    },
    {
      match: /^gpt-5-6-terra/,
      usd: [2, 0.2, 12, 2.5],
      source: `${priceTable}; ${longContext}`,
      priceStep: 272_000,
    },
    {
      match: /^gpt-5-6(?:-sol)?(?!\d)/,
      usd: [4, 0.4, 20, 5],
      source: `BerriAI/litellm discussion 42523; ${announcement}; ${longContext}`,
      priceStep: 272_000,
    },
    { match: /^gpt-(?:5-(?:[7-9]|\d\d)|[6-9])(?!\d)/, source: "no price found" },
  ],
);

/** The lifetime is assumed to be short, because no source was checked. Writes are billed as input. */
const ofOpenai = automatic(
  { minTokens: 1_024, stepTokens: 128, ttlSeconds: 300, hasWritePrice: false },
  [
    { match: /^(?:gpt-5(?:-\d)?|o[13])-pro/, source: "no price of cached input found" },
    { match: /^(?:o\d(?:-mini)?-deep|gpt-4o-2024-05-13)/, source: "no price found" },
    { match: /^gpt-5-4-mini/, usd: [0.75, 0.075, 4.5], source: priceTable },
    { match: /^gpt-5-4-nano/, usd: [0.2, 0.02, 1.25], source: priceTable },
    {
      match: /^gpt-5-4(?!\d)/,
      usd: [2.5, 0.25, 15],
      source: `${priceTable}; ${longContext}`,
      priceStep: 272_000,
    },
    {
      match: /^gpt-5-5(?!\d)/,
      usd: [5, 0.5, 30],
      source: `${priceTable}; ${longContext}`,
      priceStep: 272_000,
    },
    { match: /^gpt-5-[23](?!\d)/, usd: [1.75, 0.175, 14], source: priceTable },
    { match: /^gpt-5(?:-1)?(?:-codex)?-mini/, usd: [0.25, 0.025, 2], source: priceTable },
    { match: /^gpt-5-nano/, usd: [0.05, 0.005, 0.4], source: priceTable },
    { match: /^gpt-5/, usd: [1.25, 0.125, 10], source: priceTable },
    { match: /^gpt-4-1-mini/, usd: [0.4, 0.1, 1.6], source: priceTable },
    { match: /^gpt-4-1-nano/, usd: [0.1, 0.025, 0.4], source: priceTable },
    { match: /^gpt-4-1(?!\d)/, usd: [2, 0.5, 8], source: priceTable },
    { match: /^gpt-4o-mini(?!-\D)/, usd: [0.15, 0.075, 0.6], source: priceTable },
    { match: /^gpt-4o(?!-\D)/, usd: [2.5, 1.25, 10], source: priceTable },
    { match: /^o3-mini/, usd: [1.1, 0.55, 4.4], source: priceTable },
    { match: /^o4-mini/, usd: [1.1, 0.275, 4.4], source: priceTable },
    { match: /^o3(?!\w)/, usd: [2, 0.5, 8], source: priceTable },
    { match: /^o1(?!-(?:mini|preview))(?!\w)/, usd: [15, 7.5, 60], source: priceTable },
    // Open-weight and older models get no rule here, because the servers that run them have their own prices and caches.
    { match: /^gpt(?!-oss|-3|-4(?:-|$))/, source: "no price found" },
  ],
);

const geminiPrices = "ai.google.dev/gemini-api/docs/pricing";
const geminiTiers = "more for requests above 200,000 tokens";

/**
 * Google's docs only say "a short amount of time" (ai.google.dev, caching). The lifetime is assumed to be five minutes, as with
 * other providers.
 */
const ofGemini = automatic(
  { minTokens: 4_096, stepTokens: 128, ttlSeconds: 300, hasWritePrice: false },
  [
    {
      match: /^gemini-2-5-pro(?!-\D*tts)/,
      usd: [1.25, 0.125, 10],
      source: `${priceTable}; ${geminiTiers}; minimum length: 2048 or 4096`,
      priceStep: 200_000,
    },
    {
      match: /^gemini-2-5-flash-lite/,
      usd: [0.1, 0.01, 0.4],
      minTokens: 2_048,
      source: priceTable,
    },
    {
      match: /^gemini-2-5-flash(?!-(?:image|native))/,
      usd: [0.3, 0.03, 2.5],
      minTokens: 2_048,
      source: `${priceTable}; minimum length: 1024 or 2048`,
    },
    {
      match: /^gemini-3(?:-1)?-pro(?!-image)/,
      usd: [2, 0.2, 12],
      source: `${priceTable}, ${geminiPrices}; ${geminiTiers}`,
      priceStep: 200_000,
    },
    {
      match: /^gemini-3-1-flash-lite(?!-image)/,
      usd: [0.25, 0.025, 1.5],
      source: priceTable,
    },
    {
      match: /^gemini-3-flash/,
      usd: [0.5, 0.05, 3],
      source: `${priceTable}; minimum length: 1024 or 4096`,
    },
    {
      match: /^gemini-3-5-flash(?!-\D)/,
      usd: [1.5, 0.15, 9],
      source: "docs.apiyi.com/en/models/gemini-3-5-flash",
    },
    { match: /^gemini-(?:2-5|[3-9])/, source: "no price of cached input found" },
  ],
);

const deepseekPrices = "api-docs.deepseek.com/quick_start/pricing; twice as much in peak hours";

/** Step size and lifetime are cautious assumptions, because no source was checked. */
const ofDeepseek = automatic(
  { minTokens: 64, stepTokens: 64, ttlSeconds: 3_600, hasWritePrice: false },
  [
    {
      match: /^deepseek-(?:v4(?:-1)?-)?flash/,
      usd: [0.15, 0.003, 0.6],
      source: deepseekPrices,
    },
    { match: /^deepseek-v4-pro/, usd: [0.66, 0.022, 1.98], source: deepseekPrices },
    { match: /^deepseek/, source: "no price found" },
  ],
);

export const priceRows: readonly PriceRow[] = [
  ...ofClaude,
  ...ofNewOpenai,
  ...ofOpenai,
  ...ofGemini,
  ...ofDeepseek,
];

export type CacheRule =
  /** Anthropic's rule. The provider caches only up to the marks in the request. */
  | {
      readonly kind: "marks";
      readonly minTokens: number;
      readonly ttlSeconds: number;
      readonly longTtlSeconds: number;
      readonly maxMarks: number;
      readonly lookbackBlocks: number;
    }
  /** The rule of OpenAI and compatible servers. The provider caches the beginning of every request, in steps of `stepTokens`. */
  | {
      readonly kind: "automatic";
      readonly minTokens: number;
      readonly stepTokens: number;
      readonly ttlSeconds: number;
      /** True if cache writes have their own price. Otherwise they are billed as input. */
      readonly hasWritePrice: boolean;
    }
  /** Nothing is known about the cache. */
  | { readonly kind: "unknown" };

/** Prices in US dollars per million tokens. */
export interface Prices {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  /** Price of cache writes. If they have no price of their own, this is the price of input. */
  readonly cacheWrite: number;
  /** Price of cache writes with the long lifetime. */
  readonly cacheWriteLong?: number;
}

export interface PriceList {
  /** Undefined if the prices are unknown. An unknown price is never treated as zero. */
  readonly prices?: Prices;
  readonly cache: CacheRule;
  readonly source: string;
  /** The date on which the source was last read. */
  readonly date: string;
  /** A request with more tokens than this costs more per token. Undefined if no such step is known. */
  readonly priceStep?: number;
}
