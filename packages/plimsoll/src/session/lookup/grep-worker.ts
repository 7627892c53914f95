/** The thread that matches a model's patterns. A pattern that never ends is stopped together with the thread. */

import { parentPort } from "node:worker_threads";
import type { MatchWindow } from "../../offload/read-matches.ts";
import { takeJobs } from "../threads/take-jobs.ts";
import { scanPattern } from "./grep-scan.ts";

export interface GrepJob {
  readonly bytes: Uint8Array;
  readonly source: string;
  readonly flags: string;
  readonly window: MatchWindow;
}

if (parentPort !== null)
  takeJobs(parentPort, ({ bytes, source, flags, window }: GrepJob) =>
    scanPattern(bytes, new RegExp(source, flags), window),
  );
