/** Goal 6: the memory of a long session, beyond what an empty one takes. */

import type { MemoryFigures } from "./memory-session.ts";
import { startChild, withFolder } from "./processes.ts";
import { atMost, type Benchmark, figure } from "./report.ts";

const messages = 50_000;
const megabyte = 1024 * 1024;
const allowedMegabytes = 100;

export const memoryBenchmark: Benchmark = {
  name: "memory",
  title: "Memory: a library session of 50,000 messages",
  run: async ({ isQuick }) => {
    const characters = String(isQuick ? 200 : 2_000);
    const sqlite = await measure("sqlite", characters);
    const memory = await measure("memory", characters);
    return {
      tables: [
        {
          title: "Resident memory, MB",
          columns: ["store", "text", "before", "grown by", "of it heap", "with free pages"],
          rows: [row("sqlite", sqlite), row("memory", memory)],
        },
      ],
      checks: [
        atMost("SQLite: growth beyond the text", beyondText(sqlite), allowedMegabytes, "MB"),
        atMost("in memory: growth beyond the text", beyondText(memory), allowedMegabytes, "MB"),
      ],
    };
  },
};

function row(name: string, figures: MemoryFigures): readonly string[] {
  const { textBytes, emptyBytes, growthBytes, heapBytes, looseGrowthBytes } = figures;
  const sizes = [textBytes, emptyBytes, growthBytes, heapBytes, looseGrowthBytes];
  return [name, ...sizes.map((bytes) => figure(bytes / megabyte))];
}

function beyondText({ growthBytes, textBytes }: MemoryFigures): number {
  return (growthBytes - textBytes) / megabyte;
}

function measure(store: string, characters: string): Promise<MemoryFigures> {
  return withFolder(async (folder) => {
    const child = await startChild(new URL("./memory-session.ts", import.meta.url), {
      arguments: [store, String(messages), characters, folder],
      nodeOptions: ["--expose-gc"],
    });
    await child.stop();
    return child.greeting as MemoryFigures;
  });
}
