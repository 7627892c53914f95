/** Settings that do nothing yet or contradict each other: the service and doctor say so, and the service runs. */

import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { childEnvironment } from "./harness/child-environment.ts";
import { startService } from "./harness/service.ts";

const program = fileURLToPath(new URL("../bin/plimsoll.mjs", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "plimsoll-doubtful-"));
afterAll(() => rmSync(folder, { recursive: true }));

const config = {
  context: { raw_window_size: 5 },
  context_config: {
    breaking_strategy: {
      chain_order: ["prioritize_recent", "hybrid"],
      prioritize_recent: { rel_threshold: 0.4 },
      summarize_old: { old_threshold: 0.5 },
      content_type_chunking: { compress_ratios: { log: 0.1 } },
      hybrid: { max_iterations: 2 },
    },
  },
  agent: {
    compact_trigger: 0.99,
    hard_block: 0.5,
    context_budget: 2_000,
    max_output_tokens: 8_000,
    output_in_budget: true,
  },
};

const unused = [
  "The configuration has context.raw_window_size. Plimsoll accepts this, but it has no effect yet.",
  "The configuration has context_config.breaking_strategy.summarize_old.old_threshold, context_config.breaking_strategy.content_type_chunking.compress_ratios.log. The chain has no strategy that uses this, so ordinary compactions ignore it.",
];
const contradictions = [
  "agent.hard_block (0.5) is below agent.compact_trigger (0.99)",
  "agent.max_output_tokens (8,000) fills the whole agent.context_budget (2,000)",
];

async function doctor(content: unknown): Promise<{ readonly code: number; readonly out: string }> {
  const file = join(folder, "config.yaml");
  writeFileSync(file, JSON.stringify(content));
  const env = childEnvironment({ HOME: folder });
  const argv = [program, "doctor", "--config", file, "--data", join(folder, "data")];
  return new Promise((resolve) => {
    const child = execFile(process.execPath, argv, { env }, (_error, out) =>
      resolve({ code: child.exitCode ?? -1, out }),
    );
  });
}

test("serve names them once at its start, and runs", async () => {
  const service = await startService({ upstreams: {}, config });
  try {
    for (const sentence of [...unused, ...contradictions]) {
      expect(service.stderr).toContain(sentence);
      expect(service.stderr.split(sentence)).toHaveLength(2);
    }
  } finally {
    await service.stop();
  }
});

test("doctor says which do nothing, and fails for those that contradict each other", async () => {
  const idle = await doctor({ context: config.context, context_config: config.context_config });
  expect(idle.code).toBe(0);
  for (const sentence of unused) expect(idle.out).toContain(`ok   settings      ${sentence}`);
  const { code, out } = await doctor(config);
  expect(code).toBe(1);
  for (const sentence of contradictions) expect(out).toContain(`FAIL settings      ${sentence}`);
});

test("without such settings, nobody hears of them", async () => {
  const { code, out } = await doctor({ agent: { hard_block: 0.95, context_budget: 50_000 } });
  expect(code).toBe(0);
  expect(out).not.toContain(" settings ");
});

test.each([
  [true, "every request to them is sent as the final turn"],
  [false, "Plimsoll keeps less than that free"],
])("an answer that fills whole windows is named, with strict_limit: %s", async (strict, then) => {
  const agent = { max_output_tokens: 500_000, strict_limit: strict };
  const { code, out } = await doctor({ agent });
  expect(code).toBe(1);
  expect(out).toMatch(/The configured length of an answer .* fill the whole window of \S+ and \d+/);
  expect(out).toContain(then);
});

test("doctor finds a tokenizer that does not exist, as serve does", async () => {
  const models = { small: { tokenizer: "bogus" }, large: { tokenizer: "tiktoken:o200k_base" } };
  const { code, out } = await doctor({ providers: { openai: { models } } });
  expect(code).toBe(1);
  expect(out).toContain('FAIL tokenizer     There is no tokenizer "bogus".');
  expect(out).toContain("ok   tokenizer     tiktoken:o200k_base");
});

test("with try:, the service starts without the file of its tokenizer, and it and doctor say so", async () => {
  const tokenizer = `try:hf:${join(folder, "none.json")}`;
  const providers = { anthropic: { models: { small: { tokenizer } } } };
  const sentence = "Plimsoll counts one token for four characters";
  const service = await startService({ upstreams: {}, config: { providers } });
  try {
    expect(service.stderr.split(sentence)).toHaveLength(2);
  } finally {
    await service.stop();
  }
  const { code, out } = await doctor({ providers });
  expect(code).toBe(1);
  expect(out).toMatch(/FAIL tokenizer {5}The tokenizer at ".*none\.json" cannot be used/);
  expect(out).toContain(sentence);
});
