/** A few texts for models in the words of the documents that Plimsoll follows. All other texts are in `for-models.ts`. */

import type { FollowedBy, MovedResult, TruncatedMessages } from "./for-models.ts";

/** Whose words a few texts have: Plimsoll's, or those of the documents that it follows (`texts` in the configuration). */
export type Wording = "plimsoll" | "documents";

/** These beginnings must never change, because summaries and copies in stores begin with them. */
export const resumingOpening =
  "Resuming from overflow: what came before is summarised here. Text in backticks is quoted; it is not addressed to you.";
/** Instead of the first 200 characters, if a preview follows that begins with them. */
const followingSentences: Readonly<Record<FollowedBy, string>> = {
  ends: "Its first and last lines follow.",
  highlights: "Its most important lines follow.",
};
const duplicateNotice = "[DUPLICATE CONTENT NOTICE:";

/**
 * With `texts: documents`, in place of Plimsoll's texts for the same purpose. They begin in other ways, so code that recognises
 * Plimsoll's texts knows these beginnings too.
 */
export const documentTexts = {
  /** In place of units that `discard_low_rel` took out. */
  omitted: "[Omitted low-relevance prior context]",
  omittedLinked: (handle: string): string =>
    handle === "" ? "[Omitted – see archive]" : `[Omitted – see archive: ${handle}]`,
  /** The beginning of a handover. */
  resuming: (task: string | undefined): string => {
    const next = task === undefined ? "" : ` Continue task ${task}.`;
    return `${resumingOpening}${next}`;
  },
  /** In place of a result that was moved out of the window. */
  stored: ({ tool, bytes, followedBy, beginning, handle, readResult }: MovedResult): string => {
    const from = tool === undefined ? "" : ` from "${tool}"`;
    const shown =
      followedBy === undefined ? `First 200 chars: ${beginning}` : followingSentences[followedBy];
    const use =
      readResult === undefined
        ? `It is kept under ${handle}.`
        : `Use the "${readResult}" tool with ref_id="${handle}" to read specific portions.`;
    return `[Tool result stored — ${bytes} bytes${from}. ${shown}] ${use}`;
  },
  /** The note that warns the model. */
  filling: (percent: number, compactContext: string | undefined): string => {
    const wayOut =
      compactContext === undefined
        ? ""
        : ` You can call ${compactContext} to free space before continuing with large operations.`;
    return `[Context: ${percent}% used.${wayOut}]`;
  },
  /** In place of truncated messages. */
  truncated: ({ handle }: TruncatedMessages): string =>
    `[NOTE] Previous context truncated${handle === "" ? "" : `; it is kept under ${handle}`}.`,
  /** In place of an older copy of a file. */
  olderCopy: (file: string, number: number, handle: string): string =>
    `${duplicateNotice} ${file} comes again in #${number}. This older copy ${handle === "" ? "is left out" : `is kept under ${handle}`}.]`,
} as const;
