/** Why a compaction was made, in words. Pure. */

import { visible } from "plimsoll/text/unseen";

/** As the service names them (session/fit/when-to-compact.ts, session/fit/compact-turn.ts, session/steer/compact-now.ts). */
const words: Readonly<Record<string, string>> = {
  compact: "the window was nearly full",
  forced: "it had to be smaller",
  cold: "the cache had gone cold, so it was cheaper",
  pays: "it pays over the turns to come",
  media: "more images or documents than the provider takes",
  skip: "the first model was full",
  schema: "tool schemas took too much",
  final: "it had to be smaller",
  refuse: "it had to be smaller",
  "by hand": "by hand",
  reset: "a fresh start by hand",
};

/** What has no words here is told as the service says it. */
export function reasonWords(reason: string): string {
  return Object.hasOwn(words, reason) ? (words[reason] ?? reason) : visible(reason);
}
