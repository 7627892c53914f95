/** The thread in which patterns of a model's are matched: one that never ends is ended with the thread. */

import { parentPort } from "node:worker_threads";
import type { MatchWindow } from "../offload/read-matches.ts";
import { type Scanned, scanPattern } from "./grep-scan.ts";
import type { JobReply, JobRequest } from "./job-thread.ts";

export interface GrepJob {
  readonly bytes: Uint8Array;
  readonly source: string;
  readonly flags: string;
  readonly window: MatchWindow;
}

parentPort?.on("message", ({ id, job }: JobRequest) => {
  parentPort?.postMessage({ kind: "begun", id } satisfies JobReply<Scanned>);
  const { bytes, source, flags, window } = job as GrepJob;
  const answer = scanPattern(bytes, new RegExp(source, flags), window);
  parentPort?.postMessage({ kind: "answered", id, answer } satisfies JobReply<Scanned>);
});
