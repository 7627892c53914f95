/** The reason for a compaction, in words. Pure. */

import { visible } from "plimsoll/text/unseen";

/**
 * Words for the reasons that the service gives (session/fit/when-to-compact.ts, session/fit/compact-turn.ts,
 * session/steer/compact-now.ts).
 */
const words: Readonly<Record<string, string>> = {
  compact: "the window was nearly full",
  forced: "the request had to be smaller",
  cold: "the cache had expired, so the compaction cost little",
  pays: "the compaction saves money over the next turns",
  media: "more images or documents than the provider accepts",
  skip: "the first model was full",
  schema: "tool schemas took too much",
  final: "the request had to be smaller",
  refuse: "the request had to be smaller",
  "too long": "the provider said that the request was too long",
  "no room": "the provider had no room left in the last turn",
  asked: "the model asked for room",
  exhausted: "the strategies could not make the request fit",
  milestone: "a milestone was reached",
  overflows: "there were too many overflows within an hour",
  "by hand": "by hand",
  reset: "a fresh start by hand",
};

/** The reason in words. An unknown reason is shown as the service names it. */
export function reasonWords(reason: string): string {
  return Object.hasOwn(words, reason) ? (words[reason] ?? reason) : visible(reason);
}
