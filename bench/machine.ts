/** What a benchmark ran on, and which code it measured. */

import { spawnSync } from "node:child_process";
import { cpus, release, totalmem } from "node:os";
import { fileURLToPath } from "node:url";

/** Today, as 2026-01-31. */
export function today(): string {
  return new Date().toISOString().slice(0, 10);
}

export function describeMachine(): string {
  const processors = cpus();
  const memory = Math.round(totalmem() / 1024 ** 3);
  return `Node ${process.version}, ${processors.length} × ${processors[0]?.model.trim() ?? "unknown"}, ${memory} GB, ${process.platform} ${release()}`;
}

/** The commit of the code that was measured. */
export function describeCommit(): string {
  const cwd = fileURLToPath(new URL("..", import.meta.url));
  const git = (...options: readonly string[]): string =>
    spawnSync("git", options, { cwd, encoding: "utf8" }).stdout?.trim() ?? "";
  const commit = git("rev-parse", "--short", "HEAD");
  const isChanged = git("status", "--porcelain", "--", "packages/plimsoll/src", "apps") !== "";
  return `${commit || "unknown"}${isChanged ? " with changes that are not committed" : ""}`;
}
