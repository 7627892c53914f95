/** How long one request keeps all others waiting: the longest piece of work on the event loop, for texts that are hard to cut. */

import type { Held } from "./event-loop.ts";
import { startChild } from "./processes.ts";
import { atMost, type Benchmark, figure } from "./report.ts";
import type { StallFigures } from "./stalls-session.ts";
import { median } from "./statistics.ts";

const goalMs = 50;
const timeoutMs = 300_000;
const megabyte = 1_000_000;

const inputs: readonly (readonly [
  name: string,
  kind: string,
  characters: number,
  window: number,
])[] = [
  ["1 MB of words", "words", megabyte, 60_000],
  ["1 MB of blank lines", "blank lines", megabyte, 30_000],
  ["1 MB of grep output", "grep output", megabyte, 60_000],
  ["1 MB of JSON", "JSON", megabyte, 60_000],
  ["a window of a million tokens", "exchanges", 3.9 * megabyte, 1_000_000],
];
const steps = ["turn", "receipt", "picture", "search"] as const;

export const stallsBenchmark: Benchmark = {
  name: "stalls",
  title:
    "Stalls: the longest hold of the event loop, one message of 1 MB and a window of a million tokens",
  run: async ({ isQuick }) => {
    const rounds = isQuick ? 1 : 3;
    const found: (readonly [string, readonly StallFigures[]])[] = [];
    for (const [name, kind, characters, window] of inputs) {
      const figures: StallFigures[] = [];
      for (let round = 0; round < rounds; round++)
        figures.push(await once([kind, String(characters), String(window)]));
      found.push([name, figures]);
    }
    return {
      tables: [
        {
          title:
            "Longest hold in ms of the main thread's processor time, and its share of the step's whole time",
          columns: ["", "outcome", ...steps],
          rows: found.map(([name, figures]) => [
            name,
            figures[0]?.outcome ?? "",
            ...steps.map((step) => cellOf(figures.map((one) => one[step]))),
          ]),
        },
      ],
      checks: found.flatMap(([name, figures]) =>
        steps.map((step) =>
          atMost(
            `${name}, ${step}`,
            median(figures.map((one) => one[step].longestMs)),
            goalMs,
            "ms",
          ),
        ),
      ),
    };
  },
};

function cellOf(helds: readonly Held[]): string {
  const longest = median(helds.map(({ longestMs }) => longestMs));
  const share = median(helds.map(({ longestMs, totalMs }) => longestMs / Math.max(1, totalMs)));
  return `${figure(longest)} (${figure(share)})`;
}

async function once(wanted: readonly string[]): Promise<StallFigures> {
  const child = await startChild(new URL("./stalls-session.ts", import.meta.url), {
    arguments: wanted,
    timeoutMs,
  });
  await child.stop();
  return child.greeting as StallFigures;
}
