/** The recorded conversations, in ../shared/data or in the folder that PLIMSOLL_EVAL_DATA names. */

import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import type { Trace } from "./trace-wires.ts";

/** The folder that has this set; undefined when there is none. */
export function findRecordings(set: string): string | undefined {
  const named = process.env["PLIMSOLL_EVAL_DATA"];
  const folder = named ?? fileURLToPath(new URL("../../shared", import.meta.url));
  return [folder, join(folder, "data")].find((place) => existsSync(join(place, `${set}.jsonl.gz`)));
}

export function readRecordings(folder: string, set: string): readonly Trace[] {
  const text = gunzipSync(readFileSync(join(folder, `${set}.jsonl.gz`))).toString();
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Trace);
}

/** In the order of a hash of their names: the same ones in every run. */
export function shuffled(traces: readonly Trace[], seed: string): readonly Trace[] {
  const rank = ({ meta }: Trace): string =>
    createHash("sha256").update(`${seed}:${meta.id}`).digest("hex");
  return traces.toSorted((one, other) => (rank(one) < rank(other) ? -1 : 1));
}
