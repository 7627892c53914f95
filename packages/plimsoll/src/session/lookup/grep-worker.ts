/** The thread that matches a model's patterns. If matching a pattern takes too long, the whole thread is stopped. */

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
