/** A configured embedder that cannot load: Plimsoll says so once, doctor shows it, and word vectors are used instead. */

import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { diceOf } from "../../demo/dice.ts";
import { openPlimsoll } from "../../src/index.ts";
import { childEnvironment } from "../harness/child-environment.ts";
import { prose } from "../harness/words.ts";

const program = fileURLToPath(new URL("../../bin/plimsoll.mjs", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "plimsoll-embedder-"));
afterAll(() => rmSync(folder, { recursive: true }));

interface Ran {
  readonly code: number;
  readonly stdout: string;
}

function doctor(config: string): Promise<Ran> {
  const file = join(folder, "config.yaml");
  writeFileSync(file, config);
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [program, "doctor", "--config", file, "--data", join(folder, "data")],
      { env: childEnvironment({ HOME: folder }) },
      (_error, stdout) => resolve({ code: child.exitCode ?? -1, stdout }),
    );
  });
}

test("it is announced once, however many compactions need it", async () => {
  const sentences: string[] = [];
  const listen = ({ message }: Error): number => sentences.push(message);
  process.on("warning", listen);
  const plimsoll = await openPlimsoll({
    store: "memory",
    config: {
      embedder: { folder: join(folder, "nothing") },
      context_config: { breaking_strategy: { chain_order: ["discard_low_rel"] } },
      providers: { anthropic: { models: { small: { contextWindow: 8_000 } } } },
    },
  });
  try {
    const session = await plimsoll.session();
    for (let turn = 0; turn < 40; turn++) {
      await session.append({ role: "user", content: prose(diceOf(turn), 300) });
      await session.prepare({ target: "anthropic/small", maxOutputTokens: 100 });
      await session.commit({
        type: "message",
        role: "assistant",
        content: [{ type: "text", text: "Noted." }],
        stop_reason: "end_turn",
      });
    }
    await expect
      .poll(() => sentences.filter((sentence) => sentence.includes("word vectors")))
      .toHaveLength(1);
  } finally {
    process.off("warning", listen);
    await plimsoll.close();
  }
});

test("doctor shows a folder without a model, and nothing if there is none to miss", async () => {
  const model = join(folder, "model");
  mkdirSync(model);
  const missing = await doctor(`embedder: { folder: ${model} }\n`);
  expect(missing.stdout).toMatch(/FAIL embedder +.*has no config\.json, so word vectors are used/);
  expect(missing.code).toBe(1);
  const none = await doctor("progress: { show: true }\n");
  expect(none.stdout).not.toContain("FAIL embedder");
});

test("doctor --config of a file without providers names the file", async () => {
  const { stdout } = await doctor("progress: { show: true }\n");
  expect(stdout).toContain(
    `${join(folder, "config.yaml")}: no providers, so requests go to the vendors' own addresses`,
  );
});
