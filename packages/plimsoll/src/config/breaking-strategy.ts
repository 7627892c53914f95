/** The part of the configuration that selects the compaction strategies and sets their parameters. */

import { z } from "zod";
import { share, tokens } from "./providers.ts";

function relevance(purpose: string) {
  return z
    .enum(["rank", "cosine"])
    .describe(
      `${purpose} \`rank\`: the rank of a unit within the session, by shared words and by meaning. \`cosine\`: how near its meaning is to that of the task, by the embedder or by word vectors. Default: \`rank\`.`,
    )
    .optional();
}

export const breakingStrategy = z.strictObject({
  chain_order: z
    .array(
      z.enum([
        "summarize_old",
        "prioritize_recent",
        "content_type_chunking",
        "discard_low_rel",
        "hybrid",
        "truncate",
      ]),
    )
    .describe(
      "Strategies to try, in this order. `truncate` comes last, also if it is not named (see `truncate.last_resort`). With `[truncate]`, Plimsoll takes out only what loses nothing before it truncates: images and documents if there are too many, large results that the model has answered, and repeated reads. Default: none, which means that old messages are replaced by excerpts.",
    )
    .optional(),
  chain_stops: z
    .enum(["at_goal", "at_limit"])
    .describe(
      "When a chain with a `chain_order` stops. `at_goal`: each strategy takes out no more than the goal demands (half of the limit), and the chain stops there. `at_limit`: each strategy does all that its settings allow, whatever the goal, and after each one the chain stops if the request is within its limit. Compactions then come more often. Default: `at_goal`.",
    )
    .optional(),
  file_reads: z
    .enum(["lines", "last"])
    .describe(
      "What happens to files that were read or written several times. `lines`: lines that a later copy repeats are left out, and lines that differ stay. `last`: only the last copy of a file stays, also if the file has changed; the older text is kept under a handle. An older copy that the model has not answered yet stays until the model has. Default: `lines`.",
    )
    .optional(),
  truncate: z
    .strictObject({
      enough_saved: share
        .describe(
          "Truncation does not run if the strategies before it saved this share of the tokens, and `enough_free` holds too. Default: 0.3.",
        )
        .optional(),
      enough_free: share
        .describe(
          "The share of the limit that must be free, so that truncation does not run after enough was saved. 0: what was saved decides alone. Default: 0.2.",
        )
        .optional(),
      keep: z
        .enum(["fit", "none", "lastTwo", "half", "quarter"])
        .describe(
          "`fit`: removes the oldest units until the rest fits. The other values cut the middle once. They cut again only if the rest is still over the limit. Of the middle, `none` keeps nothing, `lastTwo` the last two units, `half` a half, and `quarter` a quarter. The first question with its answer, the user's last words and the newest unit always stay. Default: `fit`.",
        )
        .optional(),
      last_resort: z
        .boolean()
        .describe(
          "Whether truncation comes last in a chain that does not name it. `false`: if the chain does not make the request fit, Plimsoll does at once what `recovery_mode` says. Default: true.",
        )
        .optional(),
    })
    .describe("The last strategy of every chain.")
    .optional(),
  all_p1: z
    .enum(["as_usual", "protect"])
    .describe(
      "What happens if everything after the user's first message has priority 1. `as_usual` (default): Plimsoll treats these messages as if they had priority 2. `protect`: they keep priority 1. Strategies take out no more of them than the limit demands, and truncation does the rest.",
    )
    .optional(),
  coherence: share
    .describe(
      "Which share of an excerpt's references the view should explain. A reference is a mention of something that an earlier message named. If the view explains too few, the story lists unexplained names, each with the message in which it first appeared. The list takes up to a tenth of the room. 0 turns it off. Default: 0.85 for agents and models with a limit in `context_config`, otherwise 0.",
    )
    .optional(),
  summarize_old: z
    .strictObject({
      old_threshold: share
        .describe(
          "Share of all units that count as old. Everything up to the user's first message stays, also if it is among them. Default: 0.6.",
        )
        .optional(),
      summary_length: tokens.describe("Length of the summary in tokens. Default: 300.").optional(),
    })
    .describe("Replaces the oldest units with one summary.")
    .optional(),
  prioritize_recent: z
    .strictObject({
      rel_threshold: share
        .describe("Units with a lower relevance than this may be removed. Default: 0.5.")
        .optional(),
      recent_bias: share
        .describe("Share of units, counted from the newest, that always stay. Default: 0.2.")
        .optional(),
      priority_boost: z
        .number()
        .min(1)
        .describe("Factor for the relevance of units with priority 1. Default: 1.5.")
        .optional(),
      relevance: relevance("What `rel_threshold` is compared with, from 0 to 1."),
    })
    .describe("Keeps units that are recent or relevant to the task, and removes others.")
    .optional(),
  content_type_chunking: z
    .strictObject({
      compress_ratios: z
        .strictObject({
          code: share.describe("Share of code that stays. Default: 0.7.").optional(),
          text: share.describe("Share of prose that stays. Default: 0.5.").optional(),
          plan_ref: share
            .describe("Share of plans and task lists that stays. Default: 1.")
            .optional(),
          log: share.describe("Share of logs that stays. Default: 0.4.").optional(),
          other: share.describe("Share of all other text that stays. Default: 0.6.").optional(),
        })
        .optional(),
      least_tokens: tokens
        .describe(
          "Messages of the user and the model with fewer tokens than this stay as they are. Default: 400 for the user, 200 for the model. Of tool results, and with 0 of everything, only texts of fewer than 24 tokens stay whole.",
        )
        .optional(),
      recent_share: share
        .describe("Share of units, counted from the newest, that stay as they are. Default: 0.2.")
        .optional(),
    })
    .describe(
      "Shortens old texts according to their type. Code is shortened by its syntax if the optional package `@ast-grep/napi` and its grammars are installed, and by lines otherwise.",
    )
    .optional(),
  discard_low_rel: z
    .strictObject({
      discard_percent: share
        .describe("Maximum share of units that may be removed. Default: 0.3.")
        .optional(),
      placeholder_detail: z
        .enum(["brief", "linked"])
        .describe(
          "Text in place of the removed units. `brief`: how much is missing. `linked`: also a handle for each unit. Default: `brief`.",
        )
        .optional(),
      relevance: relevance("What the units are ordered by."),
    })
    .describe("Replaces the least relevant units with placeholders.")
    .optional(),
  hybrid: z
    .strictObject({
      max_iterations: z
        .number()
        .int()
        .min(1)
        .max(10)
        .describe("Number of rounds, each with tighter settings. Default: 3.")
        .optional(),
    })
    .describe("Repeats the strategies listed before it, or all strategies if it comes first.")
    .optional(),
});

export type BreakingStrategy = z.infer<typeof breakingStrategy>;
type ChainName = NonNullable<BreakingStrategy["chain_order"]>[number];

/** The strategies that have settings of their own and run only if the order names them. */
export const withSettings = [
  "summarize_old",
  "prioritize_recent",
  "content_type_chunking",
  "discard_low_rel",
  "hybrid",
] as const satisfies readonly ChainName[];

/** The strategies that an order runs. If nothing that `hybrid` could repeat comes before it, it runs all. */
export function strategiesIn(order: readonly ChainName[]): ReadonlySet<ChainName> {
  const first = order.find((name) => name !== "truncate");
  return new Set(first === "hybrid" ? [...order, ...withSettings] : order);
}
