/** Answers of a program that reads cases and writes answers, line by line, and how long each took. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonValue } from "../packages/plimsoll/src/message/json.ts";
import { linesOf, linesOfFile, root } from "./quality-scorer.ts";

/** As much of a case as is looked at here. */
export interface Case {
  readonly id?: string;
  readonly kind: string;
  readonly set: string;
  readonly percent?: number;
  readonly budgetTokens?: number;
  readonly conversationId?: string;
  readonly query?: string;
  readonly pinnedHeadCount?: number;
  readonly messages?: readonly ChatMessage[];
}

export interface ChatMessage {
  readonly role: string;
  readonly content?: JsonValue;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
}

export interface Timing {
  readonly set: string;
  readonly milliseconds: number;
  /** Something was given to remember before it: the time holds the making of an index too. */
  readonly isFirstOfArchive: boolean;
}

export interface Answered {
  readonly timings: readonly Timing[];
  /** Of the whole run, with the start of the program. */
  readonly seconds: number;
  /** Characters of the cases. */
  readonly characters: number;
}

export const productProgram = join(root, "packages/plimsoll/bin/plimsoll.mjs");

/**
 * A line is written when the one before it has been answered, so nothing can have been read ahead. Contract: one line
 * out for each line in that has an id.
 */
export async function answerFile(
  command: readonly string[],
  cases: string,
  answers: string,
): Promise<Answered> {
  const begin = performance.now();
  const child = start(command);
  const replies = linesOf(child.stdout as AsyncIterable<Buffer>);
  const output = createWriteStream(answers);
  const timings: Timing[] = [];
  let characters = 0;
  let archiveBegin: number | undefined;
  for await (const line of linesOfFile(cases)) {
    const { id, set } = JSON.parse(line) as Case;
    const lineBegin = archiveBegin ?? performance.now();
    child.stdin?.write(`${line}\n`);
    characters += line.length;
    if (id === undefined) {
      archiveBegin = lineBegin;
      continue;
    }
    const { value, done } = await replies.next();
    if (done === true) throw new Error(`${command.join(" ")} ended before it answered ${id}.`);
    const milliseconds = performance.now() - lineBegin;
    timings.push({ set, milliseconds, isFirstOfArchive: archiveBegin !== undefined });
    archiveBegin = undefined;
    output.write(`${value}\n`);
  }
  await end(child);
  output.end();
  await once(output, "finish");
  return { timings, seconds: (performance.now() - begin) / 1000, characters };
}

/** Without a configuration: neither one that the environment names nor one of the user's own. */
function start(command: readonly string[]): ChildProcess {
  const environment = Object.entries(process.env).filter(
    ([name]) => !name.startsWith("PLIMSOLL_") || name === "PLIMSOLL_EVAL_DATA",
  );
  const nowhere = join(tmpdir(), "plimsoll-bench-quality", "no-configuration");
  const child = spawn(process.execPath, command, {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...Object.fromEntries(environment), PLIMSOLL_DATA: nowhere },
  });
  const kill = (): void => void child.kill("SIGKILL");
  process.once("exit", kill);
  child.once("exit", () => process.off("exit", kill));
  // A program that is gone is noticed by the answer that does not come.
  child.stdin?.on("error", () => undefined);
  return child;
}

async function end(child: ChildProcess): Promise<void> {
  const gone = child.exitCode === null ? once(child, "exit") : undefined;
  child.stdin?.end();
  await gone;
  if (child.exitCode !== 0) throw new Error(`It ended with ${child.exitCode ?? child.signalCode}.`);
}
