/** The part of the configuration with the limits of agents and of types of models, and with what happens when they are reached. */

import { z } from "zod";
import { usualThresholds } from "../budget/thresholds.ts";
import { breakingStrategy } from "./breaking-strategy.ts";
import { share, tokens } from "./providers.ts";

/** `usually` says where each value comes from if the policy does not have it. */
function retryPolicy(usually: {
  readonly attempts: string;
  readonly base: string;
  readonly most: string;
}) {
  return z.strictObject({
    max_attempts: z
      .number()
      .int()
      .min(1)
      .max(100)
      .describe(`Total number of attempts. Default: ${usually.attempts}.`)
      .optional(),
    backoff_base_seconds: z
      .number()
      .nonnegative()
      .describe(
        `Seconds before the second attempt. Each further wait is twice as long. Default: ${usually.base}.`,
      )
      .optional(),
    max_delay_seconds: z
      .number()
      .nonnegative()
      .describe(`Maximum number of seconds between two attempts. Default: ${usually.most}.`)
      .optional(),
  });
}

export const contextConfig = z.strictObject({
  min_limit: tokens
    .describe(
      "The lowest possible limit of an agent or of a type of model. Smaller limits are raised to it. Default: 3500.",
    )
    .optional(),
  default_limit: tokens
    .describe("Limit for entries with `follow_default`. Default: 5000.")
    .optional(),
  warning_threshold: share
    .describe(
      `Share of the limit at which people and the model are warned. Default: ${usualThresholds.warn}.`,
    )
    .optional(),
  per_agent: z
    .record(z.string(), tokens)
    .describe(
      "Limits for agents, by the name in `x-plimsoll-agent`. For an agent with a limit, compaction starts at the warning threshold.",
    )
    .optional(),
  per_llm: z
    .array(
      z.strictObject({
        type: z
          .string()
          .describe(
            "A provider, a model, or `provider/model`. With `models`, the name of the group.",
          ),
        models: z
          .array(z.string().min(1))
          .describe(
            "The models of this type, as `model` or `provider/model`. A `*` stands for any characters. Upper and lower case do not matter.",
          )
          .optional(),
        limit: tokens.describe("The limit in tokens."),
        follow_default: z
          .boolean()
          .describe("Whether `default_limit` applies instead of `limit`. Default: false.")
          .optional(),
      }),
    )
    .describe("Limits for providers or models.")
    .optional(),
  breaking_strategy: breakingStrategy
    .describe("The strategies that make a conversation smaller, instead of the default.")
    .optional(),
  recovery_mode: z
    .enum(["fresh_start", "truncate", "error"])
    .describe(
      "What Plimsoll does if no strategy helps, or after more than two overflows within an hour. Default: `fresh_start`.",
    )
    .optional(),
  retry_policies: z
    .strictObject({
      default: retryPolicy({ attempts: "3", base: "5", most: "60" })
        .describe(
          "Policy for requests of the proxy, and for every tool, as far as `per_tool` does not say otherwise. `askQuestion` takes only `max_delay_seconds` from here.",
        )
        .optional(),
      per_tool: z
        .record(
          z.string(),
          retryPolicy({
            attempts: "as in `retry_policies.default`; for `askQuestion` 4",
            base: "as in `retry_policies.default`; for `askQuestion` 10",
            most: "as in `retry_policies.default`",
          }),
        )
        .describe("Policies for single tools.")
        .optional(),
      upstream: z
        .enum(["auto", "always", "never"])
        .describe(
          "Whether the proxy tries again if a provider answers 429 or 5xx, before the client sees anything. It uses the policy `default`, and waits as long as the provider says (`retry-after`), up to the maximum. `auto`: only for clients that do not try again themselves, because two retry loops multiply. Default: `auto` if you set a policy `default`, otherwise `never`.",
        )
        .optional(),
    })
    .describe(
      "Retry policies for the library function `plimsoll.retrying`, and for requests of the proxy.",
    )
    .optional(),
});
