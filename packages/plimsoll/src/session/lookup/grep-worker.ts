/** The thread in which patterns of a model's are matched: one that never ends is ended with the thread. */

import { parentPort } from "node:worker_threads";
import type { MatchWindow } from "../../offload/read-matches.ts";
import { takeUntilEnd } from "../../work/thread-end.ts";
import type { JobReply, JobRequest } from "../threads/job-thread.ts";
import { type Scanned, scanPattern } from "./grep-scan.ts";

export interface GrepJob {
  readonly bytes: Uint8Array;
  readonly source: string;
  readonly flags: string;
  readonly window: MatchWindow;
}

function say(reply: JobReply<Scanned>): void {
  parentPort?.postMessage(reply);
}

if (parentPort !== null)
  takeUntilEnd(parentPort, ({ id, job }: JobRequest) => {
    say({ kind: "begun", id });
    const { bytes, source, flags, window } = job as GrepJob;
    say({ kind: "answered", id, answer: scanPattern(bytes, new RegExp(source, flags), window) });
  });
