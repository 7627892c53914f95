/**
 * A control for the metric of search: the same archives, asked what somebody wanted to know in another conversation. What
 * such queries still find was found without understanding the query.
 */

import { writeFileSync } from "node:fs";
import type { Case } from "./quality-answers.ts";
import { linesOfFile } from "./quality-scorer.ts";

/** Two cuts of one recording are one conversation. */
function traceOf(conversationId = ""): string {
  return conversationId.replace(/@\d+$/, "");
}

/** Queries of the recorded agents only: those of the question sets are left out. */
export async function writeWrongQueries(source: string, target: string): Promise<void> {
  const items: Case[] = [];
  for await (const line of linesOfFile(source)) {
    const item = JSON.parse(line) as Case;
    if (!item.set.startsWith("qa_")) items.push(item);
  }
  const others = queriesOfNext(items);
  const asked = new Map<string, number>();
  const lines = items.map((item) => {
    if (item.query === undefined) return JSON.stringify(item);
    const trace = traceOf(item.conversationId);
    const number = asked.get(trace) ?? 0;
    asked.set(trace, number + 1);
    const queries = others.get(trace) ?? [];
    return JSON.stringify({ ...item, query: queries[number % queries.length] ?? "" });
  });
  writeFileSync(target, lines.map((line) => `${line}\n`).join(""));
}

/** Of each trace, the queries of the one after it in its set; the last one gets those of the first. */
function queriesOfNext(items: readonly Case[]): ReadonlyMap<string, readonly string[]> {
  const bySet = new Map<string, Map<string, string[]>>();
  for (const { set, conversationId, query } of items) {
    if (query === undefined) continue;
    const traces = bySet.get(set) ?? new Map<string, string[]>();
    bySet.set(set, traces);
    const trace = traceOf(conversationId);
    traces.set(trace, [...(traces.get(trace) ?? []), query]);
  }
  const next = [...bySet.values()].flatMap((traces) => {
    const queries = [...traces.values()];
    return [...traces.keys()].map(
      (trace, index) => [trace, queries[(index + 1) % queries.length] ?? []] as const,
    );
  });
  return new Map(next);
}
