/**
 * Lists for each event which data of a session must be read again. Screens read data only after such events, and never poll.
 * Pure.
 */

import type { PlimsollEvent, PlimsollEventType } from "../message/event.ts";

/** The kinds of data. Each kind has its own HTTP route. */
export type Kind = "session" | "window" | "turns" | "receipts" | "edits" | "checkpoints" | "errors";

const table: Partial<Record<PlimsollEventType, readonly Kind[]>> = {
  "branch-start": ["session"],
  "turn-end": ["window", "turns"],
  "compaction-end": ["window", "turns", "receipts", "edits", "checkpoints"],
  "view-steered": ["window", "edits", "checkpoints"],
  "tools-deferred": ["window", "edits", "checkpoints"],
  "tools-loaded": ["window", "edits", "checkpoints"],
  recovery: ["window", "receipts", "edits", "checkpoints", "errors"],
  degraded: ["errors"],
  overflow: ["errors"],
  "guard-enforced": ["errors"],
  "store-error": ["errors"],
  "store-spoilt": ["errors"],
};

export function staleAfter(event: PlimsollEvent): readonly Kind[] {
  const kinds = table[event.type] ?? [];
  return event.type === "turn-end" && event.status !== "complete" ? [...kinds, "errors"] : kinds;
}
