import { expect, test } from "vitest";
import { unusedSettings } from "./doubtful-settings.ts";
import type { Config } from "./schema.ts";

type Breaking = NonNullable<NonNullable<Config["context_config"]>["breaking_strategy"]>;

/** The settings that are named, without what they have in common. */
function named(breaking_strategy: Breaking): readonly string[] {
  const sentences = unusedSettings({ context_config: { breaking_strategy } });
  return sentences.flatMap((sentence) =>
    [...sentence.matchAll(/context_config\.breaking_strategy\.([\w.]+)(?=[,.] )/g)]
      .map(([, key = ""]) => key)
      .filter((key) => key !== "chain_order"),
  );
}

const all: Breaking = {
  summarize_old: { old_threshold: 0.6 },
  prioritize_recent: { rel_threshold: 0.5, recent_bias: 0.2 },
  content_type_chunking: { compress_ratios: { code: 0.7 } },
  discard_low_rel: { discard_percent: 0.3 },
  hybrid: { max_iterations: 3 },
};
const documentA = [
  "summarize_old",
  "prioritize_recent",
  "content_type_chunking",
  "discard_low_rel",
  "hybrid",
] as const;

test.each<[string, Breaking]>([
  ["the whole chain of document A", { ...all, chain_order: [...documentA] }],
  ["hybrid alone, which runs all", { ...all, chain_order: ["hybrid"] }],
  [
    "hybrid after truncate, which it does not repeat",
    { ...all, chain_order: ["truncate", "hybrid"] },
  ],
  ["the default chain, and how it ends", { truncate: { keep: "half" }, file_reads: "last" }],
  [
    "a truncation that the order names",
    { chain_order: ["truncate"], truncate: { keep: "half", last_resort: false } },
  ],
])("with %s, every setting has an effect", (_, breaking) => expect(named(breaking)).toEqual([]));

test.each<[string, Breaking, readonly string[]]>([
  [
    "no order",
    { ...all, chain_stops: "at_limit" },
    [
      "chain_stops",
      "summarize_old.old_threshold",
      "prioritize_recent.rel_threshold",
      "prioritize_recent.recent_bias",
      "content_type_chunking.compress_ratios.code",
      "discard_low_rel.discard_percent",
      "hybrid.max_iterations",
    ],
  ],
  [
    "an order that names only some",
    { ...all, chain_order: ["summarize_old", "hybrid", "prioritize_recent"] },
    ["content_type_chunking.compress_ratios.code", "discard_low_rel.discard_percent"],
  ],
  ["no truncation", { truncate: { keep: "half", last_resort: false } }, ["truncate.keep"]],
])("with %s, settings of strategies that do not run are named", (_, breaking, expected) =>
  expect(named(breaking)).toEqual(expected),
);
