/** What of a session's page an event makes old, and what each tab shows. Pure tables: nothing is ever polled. */

import type { PlimsollEvent, PlimsollEventType } from "plimsoll/events";

/** What is read from the service, each by a route of its own. */
export type Kind = "session" | "window" | "turns" | "receipts" | "edits" | "checkpoints" | "errors";

export type TabName = "window" | "history" | "compactions" | "travel" | "archive";

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
};

export function staleAfter(event: PlimsollEvent): readonly Kind[] {
  const kinds = table[event.type] ?? [];
  return event.type === "turn-end" && event.status !== "complete" ? [...kinds, "errors"] : kinds;
}

/** The summary stands above every tab. */
const always: readonly Kind[] = ["session", "window"];
const shown: Readonly<Record<TabName, readonly Kind[]>> = {
  window: [],
  history: ["turns"],
  compactions: ["receipts", "edits"],
  travel: ["checkpoints"],
  archive: ["receipts", "edits", "errors"],
};

export function neededBy(tab: TabName): readonly Kind[] {
  return [...always, ...shown[tab]];
}

export function tabOf(name: string | undefined): TabName {
  return name !== undefined && Object.hasOwn(shown, name) ? (name as TabName) : "window";
}
