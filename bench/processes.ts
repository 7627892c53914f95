/** Child processes that are measured from outside, and that never outlive the benchmark. */

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export interface Child {
  readonly pid: number;
  /** The first thing that the child said. */
  readonly greeting: unknown;
  stop(): Promise<void>;
}

export interface ChildOptions {
  readonly arguments?: readonly string[];
  readonly nodeOptions?: readonly string[];
  /** A child that is not ready by then is ended. */
  readonly timeoutMs?: number;
}

/** A child was not ready in time. */
export class TookTooLong extends Error {}

/** Contract: the script sends one message when it is ready. It ends with the channel to its parent. */
export async function startChild(script: URL, options: ChildOptions = {}): Promise<Child> {
  const child = fork(fileURLToPath(script), [...(options.arguments ?? [])], {
    execArgv: [...(options.nodeOptions ?? [])],
  });
  const kill = (): void => void child.kill("SIGKILL");
  process.once("exit", kill);
  child.once("exit", () => process.off("exit", kill));
  const greeting = await firstMessage(child, options.timeoutMs);
  return {
    pid: child.pid ?? 0,
    greeting,
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, "exit");
      child.kill("SIGKILL");
      await gone;
    },
  };
}

function firstMessage(child: ChildProcess, timeoutMs?: number): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const late = (): void => {
      reject(new TookTooLong(`A child took longer than ${timeoutMs} ms.`));
      child.kill("SIGKILL");
    };
    const timer = timeoutMs === undefined ? undefined : setTimeout(late, timeoutMs);
    child.once("message", (greeting) => {
      clearTimeout(timer);
      resolve(greeting);
    });
    child.once("error", reject);
    child.once("exit", (code, signal) =>
      reject(new Error(`A child ended with ${code ?? signal} before it was ready.`)),
    );
  });
}

/** For the script of a child: says that it is ready, and ends it when its parent is gone. */
export function greet(greeting: object): void {
  process.once("disconnect", () => process.exit());
  process.send?.(greeting);
}

/** Ticks of the kernel's clock: 100 in a second on every Linux that Node runs on. */
const microsecondsPerTick = 10_000;

/** Processor time of a process with all its threads, in steps of 10 ms. */
export function processorMicroseconds(pid: number): number {
  const status = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The name of the program, in brackets, may hold spaces; utime and stime are the 12th and 13th field after it.
  const fields = status.slice(status.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * microsecondsPerTick;
}

/** Gives the work a folder of its own, and removes it whatever happens. */
export async function withFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "plimsoll-bench-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  process.once("exit", remove);
  try {
    return await work(folder);
  } finally {
    remove();
    process.off("exit", remove);
  }
}
