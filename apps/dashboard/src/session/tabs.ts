/** The data that each tab of a session's page needs. A pure table. */

import type { Kind } from "plimsoll/watch/stale";

export type TabName = "window" | "history" | "compactions" | "travel" | "archive";

/** Data that every tab needs, because the summary is above every tab. */
const always: readonly Kind[] = ["session", "window"];
const dataOfTab: Readonly<Record<TabName, readonly Kind[]>> = {
  window: [],
  history: ["turns"],
  compactions: ["receipts", "edits"],
  travel: ["checkpoints"],
  archive: ["receipts", "edits", "errors"],
};

export function neededBy(tab: TabName): readonly Kind[] {
  return [...always, ...dataOfTab[tab]];
}

export function tabOf(name: string | undefined): TabName {
  return name !== undefined && Object.hasOwn(dataOfTab, name) ? (name as TabName) : "window";
}
