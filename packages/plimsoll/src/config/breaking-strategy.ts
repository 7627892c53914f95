/** The part of the configuration that chooses strategies and their settings. */

import { z } from "zod";
import { share, tokens } from "./providers.ts";

export const breakingStrategy = z.strictObject({
  chain_order: z
    .array(
      z.enum([
        "summarize_old",
        "prioritize_recent",
        "content_type_chunking",
        "discard_low_rel",
        "hybrid",
      ]),
    )
    .describe(
      "Strategies to try, in this order. If empty, Plimsoll makes excerpts in place (the default).",
    )
    .optional(),
  summarize_old: z
    .strictObject({
      old_threshold: share
        .describe("Share of the units after the head that counts as old. Default: 0.6.")
        .optional(),
      summary_length: tokens
        .describe("Maximum number of tokens of the summary. Default: 300.")
        .optional(),
    })
    .describe("Replaces the oldest units by one summary.")
    .optional(),
  prioritize_recent: z
    .strictObject({
      rel_threshold: share
        .describe("Units with a lower relevance may be taken out. Default: 0.5.")
        .optional(),
      recent_bias: share
        .describe("Share of the units, counted from the newest, that always stays. Default: 0.2.")
        .optional(),
      priority_boost: z
        .number()
        .min(1)
        .describe("Factor on the relevance of units with priority 1. Default: 1.5.")
        .optional(),
    })
    .describe("Keeps the newest units, and older ones that are relevant to the task.")
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
          other: share.describe("Share of everything else that stays. Default: 0.6.").optional(),
        })
        .optional(),
    })
    .describe(
      "Shortens old texts according to their kind. Code is shortened by its syntax if the optional packages `@ast-grep/napi` and its grammars are installed, otherwise by lines.",
    )
    .optional(),
  discard_low_rel: z
    .strictObject({
      discard_percent: share
        .describe("Share of the units that may be taken out. Default: 0.3.")
        .optional(),
      placeholder_detail: z
        .enum(["brief", "linked"])
        .describe(
          "Text that replaces the units. `brief` (default) says what is gone; `linked` also gives a handle for each gap.",
        )
        .optional(),
    })
    .describe("Replaces the units that are least relevant to the task by placeholders.")
    .optional(),
  hybrid: z
    .strictObject({
      max_iterations: z
        .number()
        .int()
        .min(1)
        .max(10)
        .describe("Maximum number of rounds, each with tighter settings. Default: 3.")
        .optional(),
    })
    .describe("Repeats the strategies named before it in `chain_order`.")
    .optional(),
});
