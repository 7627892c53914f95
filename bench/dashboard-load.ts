/** Who used the processors while something was measured: trees of processes, and everybody else on the machine. */

import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";

/** Hundredths of a second, on every Linux that Node runs on. */
const microsecondsPerTick = 10_000;

/** Shares of all processors together, 0…1. */
export interface Load {
  /** By the name that was given; what else this process has started is the browser, and the benchmark is itself. */
  readonly own: ReadonlyMap<string, number>;
  readonly others: number;
}

export interface LoadWatch {
  /** Since it was begun. */
  read(): Load;
}

interface Used {
  readonly busy: number;
  readonly own: ReadonlyMap<string, number>;
}

/** Contract: of two trees, one of which is in the other, the inner one comes first. */
export function watchLoad(trees: ReadonlyMap<string, number>): LoadWatch {
  const begin = performance.now();
  const before = usedBy(trees);
  return {
    read: () => {
      const after = usedBy(trees);
      const room = (performance.now() - begin) * 1000 * availableParallelism();
      const own = new Map(
        [...after.own].map(([name, used]) => [name, (used - (before.own.get(name) ?? 0)) / room]),
      );
      const ownSum = [...own.values()].reduce((sum, share) => sum + share, 0);
      return { own, others: Math.max(0, (after.busy - before.busy) / room - ownSum) };
    },
  };
}

function usedBy(trees: ReadonlyMap<string, number>): Used {
  const parents = parentsOfAll();
  const counted = new Set<number>();
  const own = new Map<string, number>();
  const isOther = (pid: number): boolean => !counted.has(pid);
  const groups = [...trees].map(([name, root]) => ({
    name,
    has: (pid: number): boolean => isBelow(parents, pid, root),
  }));
  const benchmark = { name: "benchmark", has: (pid: number): boolean => pid === process.pid };
  const browser = { name: "browser", has: (pid: number) => isBelow(parents, pid, process.pid) };
  for (const { name, has } of [...groups, benchmark, browser]) {
    const pids = [...parents.keys()].filter((pid) => isOther(pid) && has(pid));
    for (const pid of pids) counted.add(pid);
    own.set(
      name,
      pids.reduce((sum, pid) => sum + processorOf(pid), 0),
    );
  }
  return { busy: busyMicroseconds(), own };
}

/** Of /proc/PID/stat, what stands behind the name of the program, which is in brackets. Empty for one that has ended. */
function statusOf(pid: number): readonly string[] {
  try {
    const status = readFileSync(`/proc/${pid}/stat`, "utf8");
    return status.slice(status.lastIndexOf(")") + 2).split(" ");
  } catch {
    return [];
  }
}

/** Also of children that have ended and were waited for. */
function processorOf(pid: number): number {
  const times = statusOf(pid).slice(11, 15).map(Number);
  return times.reduce((sum, ticks) => sum + ticks, 0) * microsecondsPerTick;
}

function parentsOfAll(): ReadonlyMap<number, number> {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return new Map(pids.map((pid) => [Number(pid), Number(statusOf(Number(pid))[1] ?? 0)]));
}

function isBelow(parents: ReadonlyMap<number, number>, pid: number, root: number): boolean {
  for (let at: number | undefined = pid; at !== undefined && at !== 0; at = parents.get(at))
    if (at === root) return true;
  return false;
}

/** The first line of /proc/stat: user, nice, system, idle, waiting, interrupts, of all processors together, in hundredths of a second. */
function busyMicroseconds(): number {
  const [line = ""] = readFileSync("/proc/stat", "utf8").split("\n");
  const [user = 0, nice = 0, system = 0, , , ...interrupts] = line
    .split(/\s+/)
    .slice(1)
    .map(Number);
  const [hard = 0, soft = 0] = interrupts;
  return (user + nice + system + hard + soft) * microsecondsPerTick;
}

/** The first child of a process; undefined: it has none. */
export function childOf(pid: number): number | undefined {
  return [...parentsOfAll()].find(([, parent]) => parent === pid)?.[0];
}
